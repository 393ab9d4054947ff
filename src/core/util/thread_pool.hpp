// A thread pool that lives for one call or one fit, and the monitor that interrupts it.
//
// Uses std::thread and joins all threads before the fit returns. OpenMP would keep its threads
// alive, and a child process created by fork() would hang on them. (Apple's libc++ has no
// std::jthread.)
#pragma once

#include <algorithm>
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

// Collects progress and tells workers whether to continue. Only the thread that started the call
// invokes the report function, which may need a lock that no other thread can acquire; the other
// threads read the stop flag.
class ProgressMonitor {
  public:
    using Report = std::function<bool(double)>;  // takes the fraction done, returns true to stop
    explicit ProgressMonitor(Report report = {})
        : report_(std::move(report)), caller_(std::this_thread::get_id()) {}

    void expect(double work) { expected_ = work; }
    void advance(double work);
    void check();  // throws Interrupted if the work is to stop

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
    // If the system refuses further threads (a limit on memory or threads), the threads that did
    // start do all the work; results do not depend on their number. With a monitor, each job first
    // checks whether to continue. Up to `max_guests` threads of other pools may join as guests.
    explicit ThreadPool(std::size_t n_threads, ProgressMonitor* monitor = nullptr,
                        std::size_t max_guests = 0);
    // Waits for the guests to leave. No new guests may join at this point.
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    // The number of threads working for the pool now, and the maximum including guests.
    std::size_t size() const { return 1 + workers_.size() + n_guests_.load(); }
    std::size_t max_size() const { return shares_.size(); }
    ProgressMonitor* monitor() const { return monitor_; }

    // For a thread of another pool. The guest counts towards size() from add_guest() on and works
    // until the pool is closed.
    void add_guest() { ++n_guests_; }
    void work_as_guest();

    // Calls job(i) for i in [0, n). Each thread starts with its own share of the jobs and then
    // takes those left over from other shares; the first jobs are started first. The caller works
    // too and does not wait for threads that arrive after the last job has been taken. Rethrows
    // the first exception.
    void run(std::size_t n, const std::function<void(std::size_t)>& job) { run(n, job, false); }
    // Like run(), for repeated calls in which job(i) works on the same rows each time: a share is a
    // range of [0, n), whose rows are still in the cache of its thread from the previous call.
    void run_with_affinity(std::size_t n, const std::function<void(std::size_t)>& job) {
        run(n, job, true);
    }

    // For long jobs to call from time to time; throws Interrupted.
    void check() const {
        if (monitor_ != nullptr) monitor_->check();
    }

  private:
    // Jobs next, next + step_, ... below `end`. Each share has its own cache line: if all threads
    // took their jobs from one counter, they would wait for each other.
    struct alignas(kLineBytes) Share {
        std::atomic<std::size_t> next{0};
        std::size_t end = 0;
    };
    // Whether a thread works on a call, likewise in a line of its own.
    struct alignas(kLineBytes) Seat {
        std::atomic<bool> taken{false};
    };

    void run(std::size_t n, const std::function<void(std::size_t)>& job, bool in_ranges);
    void work(std::size_t thread);
    void drain(std::size_t thread);
    void wait_for_call(std::uint64_t seen);
    void wait_until_idle();
    bool called(std::uint64_t seen) const { return closing_.load() || call_.load() != seen; }
    bool idle() const;

    ProgressMonitor* monitor_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable done_;
    const std::function<void(std::size_t)>* job_ = nullptr;
    std::vector<Share> shares_;
    std::size_t n_shares_ = 0, step_ = 1;  // shares in use, and the step from job to job
    std::atomic<std::size_t> n_guests_{0};
    std::atomic<std::size_t> next_guest_{0};
    std::vector<Seat> seats_;  // by thread
    // Twice the number of the call, plus 1 (kOpen) as long as threads may join it. A thread takes
    // its seat before it looks at this for the last time, and the caller closes the call before it
    // looks at the seats, so that it waits for every thread that has joined.
    static constexpr std::uint64_t kOpen = 1;
    alignas(kLineBytes) std::atomic<std::uint64_t> call_{0};
    std::atomic<bool> closing_{false};
    // Whether anyone has to be woken. A thread says that it sleeps before it looks at the state for
    // the last time, and the state is changed before this is read, so that no call goes unnoticed.
    std::atomic<std::size_t> n_asleep_{0};
    std::atomic<bool> caller_sleeps_{false};
    alignas(kLineBytes) std::exception_ptr error_;
    std::vector<std::thread> workers_;
};

// Calls job(i, team) for i in [0, n), each started by one thread as a team of its own. Threads that
// find no further job join the running teams, smallest first, so a team may grow at any time.
void run_in_teams(ThreadPool& pool, std::size_t n,
                  const std::function<void(std::size_t, ThreadPool*)>& job);

// Like the member functions; with a null pool the caller does all the work.
template <class Job>
void run_in(ThreadPool* pool, std::size_t n, const Job& job) {
    if (pool != nullptr) return pool->run(n, job);
    for (std::size_t i = 0; i < n; ++i) job(i);
}
template <class Job>
void run_with_affinity(ThreadPool* pool, std::size_t n, const Job& job) {
    if (pool != nullptr) return pool->run_with_affinity(n, job);
    for (std::size_t i = 0; i < n; ++i) job(i);
}

// Calls job(first, last) for blocks of [0, n) of at most `size` rows.
template <class Job>
void run_blocks(ThreadPool& pool, std::size_t n, std::size_t size, const Job& job) {
    pool.run_with_affinity((n + size - 1) / size, [&](std::size_t block) {
        job(block * size, std::min(n, (block + 1) * size));
    });
}

// Returns the pool if it has several threads and `n_rows` rows are worth distributing; otherwise
// null.
ThreadPool* pool_for(ThreadPool* pool, std::size_t n_rows);

// A queue for tasks that create further tasks. First in, first out: the largest parts of a
// recursion are started early, so that no thread is left with a large part at the end.
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
    // Waits for a task. Returns nullopt once all tasks are finished or one has failed.
    std::optional<Task> take() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !tasks_.empty() || unfinished_ == 0; });
        if (unfinished_ == 0) return std::nullopt;
        Task task = std::move(tasks_.front());
        tasks_.pop_front();
        return task;
    }
    // Call this after a task has put its subtasks into the queue.
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
    std::size_t unfinished_ = 0;  // in the queue, or taken by a thread but not finished
};

}  // namespace treerank
