// A boosted tree whose rows are elsewhere, such as on a device: what is to be counted, searched and
// parted there is said here, step by step, and the tree put together as where the rows are at hand.
//
// Rows lie in four buffers. Those of a cell are in one of the first two, by its depth; the tree
// inside it parts them to and fro between the other two, and its leaves are then moved to the next
// of the first two, in their order. So a cell that stays whole has its rows where they were.
#pragma once

#include <cstdint>
#include <vector>

#include "core/grow/boosted_cell.hpp"
#include "core/grow/growing_boosted_tree.hpp"

namespace treerank {

// Records cross as they are: all numbers take 64 bits, histograms are numbered from 0.
struct BoostedRowMove {
    std::int64_t from, to, n, from_buffer, to_buffer;
};
// A histogram to be counted, and what follows from it: the rest of the whole. -1: nothing does.
struct BoostedCount {
    std::int64_t first, n, buffer, counted, whole, rest;
};
struct BoostedOpenNode {
    std::int64_t first, n, buffer, histogram;
    GradientSum sum;
    Bounds bounds;
};
// The best cut of a node (feature -1: none), by which its rows are parted already.
struct BoostedFoundCut {
    double gain;
    std::int32_t feature, cut, missing_left, categorical;
    GradientSum left;
    CategorySet set;
    std::uint32_t n_left, n_right;
};
struct BoostedStep {
    std::int64_t first, n, buffer;
    double value;
};

class BoostedGrowth {
  public:
    explicit BoostedGrowth(Features features);

    // Begins a tree of so many rows, all in buffer 0, their histogram being number 0. At most
    // `most_open` nodes are looked at together.
    void start(const BoostingOptions& options, std::size_t n_rows, const GradientSum& sum,
               std::size_t most_open);

    // What to do next, in this order; no nodes: growth is over.
    const std::vector<BoostedRowMove>& moves() const { return moves_; }
    const std::vector<BoostedCount>& counts() const { return counts_; }
    const std::vector<BoostedOpenNode>& nodes() const { return nodes_; }
    std::int64_t n_histograms() const { return n_histograms_; }
    // The cuts of the nodes.
    void take(const std::vector<BoostedFoundCut>& cuts);

    // The tree, once; then what it adds to the scores of its rows.
    BoostedTree finish();
    const std::vector<BoostedStep>& steps() const { return steps_; }

    // Digits that squares of gradients leave out.
    int square_shift() const { return square_shift_; }

  private:
    struct OpenNode {
        std::int32_t cell, number, histogram;
        bool owns_histogram;
    };
    struct OpenCell {
        std::int32_t number, histogram;
    };
    // Cells to be grown, nodes of the trees inside them, or cells whose trees are done.
    struct Work {
        enum Kind { kCells, kNodes, kHalves } kind;
        std::vector<OpenCell> cells{};
        std::vector<OpenNode> nodes{};
        std::int32_t depth = 0;  // of the nodes, inside their cells
    };

    InnerNode& inner(const OpenNode& node) { return cells_[node.cell].nodes[node.number]; }
    std::int32_t take_histogram();
    void give_back(std::int32_t histogram) { free_histograms_.push_back(histogram); }
    // The histograms of the two parts of a node, whose own goes to the larger one, if it has one.
    std::pair<std::int32_t, std::int32_t> plan_parts(const Segment& a, const Segment& b,
                                                     std::int32_t whole, bool owns_whole,
                                                     std::int64_t buffer);
    void advance();
    bool begin(Work& work);
    void begin_cells(const std::vector<OpenCell>& level);
    void begin_nodes(const Work& work);
    void make_halves_of(const std::vector<OpenCell>& level);
    void split(const OpenNode& node, const BoostedFoundCut& found, std::vector<OpenNode>& below);
    std::int32_t add_cell(const Segment& at, std::int32_t depth);

    const Features features_;
    GrowingBoostedTree growing_, trial_;
    std::size_t most_open_ = 1;
    int square_shift_ = 0;
    std::vector<BoostedCell> cells_;
    std::vector<Work> work_;  // the last comes first
    std::vector<OpenNode> open_;
    std::int32_t open_depth_ = 0;
    std::vector<std::int32_t> free_histograms_;
    std::int32_t n_histograms_ = 0;
    std::vector<BoostedRowMove> moves_;
    std::vector<BoostedCount> counts_;
    std::vector<BoostedOpenNode> nodes_;
    std::vector<BoostedStep> steps_;
};

}  // namespace treerank
