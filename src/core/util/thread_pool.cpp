#include "core/util/thread_pool.hpp"

#include <chrono>
#include <new>
#include <system_error>

namespace treerank {

namespace {
constexpr long long kReportEveryNs = 50'000'000;

// Waking a sleeping thread takes longer than many a job: look out for a while first, about as long
// as what comes between two rounds of boosting.
template <class Condition>
void look_out_for(const Condition& condition) {
    for (int looks = 0; looks < 1000 && !condition(); ++looks) std::this_thread::yield();
}

long long now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}
}  // namespace

// Libraries before Clang 18's have no fetch_add for numbers with a fraction.
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

ThreadPool::ThreadPool(std::size_t n_threads, ProgressMonitor* monitor) : monitor_(monitor) {
    try {
        for (std::size_t i = 1; i < n_threads; ++i) workers_.emplace_back([this] { work(); });
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
}

void ThreadPool::drain() {
    try {
        for (std::size_t i; (i = next_.fetch_add(1)) < n_;) {
            check();
            (*job_)(i);
        }
    } catch (...) {
        next_.store(n_);  // let the others finish what they hold and stop
        std::lock_guard lock(mutex_);
        if (!error_) error_ = std::current_exception();
    }
}

void ThreadPool::work() {
    for (std::uint64_t seen = 0;;) {
        look_out_for([&] { return called(seen); });
        if (!called(seen)) {
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [&] { return called(seen); });
        }
        if (closing_) return;
        std::uint64_t state = state_.load();
        while ((state & kOpen) != 0 && !state_.compare_exchange_weak(state, state + 1)) continue;
        seen = state >> kRoundShift;
        if ((state & kOpen) == 0) continue;  // too late
        drain();
        state_.fetch_sub(1);
        if (idle()) {
            std::lock_guard lock(mutex_);  // the caller is either before its test or asleep
            done_.notify_one();
        }
    }
}

void ThreadPool::run(std::size_t n, const std::function<void(std::size_t)>& job) {
    if (workers_.empty() || n <= 1) {
        for (std::size_t i = 0; i < n; ++i) {
            check();
            job(i);
        }
        return;
    }
    {
        std::lock_guard lock(mutex_);
        job_ = &job;
        n_ = n;
        next_.store(0);
        error_ = nullptr;
        state_.store((((state_.load() >> kRoundShift) + 1) << kRoundShift) | kOpen);
    }
    wake_.notify_all();
    drain();
    state_.fetch_and(~kOpen);
    look_out_for([&] { return idle(); });
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return idle(); });
    if (error_) std::rethrow_exception(error_);
}

void run_in_teams(ThreadPool& pool, std::size_t n,
                  const std::function<void(std::size_t, ThreadPool*)>& job) {
    if (n == 1) return job(0, &pool);
    // Jobs beyond a multiple of the threads come first, if teams can share them: at the end most
    // threads would wait for the few that have one more.
    const std::size_t beyond = n % pool.size();
    const std::size_t n_shared = n < pool.size() || 2 * beyond <= pool.size() ? beyond : 0;
    pool.run(n_shared, [&](std::size_t i) {
        const std::size_t size = (i + 1) * pool.size() / n_shared - i * pool.size() / n_shared;
        if (size <= 1) return job(i, nullptr);
        ThreadPool team(size, pool.monitor());
        job(i, &team);
    });
    pool.run(n - n_shared, [&](std::size_t i) { job(n_shared + i, nullptr); });
}

}  // namespace treerank
