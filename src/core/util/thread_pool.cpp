#include "core/util/thread_pool.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <system_error>

namespace treerank {

namespace {
constexpr long long kReportEveryNs = 50'000'000;

// Tells the processor that this thread is waiting in a loop.
void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

// Waking a sleeping thread takes longer than many jobs, so threads look for work first, for about
// the time between two rounds of boosting. Most calls come within microseconds, sooner than the
// scheduler would return from a yield.
template <class Condition>
void look_out_for(const Condition& condition) {
    for (int looks = 0; looks < 256; ++looks) {
        if (condition()) return;
        pause_briefly();
    }
    for (int looks = 0; looks < 1000 && !condition(); ++looks) std::this_thread::yield();
}

long long now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}
}  // namespace

// libc++ before version 18 has no fetch_add for floating-point atomics.
void ProgressMonitor::advance(double work) {
    double done = done_.load(std::memory_order_relaxed);
    while (!done_.compare_exchange_weak(done, done + work, std::memory_order_relaxed)) continue;
}

void ProgressMonitor::check() {
    if (stop_.load(std::memory_order_relaxed)) throw Interrupted();
    if (!report_ || std::this_thread::get_id() != caller_) return;
    const long long now = now_ns();
    if (now < next_report_ns_) return;
    next_report_ns_ = now + kReportEveryNs;
    if (report_(done_.load(std::memory_order_relaxed) / expected_)) {
        stop_.store(true, std::memory_order_relaxed);
        throw Interrupted();
    }
}

ThreadPool::ThreadPool(std::size_t n_threads, ProgressMonitor* monitor, std::size_t max_guests)
    : monitor_(monitor),
      shares_(std::max<std::size_t>(1, n_threads) + max_guests),
      seats_(shares_.size()) {
    try {
        for (std::size_t i = 1; i < n_threads; ++i) workers_.emplace_back([this, i] { work(i); });
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
}

ThreadPool::~ThreadPool() {
    {
        std::lock_guard lock(mutex_);
        closing_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    while (n_guests_.load() > 0) std::this_thread::yield();
}

void ThreadPool::work_as_guest() {
    work(1 + workers_.size() + next_guest_++);
    --n_guests_;  // the pool may be destroyed from here on
}

void ThreadPool::drain(std::size_t thread) {
    try {
        for (std::size_t k = 0; k < n_shares_; ++k) {
            Share& share = shares_[(thread + k) % n_shares_];
            while (share.next.load(std::memory_order_relaxed) < share.end) {
                const std::size_t i = share.next.fetch_add(step_, std::memory_order_relaxed);
                if (i >= share.end) break;
                check();
                (*job_)(i);
            }
        }
    } catch (...) {
        // Let the other threads finish their current jobs and take no more.
        for (std::size_t k = 0; k < n_shares_; ++k) shares_[k].next.store(shares_[k].end);
        std::lock_guard lock(mutex_);
        if (!error_) error_ = std::current_exception();
    }
}

void ThreadPool::wait_for_call(std::uint64_t seen) {
    look_out_for([&] { return called(seen); });
    if (called(seen)) return;
    std::unique_lock lock(mutex_);
    ++n_asleep_;
    wake_.wait(lock, [&] { return called(seen); });
    --n_asleep_;
}

void ThreadPool::work(std::size_t thread) {
    std::atomic<bool>& taken = seats_[thread].taken;
    for (std::uint64_t seen = 0;;) {
        wait_for_call(seen);
        if (closing_) return;
        seen = call_.load();
        if ((seen & kOpen) == 0) continue;
        taken = true;
        if (call_.load() == seen) drain(thread);  // else the call has closed in the meantime
        taken = false;
        if (caller_sleeps_.load()) {
            std::lock_guard lock(mutex_);  // the caller is asleep, or has not tested idle() yet
            done_.notify_one();
        }
    }
}

bool ThreadPool::idle() const {
    return std::none_of(seats_.begin(), seats_.end(),
                        [](const Seat& seat) { return seat.taken.load(); });
}

void ThreadPool::wait_until_idle() {
    look_out_for([&] { return idle(); });
    if (idle()) return;
    std::unique_lock lock(mutex_);
    caller_sleeps_ = true;
    done_.wait(lock, [&] { return idle(); });
    caller_sleeps_ = false;
}

void ThreadPool::run(std::size_t n, const std::function<void(std::size_t)>& job, bool in_ranges) {
    const std::size_t n_threads = size();
    if (n <= 1 || n_threads == 1) {
        for (std::size_t i = 0; i < n; ++i) {
            check();
            job(i);
        }
        return;
    }
    job_ = &job;
    n_shares_ = std::min(n, n_threads);
    step_ = in_ranges ? 1 : n_shares_;
    for (std::size_t k = 0; k < n_shares_; ++k) {
        shares_[k].next.store(in_ranges ? k * n / n_shares_ : k, std::memory_order_relaxed);
        shares_[k].end = in_ranges ? (k + 1) * n / n_shares_ : n;
    }
    error_ = nullptr;
    call_ = call_ + 1;
    if (n_asleep_.load() > 0) {
        std::lock_guard lock(mutex_);
        wake_.notify_all();
    }
    drain(0);
    call_ = call_ + 1;
    wait_until_idle();
    if (error_) std::rethrow_exception(error_);
}

namespace {

// The teams (one pool per running job, each started by a single thread).
class Teams {
  public:
    explicit Teams(ThreadPool& pool) : pool_(pool) {}

    template <class Job>
    void lead(std::size_t i, const Job& job) {
        ThreadPool team(1, pool_.monitor(), pool_.max_size() - 1);
        const Entry entry(*this, team);
        job(i, &team);
    }

    // Works for the smallest team until its job is done. Returns false if no job is running.
    bool help() {
        ThreadPool* smallest = nullptr;
        {
            std::lock_guard lock(mutex_);
            for (ThreadPool* team : running_)
                if (smallest == nullptr || team->size() < smallest->size()) smallest = team;
            if (smallest == nullptr) return false;
            smallest->add_guest();
        }
        smallest->work_as_guest();
        return true;
    }

  private:
    // Lists a team for as long as guests may join it.
    struct Entry {
        Teams& teams;
        ThreadPool& team;
        Entry(Teams& in, ThreadPool& listed) : teams(in), team(listed) {
            std::lock_guard lock(teams.mutex_);
            teams.running_.push_back(&team);
        }
        ~Entry() {
            std::lock_guard lock(teams.mutex_);
            std::erase(teams.running_, &team);
        }
        Entry(const Entry&) = delete;
        Entry& operator=(const Entry&) = delete;
    };

    ThreadPool& pool_;
    std::mutex mutex_;
    std::vector<ThreadPool*> running_;
};

}  // namespace

void run_in_teams(ThreadPool& pool, std::size_t n,
                  const std::function<void(std::size_t, ThreadPool*)>& job) {
    if (n == 1) return job(0, &pool);
    Teams teams(pool);
    std::atomic<std::size_t> next{0};
    pool.run(pool.size(), [&](std::size_t) {
        try {
            for (std::size_t i = next++; i < n; i = next++) teams.lead(i, job);
        } catch (...) {
            next = n;
            throw;
        }
        while (teams.help()) continue;
    });
}

ThreadPool* pool_for(ThreadPool* pool, std::size_t n_rows) {
    constexpr std::size_t kRowsForTeam = 8192;
    return pool != nullptr && n_rows >= kRowsForTeam && pool->size() > 1 ? pool : nullptr;
}

}  // namespace treerank
