// LeafRank trees whose tests were found elsewhere, such as on a device, node by node and in any
// order: put together here as the core would have grown them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/types.hpp"
#include "core/grow/leafrank_tree.hpp"

namespace treerank {

// What became of a node: its test and the weight of its left child. Children that may not be split
// have no record (-1), and a node without a test (feature -1) is a leaf.
struct SplitRecord {
    static constexpr std::int32_t kCategorical = 1 << 30, kMissingLeft = 1 << 29;

    std::int32_t feature = -1;  // with the two bits above
    std::int32_t cut = 0;       // or the number of a category set
    std::int32_t left = -1;
    std::int32_t right = -1;
    ClassWeight left_weight;
};
static_assert(sizeof(SplitRecord) == 32, "crosses from the device as it is");

struct SplitRecords {
    const SplitRecord* records = nullptr;
    std::size_t n = 0;
    const CategorySet* sets = nullptr;
    std::size_t n_sets = 0;
    std::size_t n_roots = 1;  // trees that share them
};

// Grows a tree of one node, depth first, as the records say from `first` on. The same nodes with
// the same numbers, bounds and values as where the tests are searched for.
void replay_splits(const OpenNode& root, std::int32_t first, const SplitRecords& splits,
                   const Features& features, LeafRankTree& tree);

}  // namespace treerank
