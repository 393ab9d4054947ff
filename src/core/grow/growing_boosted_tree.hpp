// A boosted tree while it grows: its cells and nodes with the sums of their gradients, and what
// follows from these alone. Where the rows are only the grower knows.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/data/types.hpp"
#include "core/grow/boosting.hpp"
#include "core/histogram/gradient_histogram.hpp"
#include "core/split/newton_split.hpp"

namespace treerank {

// Rows [first, first + n) of the grower, which all reach the same place.
struct Segment {
    std::int64_t first = 0;
    std::int64_t n = 0;
    GradientSum sum;
    Bounds bounds;
};

// A leaf of the LeafRank tree inside a cell.
struct BoostedLeaf {
    std::int32_t node;    // of the growing tree
    std::int32_t number;  // in its cell
    Segment rows;
    std::int64_t from;  // where its rows lay before it was merged
};

class GrowingBoostedTree {
  public:
    explicit GrowingBoostedTree(const Features& features);

    // Starts anew, without cells.
    void reset(const BoostingOptions& options);

    std::int32_t add_cell(const Segment& at, std::int32_t parent, std::int32_t depth);
    std::int32_t add_node(const Segment& at);
    // The two sides of a cut, but for where their rows are.
    std::pair<Segment, Segment> sides_of(const Segment& at, const NewtonCut& cut) const;
    // Makes a node a test, and returns the children.
    std::pair<std::int32_t, std::int32_t> split_node(std::int32_t node, const NewtonCut& cut);

    // Whether the tree inside a cell, whose nodes are the last ones, tests a constrained feature.
    bool is_constrained(std::int32_t first_test) const;
    // Leaves by falling value; as many of the first as split the cell best go left. Rows that
    // differ in a constrained feature come to leaves whose values are in order: where these are
    // equal both must go the same way. 0: all are.
    std::size_t order_leaves(std::vector<BoostedLeaf>& leaves, const Segment& cell,
                             bool constrained) const;
    // The two halves of a cell, whose leaves are put side by side in their order.
    std::pair<Segment, Segment> merge(std::vector<BoostedLeaf>& leaves, std::size_t n_left,
                                      const Segment& cell, bool constrained);
    // What a row of a stratum adds to its score, having come by a leaf of the tree in the cell
    // above (-1: none). Leaves are in order within their stratum, strata among each other.
    float step_of(const Segment& stratum, std::int32_t leaf) const;

    // The Newton step of a segment, as far as its bounds allow it.
    double value(const Segment& at) const { return at.bounds.clip(scale.value(at.sum)); }

    BoostedTree compile();

    BoostingOptions options;
    NewtonScale scale{1, 1, 0};
    RankTree tree;
    std::vector<Segment> nodes;  // by test node
    std::vector<double> importance;

  private:
    std::int8_t sign_of(std::int32_t feature) const { return features_.monotonic[feature]; }
    // No value of the one will be below any of the other.
    void keep_apart(Segment& better, Segment& worse) const;
    float left_share(std::int32_t test) const;

    const Features& features_;
    std::vector<Segment> cells_;
};

}  // namespace treerank
