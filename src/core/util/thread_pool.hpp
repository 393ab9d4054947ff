// A pool of threads that lives as long as one call or one fit, and the monitor that stops it.
//
// std::thread, joined before the fit returns: OpenMP keeps its threads, and a
// child made by fork() that inherits them hangs. (Apple's library has no std::jthread.)
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/util/line_buffer.hpp"

namespace treerank {

struct Interrupted : std::runtime_error {
    Interrupted() : std::runtime_error("interrupted") {}
};

// Work reports its progress here and asks whether to go on. Only the thread that
// made the call asks the caller (it may have to take a lock that only that
// thread can have); the others read the flag.
class ProgressMonitor {
  public:
    using Report = std::function<bool(double)>;  // share done in, "stop" out
    explicit ProgressMonitor(Report report = {})
        : report_(std::move(report)), caller_(std::this_thread::get_id()) {}

    void expect(double work) { expected_ = work; }
    void advance(double work);
    void check();  // throws Interrupted

  private:
    Report report_;
    std::thread::id caller_;
    std::atomic<bool> stop_{false};
    std::atomic<double> done_{0};
    double expected_ = 1;
    long long next_report_ns_ = 0;
};

class ThreadPool {
  public:
    // Where the system refuses further threads (a limit on memory or on threads), those that
    // have started do all the work: results do not depend on how many there are. With a monitor,
    // each job begins by asking whether to go on.
    explicit ThreadPool(std::size_t n_threads, ProgressMonitor* monitor = nullptr);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    std::size_t size() const { return workers_.size() + 1; }
    ProgressMonitor* monitor() const { return monitor_; }

    // Calls job(i) for i in [0, n), the next free thread taking the next i; the
    // caller works too, and does not wait for threads that come when nothing is left. The first
    // exception is thrown again here.
    void run(std::size_t n, const std::function<void(std::size_t)>& job);

    // For jobs that take long; throws Interrupted.
    void check() const {
        if (monitor_ != nullptr) monitor_->check();
    }

  private:
    void work();
    void drain();
    bool called(std::uint64_t seen) const {
        return closing_.load() || state_.load() >> kRoundShift != seen;
    }
    bool idle() const { return (state_.load() & (kOpen - 1)) == 0; }

    ProgressMonitor* monitor_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable done_;
    const std::function<void(std::size_t)>* job_ = nullptr;
    std::size_t n_ = 0;
    // Lines of cache of their own: threads that look out for a call do not take the line of the
    // next job from those at work.
    alignas(kLineBytes) std::atomic<std::size_t> next_{0};
    // The number of the call, whether threads may still join it, and how many are at work.
    static constexpr int kRoundShift = 17;
    static constexpr std::uint64_t kOpen = std::uint64_t{1} << 16;
    alignas(kLineBytes) std::atomic<std::uint64_t> state_{0};
    std::atomic<bool> closing_{false};
    alignas(kLineBytes) std::exception_ptr error_;
    std::vector<std::thread> workers_;
};

// Calls job(i, team) for i in [0, n): by a thread each, without a team, or where there are more
// threads than jobs that are left, by teams that share them out. Jobs may call pools.
void run_in_teams(ThreadPool& pool, std::size_t n,
                  const std::function<void(std::size_t, ThreadPool*)>& job);

// The same by the caller alone where there is no pool.
template <class Job>
void run_in(ThreadPool* pool, std::size_t n, const Job& job) {
    if (pool != nullptr) return pool->run(n, job);
    for (std::size_t i = 0; i < n; ++i) job(i);
}

// Tasks that make further tasks, for threads that take whichever is next. Oldest
// first: the largest parts of a recursion come early, so that no thread is left
// with a large one at the end.
template <class Task>
class TaskQueue {
  public:
    void put(Task task) {
        {
            std::lock_guard lock(mutex_);
            tasks_.push_back(std::move(task));
            ++unfinished_;
        }
        changed_.notify_one();
    }
    // Waits for a task; nothing when all are finished, or one of them has failed.
    std::optional<Task> take() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !tasks_.empty() || unfinished_ == 0; });
        if (unfinished_ == 0) return std::nullopt;
        Task task = std::move(tasks_.front());
        tasks_.pop_front();
        return task;
    }
    // To be called after a taken task has put the tasks that it makes.
    void finish() {
        std::lock_guard lock(mutex_);
        if (unfinished_ > 0 && --unfinished_ == 0) changed_.notify_all();
    }
    void fail() {
        std::lock_guard lock(mutex_);
        tasks_.clear();
        unfinished_ = 0;
        changed_.notify_all();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Task> tasks_;
    std::size_t unfinished_ = 0;  // in the queue or in a thread's hands
};

}  // namespace treerank
