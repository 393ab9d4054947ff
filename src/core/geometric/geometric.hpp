// Geometric ranking: how far a row is from where a tree decides otherwise.
//
// Any axis-parallel tree will do. Boxes are half open: a row goes left if x <= threshold, so
// that a leaf holds low < x <= high in each feature it has tested.
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
    std::int32_t set = -1;   // >= 0: left if code x is in this set instead
    std::int32_t leaf = -1;  // leaves only: the caller's number
    std::uint8_t missing_left = 0;
    std::uint8_t known = 1;  // whether a row without missing values can get here
    std::uint16_t unused = 0;
};
static_assert(sizeof(AxisNode) == 32, "crosses to NumPy as it is");

struct AxisTree {
    std::vector<AxisNode> nodes;
    std::vector<CategorySet> sets;
};

// The same decisions as a tree in preorder without empty boxes: tests that an earlier test has
// answered are left out, and one that only tells missing values from known ones gets an
// infinite threshold. The input may be a graph (paths that meet again); n_codes has the
// number of codes of each categorical feature, missing included, and 0 for numbers.
AxisTree expand(const AxisTree& graph, const std::vector<std::int32_t>& n_codes,
                std::size_t max_nodes);

// Whether every walk stays inside the arrays and ends.
bool is_sound(const AxisTree& tree, std::size_t n_features, std::size_t n_leaves);

// Rows of a table, one after the other; NaN is missing.
struct RowMatrix {
    const double* data = nullptr;
    std::size_t rows = 0;
    std::size_t features = 0;
};

struct Boundary {
    std::vector<std::int32_t> leaf;     // number of the row's own leaf
    std::vector<double> distance;       // to the nearest box of the other side
    std::vector<std::int32_t> nearest;  // the node that is this box; -1: there is none
};

// For each row the nearest leaf box whose side differs from its own, in Euclidean distance with
// feature f divided by scale[f]. Another category is at distance 1; a missing value, at 0.
Boundary find_boundary(const AxisTree& tree, const std::vector<std::uint8_t>& side_of_leaf,
                       const RowMatrix& rows, const std::vector<double>& scale, ThreadPool& pool);

}  // namespace treerank
