#include "core/tree/used_cuts.hpp"

#include <algorithm>
#include <atomic>

namespace treerank {

namespace {

constexpr std::uint16_t kNoCut = 0xffff;  // of a slot that ends a walk
constexpr std::size_t kTasksPerThread = 4;

bool tests_number(const Slot& slot) {
    return slot.cut != kNoCut && (slot.next & kCategorical) == 0;
}

// A slot that sends missing values right stores its cut minus one.
std::size_t shift_of(const Slot& slot) { return (slot.next & kMissingRight) != 0 ? 1 : 0; }

// The position of a slot's cut in the list of all cuts.
std::size_t place_of(const Slot& slot, const FirstCuts& first) {
    return first[slot.feature] + slot.cut + shift_of(slot);
}

// Whether a numeric test has a valid feature and cut.
bool is_known(const Slot& slot, const FirstCuts& first) {
    return slot.feature + std::size_t{1} < first.size() &&
           place_of(slot, first) < first[slot.feature + 1];
}

// Calls job(first, last) for ranges of slots, one per task.
template <class Job>
void each_task(const ForestView& forest, ThreadPool& pool, const Job& job) {
    const auto n = static_cast<std::size_t>(forest.starts[forest.n_trees]);
    const std::size_t n_tasks = pool.size() == 1 ? 1 : kTasksPerThread * pool.size();
    pool.run(n_tasks, [&](std::size_t task) { job(task * n / n_tasks, (task + 1) * n / n_tasks); });
}

}  // namespace

std::vector<std::uint8_t> used_cuts(const ForestView& forest, const FirstCuts& first,
                                    ThreadPool& pool) {
    std::vector<std::uint8_t> used(first.back());
    std::atomic<bool> sound{true};
    std::mutex mutex;
    each_task(forest, pool, [&](std::size_t begin, std::size_t end) {
        std::vector<std::uint8_t> own(used.size());
        for (std::size_t s = begin; s < end; ++s) {
            const Slot slot = forest.slots[s];
            if (!tests_number(slot)) continue;
            if (!is_known(slot, first)) return sound.store(false);
            own[place_of(slot, first)] = 1;
        }
        std::lock_guard lock(mutex);
        for (std::size_t c = 0; c < used.size(); ++c) used[c] |= own[c];
    });
    if (!sound) used.clear();
    return used;
}

bool renumber_cuts(const ForestView& forest, const FirstCuts& first,
                   const std::vector<std::int32_t>& new_cut, ThreadPool& pool, Slot* slots) {
    std::atomic<bool> sound{true};
    each_task(forest, pool, [&](std::size_t begin, std::size_t end) {
        for (std::size_t s = begin; s < end; ++s) {
            slots[s] = forest.slots[s];
            if (!tests_number(slots[s])) continue;
            if (!is_known(slots[s], first)) return sound.store(false);
            const auto cut = static_cast<std::size_t>(new_cut[place_of(slots[s], first)]);
            slots[s].cut = static_cast<std::uint16_t>(cut - shift_of(slots[s]));
        }
    });
    return sound;
}

}  // namespace treerank
