// The driver of a boosted tree: which cells are opened, which nodes of the trees inside them are
// searched, which histogram is counted and which is the rest, where rows go. Where these are is
// known to a source, which does what is said here, step by step: rows in memory (boosting.cpp), on
// a device (_device/boosting.py), or in shards (summed_boosting.cpp).
//
// Cells are split depth by depth, or the best first: by the Newton gain of the tests inside them,
// and of equal ones the one made first, so that the tree does not depend on the source. A source
// with several threads has some of the next best cells halved together with the best one, ahead of
// their turn; those whose turn does not come are left whole in the end.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/data/partition.hpp"
#include "core/grow/boosted_cell.hpp"
#include "core/grow/gradient_squares.hpp"
#include "core/grow/growing_boosted_tree.hpp"

namespace treerank {

// Rows lie in four buffers on a device. Those of a cell are in one of the first two, by its depth;
// the tree inside it partitions them from one of the other two to the other, and its leaves are
// then moved to the next of the first two, in their order. So a cell that stays whole has its rows
// where they were. In memory they are partitioned in place, and the numbers of buffers mean
// nothing.
//
// Records cross as they are: all numbers take 64 bits, histograms are numbered from 0.
// A node whose rows are to be partitioned by its test.
struct NodePartition : RowSegment {
    SplitCondition condition;
    CategorySet set;            // of a categorical test
    bool passing_last = false;  // which come first: those that pass the test, or the others
};
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

    bool is_cell() const { return buffer < 2; }  // not a node below
};
// The best cut of a node (feature -1: none), by which its rows are partitioned already.
struct BoostedFoundCut {
    NewtonCut cut;
    std::uint32_t n_left, n_right;
};
static_assert(sizeof(BoostedFoundCut) == 88, "crosses from the device as it is");
// A node of the tree inside a cell; 0 is its root.
struct NodeOfCell {
    std::int32_t cell, node;
};

class BoostedGrowth {
  public:
    explicit BoostedGrowth(Features features);
    // It refers to its own features.
    BoostedGrowth(const BoostedGrowth&) = delete;
    BoostedGrowth& operator=(const BoostedGrowth&) = delete;

    // Begins a tree of `n_rows` rows, all in buffer 0, their histogram being number 0. At most
    // `most_open` nodes are searched together, and `most_ahead` cells are halved together where
    // the best comes first.
    void start(const BoostingOptions& options, std::int64_t n_rows, const GradientSum& sum,
               std::size_t most_open, std::size_t most_ahead = 1);

    // What to do next. Nodes whose rows are to be partitioned; the source sets their `n_left`
    // before it calls `partitioned`. None for a source that says with the cuts how many rows go
    // left.
    std::vector<NodePartition>& partitions() { return partitions_; }
    void partitioned();
    // Else, in this order: rows of cells that are put back as they were when the cell was opened
    // (they need not be where they were not partitioned in place), rows that are moved, histograms
    // that are counted, nodes whose cuts are searched. No nodes: growth is over.
    const std::vector<Segment>& restored() const { return restored_; }
    const std::vector<BoostedRowMove>& moves() const { return moves_; }
    const std::vector<BoostedCount>& counts() const { return counts_; }
    const std::vector<BoostedOpenNode>& nodes() const { return nodes_; }
    std::int64_t n_histograms() const { return n_histograms_; }
    // The cuts of the nodes; rows on the left of each, or nothing where these are yet to be
    // partitioned.
    void take(const std::vector<NewtonCut>& cuts, const std::vector<std::int64_t>& n_left);
    void take(const std::vector<BoostedFoundCut>& cuts);

    // The tree, once; then what it adds to the scores of its rows.
    BoostedTree finish();
    const std::vector<BoostedStep>& steps() const { return steps_; }

    // Looks for the cut of a node; `row_variance` as NewtonSearch has it.
    NewtonSearch search(const BoostedOpenNode& node, double row_variance) const;
    double row_variance(const BoostedOpenNode& node, const GradientSquares& squares) const;
    // Digits that squares of gradients leave out.
    int square_shift() const { return square_shift_; }
    const std::vector<BoostedCell>& cells() const { return cells_; }
    // Whose rows the histograms are counted of.
    const std::vector<NodeOfCell>& counted() const { return counted_; }
    const Features& features() const { return features_; }

  private:
    // A node that may be split; or a cell, by its root.
    struct Open {
        NodeOfCell at;
        std::int32_t histogram;
        bool owns_histogram;    // else it is that of its cell, which goes on to need it
        double gain = 0;        // of a cell: that of the tests inside
        std::int32_t turn = 0;  // of a cell: when it was made, if cells are split the best first

        bool operator<(const Open& other) const {
            return gain != other.gain ? gain < other.gain : turn > other.turn;
        }
    };
    // Cells to be opened, nodes to be searched, cells whose inner trees are done, nodes with a cut
    // whose children are to be opened, cells to be halved.
    struct Work {
        enum Kind { kCells, kNodes, kGrown, kChildren, kHalves } kind;
        std::vector<Open> open;
    };

    void clear_requests();
    InnerNode& inner(NodeOfCell at) { return cells_[at.cell].nodes[at.node]; }
    bool is_best_first() const { return growing_.options.max_leaf_nodes > 0; }
    std::int32_t take_histogram();
    void give_back(std::int32_t histogram) { free_histograms_.push_back(histogram); }
    // The histograms of two siblings: the smaller one is counted, the larger one takes the place of
    // the whole, if that is free.
    std::pair<std::int32_t, std::int32_t> plan_histograms(NodeOfCell a, NodeOfCell b,
                                                          std::int32_t whole, bool owns_whole);
    void advance();
    bool begin(Work work);
    bool begin_best();
    std::vector<Open> best_waiting() const;
    void keep_halves(std::int32_t cell);
    void finish_waiting();
    bool ask_partitions(const Work& work);
    void ask_partition(NodeOfCell at);
    void place_children(NodeOfCell at, std::int64_t n_left, bool right_first);
    void begin_nodes(std::vector<Open> open);
    void open_children(const std::vector<Open>& nodes);
    bool has_halves(const BoostedCell& cell);
    void finish_trees(const std::vector<Open>& cells);
    void keep_whole(const Open& cell);
    void halve(const std::vector<Open>& cells);
    std::int32_t add_cell(const Segment& at, std::int32_t depth, bool opens);

    const Features features_;
    GrowingBoostedTree growing_, trial_;
    std::size_t most_open_ = 1, most_ahead_ = 1;
    int square_shift_ = 0;
    std::vector<BoostedCell> cells_;
    std::int32_t n_strata_ = 1;
    std::vector<Work> work_;     // the last comes first
    std::vector<Open> waiting_;  // a heap of cells that may be halved, the best first
    std::vector<Open> ready_;    // the same below cells that were halved ahead of their turn
    std::vector<Open> open_;
    std::vector<NodeOfCell> partitioned_;
    std::vector<std::int32_t> free_histograms_;
    std::int32_t n_histograms_ = 0;
    std::vector<NodePartition> partitions_;
    std::vector<Segment> restored_;
    std::vector<BoostedRowMove> moves_;
    std::vector<BoostedCount> counts_;
    std::vector<NodeOfCell> counted_;
    std::vector<BoostedOpenNode> nodes_;
    std::vector<BoostedStep> steps_;
};

}  // namespace treerank
