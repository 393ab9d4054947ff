// The driver that grows a boosted tree. It decides which cells are opened, which nodes of their
// inner trees are searched, which histograms are counted or obtained by subtraction, and where rows
// go. A cell's inner tree is the LeafRank tree that splits it. The driver does not know where the
// data is: a source carries out its requests, step by step, for rows in memory (boosting.cpp), on a
// device (_device/boosting.py) or in shards (summed_boosting.cpp).
//
// Cells are split level by level, or best first by the Newton gain of the tests inside them. On
// ties, the cell created first is split first, so that the tree does not depend on the source. A
// source with several threads may have some of the next best cells halved together with the best
// one, ahead of their turn; if their turn never comes, they are left unsplit in the end.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/data/partition.hpp"
#include "core/grow/gradient_squares.hpp"
#include "core/grow/growing_boosted_tree.hpp"

namespace treerank {

// On a device, rows are in four buffers. The rows of a cell are in one of the first two, depending
// on its depth. Its inner tree partitions them into the other two buffers in turn, and its leaves
// are then moved, in their order, to the next of the first two. So the rows of a cell that stays
// whole are still in place. In memory, rows are partitioned in place, and the buffer numbers mean
// nothing.
//
// Moves, counts and open nodes are passed to a device without conversion: all their numbers take 64
// bits. Histograms are numbered from 0.

// A node whose rows are to be partitioned by its test.
struct NodePartition : RowSegment {
    SplitCondition condition;
    CategorySet set;            // categorical tests only
    bool passing_last = false;  // rows that pass the test come last, not first
};
struct BoostedRowMove {
    std::int64_t from, to, n, from_buffer, to_buffer;
};
// A histogram to be counted, and one that follows by subtraction: rest = whole - counted. `whole`
// and `rest` are -1 if nothing is subtracted.
struct BoostedCount {
    std::int64_t first, n, buffer, counted, whole, rest;
};
struct BoostedOpenNode {
    std::int64_t first, n, buffer, histogram;
    GradientSum sum;
    Bounds bounds;

    bool is_cell() const { return buffer < 2; }  // else a node below it
};
// The best cut of a node (feature -1: none); its rows have already been partitioned by it.
struct BoostedFoundCut {
    NewtonCut cut;
    std::uint32_t n_left, n_right;
};
static_assert(sizeof(BoostedFoundCut) == 88, "copied from a device byte for byte");
// A node of the inner tree of a cell; node 0 is its root.
struct NodeOfCell {
    std::int32_t cell, node;
};

class BoostedGrowth {
  public:
    explicit BoostedGrowth(Features features);
    // Not copyable: members refer to its own features.
    BoostedGrowth(const BoostedGrowth&) = delete;
    BoostedGrowth& operator=(const BoostedGrowth&) = delete;

    // Starts a tree of `n_rows` rows, all of them in buffer 0, whose histogram is number 0. At most
    // `max_open` nodes are searched together. In best-first growth, at most `max_ahead` cells are
    // halved together.
    void start(const BoostingOptions& options, std::int64_t n_rows, const GradientSum& sum,
               std::size_t max_open, std::size_t max_ahead = 1);

    // The next requests. First, nodes whose rows are to be partitioned; the source sets their
    // `n_left` and calls partitioned(). Empty for sources that return the number of left rows
    // together with the cuts.
    std::vector<NodePartition>& partitions() { return partitions_; }
    void partitioned();
    // If there are no partitions, the source processes in this order: cells whose rows are restored
    // to their state when the cell was opened (unnecessary unless rows are partitioned in place),
    // rows to move, histograms to count, nodes to search. If there are no nodes, growth is
    // complete.
    const std::vector<Segment>& restored() const { return restored_; }
    const std::vector<BoostedRowMove>& moves() const { return moves_; }
    const std::vector<BoostedCount>& counts() const { return counts_; }
    const std::vector<BoostedOpenNode>& nodes() const { return nodes_; }
    std::int64_t n_histograms() const { return n_histograms_; }
    // Takes the cuts of the nodes and the number of rows to the left of each. `n_left` is empty if
    // the rows have not been partitioned yet.
    void take(const std::vector<NewtonCut>& cuts, const std::vector<std::int64_t>& n_left);
    void take(const std::vector<BoostedFoundCut>& cuts);

