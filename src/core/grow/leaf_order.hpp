// Splits a cell: orders the leaves of its LeafRank tree and decides which of them go left.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/types.hpp"
#include "core/grow/leafrank_tree.hpp"

namespace treerank {

struct LeafOrder {
    std::vector<std::int32_t> leaves;  // node indices, with those that go left first
    std::size_t n_left = 0;            // 0: no admissible cut
    ClassWeight left;
};

// Orders the leaves by positives / negatives (or by the values of the tree, if it has any, keeping
// leaves of equal value together) and cuts where beta - alpha is largest, on ties with the larger
// left side. The order within a side is unspecified. Each side has at least `min_weight`, measured
// by the weight of the two classes or, if given, by `size` (by node).
LeafOrder order_leaves(const LeafRankNodes& tree, ClassWeight cell, double min_weight,
                       const std::vector<double>& size = {});

}  // namespace treerank
