// Finds the cuts that a forest tests, and renumbers the cuts of a forest.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tree/forest.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

// The cuts of a feature are numbered from 0 to its last code; those of feature f are at positions
// [first[f], first[f + 1]) in the list of all cuts.
using FirstCuts = std::vector<std::size_t>;

// Returns 1 for each cut that a slot tests, otherwise 0; empty if a slot tests a cut that does not
// exist. Categorical tests are ignored.
std::vector<std::uint8_t> used_cuts(const ForestView& forest, const FirstCuts& first,
                                    ThreadPool& pool);

// Copies the slots to `slots` with each cut replaced by its new number. Returns false if a slot
// tests a cut that does not exist.
bool renumber_cuts(const ForestView& forest, const FirstCuts& first,
                   const std::vector<std::int32_t>& new_cut, ThreadPool& pool, Slot* slots);

}  // namespace treerank
