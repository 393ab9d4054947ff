// Boosting: one ranking tree grown on the gradients of a loss instead of on labels.
//
// The tree has the shape of every ranking tree: a cell is parted by a small LeafRank tree
// whose leaves are put in order and merged into a better and a worse half. What a cut is
// worth is the Newton gain G^2 / (H + l2), G and H the sums of gradient and curvature.
// Both come as fixed-point integers, so that a sum does not depend on its order.
//
// A constrained feature: each test of it puts a bound between the values of its two sides, and
// each cell whose inner tree has such a test one between its two halves, of which the better is
// an upper set of the feature. Two rows that differ in the feature alone part at such a test or
// at such a cell, so that every tree, and the sum of trees, is monotone.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/types.hpp"
#include "core/tree/flat_tree.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

// Sums over the rows of a node. Gradients are multiplied by the rows' integer weights, so
// that a row of weight w equals w rows.
struct GradientSum {
    std::int64_t gradient = 0;
    std::int64_t hessian = 0;
    std::int64_t weight = 0;

    GradientSum operator+(const GradientSum& other) const {
        return {gradient + other.gradient, hessian + other.hessian, weight + other.weight};
    }
    GradientSum operator-(const GradientSum& other) const {
        return {gradient - other.gradient, hessian - other.hessian, weight - other.weight};
    }
};

// What one row adds for each unit of its weight.
struct RowGradient {
    std::int32_t gradient = 0;
    std::int32_t hessian = 0;
};

struct BoostingOptions {
    std::int32_t max_depth = 2;       // of the ranking tree, in splits of cells
    std::int32_t leafrank_depth = 2;  // of the tree inside a split
    std::int64_t min_weight_leaf = 1;
    double independent_weight = 1;  // units of weight that count as one row when chance is judged
    double l2 = 0;
    double gradient_unit = 1;  // what 1 stands for in a sum of gradients ...
    double hessian_unit = 1;   // ... and of curvatures
    double learning_rate = 1;
    bool by_stratum = true;  // one value a stratum; else one a leaf of the LeafRank trees in it
};

// A tree as it is kept: arriving at the end slot s of a walk adds value[s].
struct BoostedTree {
    FlatTree flat;
    std::vector<float> value;
    std::vector<float> left_share;   // of a test: share of the weight that it sends left
    std::vector<double> importance;  // by feature: sum of the Newton gains
};

template <class Code>
struct BoostingTable {
    CodeMatrix<Code> codes;
    Features features;
    const RowGradient* gradients = nullptr;
    const std::int64_t* weights = nullptr;  // null: every row counts once
};

// Grows a tree on the given rows and features. The result does not depend on the pool.
template <class Code>
BoostedTree grow_boosted_tree(const BoostingTable<Code>& table,
                              const std::vector<std::uint32_t>& rows,
                              const std::vector<std::int32_t>& chosen,
                              const BoostingOptions& options, ThreadPool& pool);

}  // namespace treerank
