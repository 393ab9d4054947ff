// The cuts that a forest tests, and the same forest with its cuts numbered anew.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tree/forest.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

// Cuts of a feature are numbered from 0 to its last code; those of feature f are in the places
// [first[f], first[f + 1]) of a list of all.
using FirstCuts = std::vector<std::size_t>;

// 1 for each cut that a slot tests, else 0; empty where a slot tests a cut that is not there. Tests
// of categories are left out.
std::vector<std::uint8_t> used_cuts(const ForestView& forest, const FirstCuts& first,
                                    ThreadPool& pool);

// Copies the slots to `slots`, each cut replaced by its new number; false where a slot tests a cut
// that is not there.
bool renumber_cuts(const ForestView& forest, const FirstCuts& first,
                   const std::vector<std::int32_t>& new_cut, ThreadPool& pool, Slot* slots);

}  // namespace treerank
