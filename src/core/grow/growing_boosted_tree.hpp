// A boosted tree during growth: its cells with their inner trees (the LeafRank trees that split
// them), and what follows from their gradient sums alone. Only the grower knows where the rows are.
#pragma once

#include <cstddef>
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

// A node of the inner tree of a cell.
struct InnerNode {
    Segment at;
    std::int32_t depth = 0;
    NewtonCut cut{};
    bool is_partitioned = false;  // the positions of its children's rows are known
    std::int32_t left = -1;       // the right child follows the left; -1: a leaf
    std::int32_t half = -1;       // leaves only: the cell that it becomes part of
};

struct BoostedCell {
    Segment at;
    std::int32_t depth = 0;
    std::vector<InnerNode> nodes{};      // empty: the cell is a stratum
    std::int32_t left = -1, right = -1;  // the cells of its halves
};

// The buffer with the rows of a cell; boosted_growth.hpp explains buffers.
inline std::int64_t buffer_of_cell(std::int32_t depth) { return depth % 2; }

// The halves of a cell, made of the leaves of its inner tree: the first `n_left` leaves and the
// others. If `n_left` is 0, the cell cannot be split.
struct Halves {
    std::vector<std::int32_t> leaves{};  // by decreasing value
    std::size_t n_left = 0;
    Segment left{}, right{};
};

// Rows [first, first + n) of a buffer, whose scores all change by the same value.
struct BoostedStep {
    std::int64_t first, n, buffer;
    double value;
};

class GrowingBoostedTree {
  public:
    explicit GrowingBoostedTree(const Features& features) : features_(features) {}

    // The Newton step of a segment, clipped to its bounds.
    double value(const Segment& at) const { return at.bounds.clip(options.scale.value(at.sum)); }
    // Returns the two sides of a cut, without the positions of their rows.
    std::pair<Segment, Segment> sides_of(const Segment& at, const NewtonCut& cut) const;
    // Returns the best split of a cell, with the rows of its leaves placed side by side in the
    // order of the leaves. Rows that differ only in a constrained feature arrive in leaves whose
    // values are in order; if these are equal, both leaves go to the same side.
    Halves halves_of(const BoostedCell& cell) const;
    // Returns the finished tree. `steps` is then what it adds to the scores of its rows.
    BoostedTree compile(std::vector<BoostedStep>& steps) const;
    // Returns what a row of a stratum adds to its score if it arrived by this leaf. Values of
    // leaves are clipped to the bounds of their stratum, so that strata remain in order.
    float step_of(const Segment& stratum, const Segment& leaf) const;

    BoostingOptions options;
    std::vector<BoostedCell>
        cells;  // in the order in which they are created; the first is the root

  private:
    std::int8_t sign_of(std::int32_t feature) const { return features_.monotonic[feature]; }
    std::vector<std::int32_t> leaves_by_value(const BoostedCell& cell) const;
    // Bounds both segments so that no value of `better` will be below any value of `worse`.
    void keep_apart(Segment& better, Segment& worse) const;

    const Features& features_;
};

}  // namespace treerank
