// The cut of a cell: leaves of a LeafRank tree in order, and which of them go left.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/types.hpp"
#include "core/grow/leafrank_tree.hpp"

namespace treerank {

struct LeafOrder {
    std::vector<std::int32_t> leaves;  // node numbers, those that go left first
    std::size_t n_left = 0;            // 0: no admissible cut
    ClassWeight left;
};

// Cuts the leaves, ordered by positives / negatives (by the values of the tree where it has some,
// leaves of equal value staying together), where beta - alpha is largest, on ties the larger left
// side. The order within a side is left open. Each side holds at least `min_weight`: of the two
// classes, or of whatever `size` says by node.
LeafOrder order_leaves(const LeafRankNodes& tree, ClassWeight cell, double min_weight,
                       const std::vector<double>& size = {});

}  // namespace treerank
