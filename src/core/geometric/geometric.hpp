// Geometric ranking: the distance from a row to the nearest point where a tree decides differently.
//
// Works for any axis-parallel tree. Boxes are half-open: a row goes left if x <= threshold, so a
// leaf contains low < x <= high in each feature tested on its path.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/types.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

struct AxisNode {
    double threshold = 0;    // left if x <= threshold
    std::int32_t left = -1;  // -1: a leaf
    std::int32_t right = -1;
    std::int32_t feature = -1;
    std::int32_t set = -1;   // if >= 0: left if code x is in this set
    std::int32_t leaf = -1;  // leaves only: a number chosen by the caller
    std::uint8_t missing_left = 0;
    std::uint8_t known = 1;  // whether a row without missing values can reach the node
    std::uint16_t unused = 0;
};
static_assert(sizeof(AxisNode) == 32, "shared with NumPy byte for byte");

struct AxisTree {
    std::vector<AxisNode> nodes;
    std::vector<CategorySet> sets;
};

// Returns the same decisions as a tree in preorder without empty boxes: tests that an earlier test
// has decided are left out, and a test that only separates missing from known values gets an
// infinite threshold. The input may be a graph (paths may meet again). `n_codes` is the number of
// codes of each categorical feature, including missing, and 0 for numeric features. Throws
// std::length_error if the tree would have more than `max_nodes` nodes.
AxisTree expand(const AxisTree& graph, const std::vector<std::int32_t>& n_codes,
                std::size_t max_nodes);

// Whether every walk stays inside the arrays and terminates.
bool is_sound(const AxisTree& tree, std::size_t n_features, std::size_t n_leaves);

// A row-major table; NaN is missing.
struct RowMatrix {
    const double* data = nullptr;
    std::size_t rows = 0;
    std::size_t features = 0;
};

struct Boundary {
    std::vector<std::int32_t> leaf;     // the `leaf` of the row's own leaf
    std::vector<double> distance;       // to the nearest box of the other side
    std::vector<std::int32_t> nearest;  // the node of that box; -1: there is none
};

// Finds for each row the nearest leaf box of the other side, in Euclidean distance with feature f
// divided by scale[f]. A different category is at distance 1; a missing value is at distance 0.
Boundary find_boundary(const AxisTree& tree, const std::vector<std::uint8_t>& side_of_leaf,
                       const RowMatrix& rows, const std::vector<double>& scale, ThreadPool& pool);

}  // namespace treerank