    // finish() returns the tree; steps() is then what it adds to the scores of its rows.
    BoostedTree finish() { return tree_.compile(steps_); }
    const std::vector<BoostedStep>& steps() const { return steps_; }

    // Returns the search for the cut of a node; `row_variance` as for NewtonSearch.
    NewtonSearch search(const BoostedOpenNode& node, double row_variance) const;
    double row_variance(const BoostedOpenNode& node, const GradientSquares& squares) const;
    // The number of low bits that are dropped from gradients before they are squared.
    int square_shift() const { return square_shift_; }
    const std::vector<BoostedCell>& cells() const { return tree_.cells; }
    // The node whose rows each requested histogram counts.
    const std::vector<NodeOfCell>& counted() const { return counted_; }
    const Features& features() const { return features_; }

  private:
    // A node that may be split; or a cell, represented by the root of its inner tree.
    struct Open {
        NodeOfCell at;
        std::int32_t histogram;
        bool owns_histogram;    // else it is the cell's, which still needs it
        double gain = 0;        // cells only: total gain of the tests inside
        std::int32_t turn = 0;  // cells only: order of creation in best-first growth

        bool operator<(const Open& other) const {
            return gain != other.gain ? gain < other.gain : turn > other.turn;
        }
    };
    // Cells to open, nodes to search, cells whose inner trees are finished, nodes with a cut whose
    // children are to be opened, cells to halve.
    struct Work {
        enum Kind { kCells, kNodes, kGrown, kChildren, kHalves } kind;
        std::vector<Open> open;
    };

    void clear_requests();
    InnerNode& inner(NodeOfCell at) { return tree_.cells[at.cell].nodes[at.node]; }
    bool is_best_first() const { return tree_.options.max_leaf_nodes > 0; }
    std::int32_t take_histogram();
    void give_back(std::int32_t histogram) { free_histograms_.push_back(histogram); }
    // Plans the histograms of two siblings: the smaller one is counted, the larger one overwrites
    // the parent's (`whole`) if `owns_whole`.
    std::pair<std::int32_t, std::int32_t> plan_histograms(NodeOfCell a, NodeOfCell b,
                                                          std::int32_t whole, bool owns_whole);
    void advance();
    bool begin(Work work);
    bool begin_best();
    std::vector<Open> best_waiting() const;
    bool is_half(const Open& open, std::int32_t cell) const {
        return open.at.cell == tree_.cells[cell].left || open.at.cell == tree_.cells[cell].right;
    }
    void keep_halves(std::int32_t cell);
    void finish_waiting();
    bool request_partitions(const Work& work);
    void request_partition(NodeOfCell at);
    void place_children(NodeOfCell at, std::int64_t n_left, bool right_first);
    void begin_nodes(std::vector<Open> open);
    void open_children(const std::vector<Open>& nodes);
    void finish_trees(const std::vector<Open>& cells);
    void keep_whole(const Open& cell);
    void halve(const std::vector<Open>& cells);
    std::int32_t add_cell(const Segment& at, std::int32_t depth, bool opens);

    const Features features_;
    GrowingBoostedTree tree_;
    std::size_t max_open_ = 1, max_ahead_ = 1;
    int square_shift_ = 0;
    std::int32_t n_strata_ = 1;
    std::vector<Work> work_;     // a stack
    std::vector<Open> waiting_;  // a heap of cells that may be halved, best first
    std::vector<Open> ready_;    // the same below cells halved ahead of their turn
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
