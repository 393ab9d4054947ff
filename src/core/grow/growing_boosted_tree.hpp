// A boosted tree during growth: its cells and nodes with their gradient sums, and what follows from
// these alone. Only the grower knows where the rows are.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/data/types.hpp"
#include "core/grow/boosting.hpp"
#include "core/histogram/gradient_histogram.hpp"
#include "core/split/newton_split.hpp"

namespace treerank {

// Rows [first, first + n) of the grower, which all reach the same cell or node.
struct Segment {
    std::int64_t first = 0;
    std::int64_t n = 0;
    GradientSum sum;
    Bounds bounds;
};

// A leaf of the inner tree of a cell.
struct BoostedLeaf {
    std::int32_t node;    // index in the growing tree
    std::int32_t number;  // index in its inner tree
    Segment rows;
    std::int64_t from;  // where its rows were before the leaves were merged
};

class GrowingBoostedTree {
  public:
    explicit GrowingBoostedTree(const Features& features);

    // Starts over without cells.
    void reset(const BoostingOptions& options);

    std::int32_t add_cell(const Segment& at, std::int32_t parent, std::int32_t depth);
    std::int32_t add_node(const Segment& at);
    // Returns the two sides of a cut, without the positions of their rows.
    std::pair<Segment, Segment> sides_of(const Segment& at, const NewtonCut& cut) const;
    // Turns a node into a test and returns its children.
    std::pair<std::int32_t, std::int32_t> split_node(std::int32_t node, const NewtonCut& cut);

    // Whether the inner tree of a cell, whose nodes are the last ones, tests a constrained feature.
    bool is_constrained(std::int32_t first_test) const;
    // Sorts the leaves by decreasing value and returns how many of them go left in the best split
    // of the cell. Rows that differ only in a constrained feature arrive in leaves whose values are
    // in order; if these are equal, both leaves must go to the same side. Returns 0 if all values
    // are equal.
    std::size_t order_leaves(std::vector<BoostedLeaf>& leaves, const Segment& cell,
                             bool constrained) const;
    // Returns the two halves of a cell, with the rows of its leaves placed side by side in their
    // order.
    std::pair<Segment, Segment> merge(std::vector<BoostedLeaf>& leaves, std::size_t n_left,
                                      const Segment& cell, bool constrained);
    // Returns what a row of a stratum adds to its score if it arrived by node `leaf` of the inner
    // tree above (-1: none). Values of leaves are clipped to the bounds of their stratum, so that
    // strata remain in order.
    float step_of(const Segment& stratum, std::int32_t leaf) const;

    // The Newton step of a segment, clipped to its bounds.
    double value(const Segment& at) const { return at.bounds.clip(scale.value(at.sum)); }

    BoostedTree compile();

    BoostingOptions options;
    NewtonScale scale{1, 1, 0};
    RankTree tree;
    std::vector<Segment> nodes;  // by test node
    std::vector<double> importance;

  private:
    std::int8_t sign_of(std::int32_t feature) const { return features_.monotonic[feature]; }
    // Bounds both segments so that no value of `better` will be below any value of `worse`.
    void keep_apart(Segment& better, Segment& worse) const;
    float left_share(std::int32_t test) const;

    const Features& features_;
    std::vector<Segment> cells_;
};

}  // namespace treerank
