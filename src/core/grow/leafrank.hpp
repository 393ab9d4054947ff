// LeafRank: a small axis-parallel tree inside one cell, whose leaves are then ordered and divided
// into a left (better) and a right side.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/data/row_view.hpp"
#include "core/data/types.hpp"
#include "core/grow/leafrank_tree.hpp"
#include "core/histogram/histogram_pool.hpp"
#include "core/histogram/kernels.hpp"
#include "core/split/split_search.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

// The rows that a LeafRank tree is grown on: those of a cell, or of a node further down.
template <class Code>
struct LeafRankSample {
    const View<Code>& view;
    Row* rows;
    std::size_t n;
    Row* scratch;                               // a buffer of n rows
    const std::vector<std::int32_t>& features;  // that may be tested
    OpenNode root;                              // node 0 of the tree
    ClassWeight weight;                         // of the rows
    ClassWeight cell;                           // of the cell
};

// The range of rows in a leaf.
struct LeafRows {
    std::int32_t node;
    std::size_t first;
    std::size_t last;
};

// Grows LeafRank trees, one cell after another, in buffers of its own.
template <class Code, class Count>
class LeafRank : public LeafRankTree {
  public:
    LeafRank(const Features& features, const LeafRankOptions& options, ProgressMonitor& monitor,
             ThreadPool* pool);

    // Grows a tree and permutes the rows: each leaf becomes one range of rows, in their old order.
    // `histogram` is the root's if it is known (it is overwritten), otherwise null.
    void grow(const LeafRankSample<Code>& sample, Count* histogram);
    // Turns the nodes whose split is not kept into leaves.
    void collapse(const std::vector<std::uint8_t>& keep_split);
    // Whether a node, taken as a leaf, belongs to the left side: positives are at least as frequent
    // as negatives if the classes of the cell are given equal weight.
    bool is_better(std::int32_t node) const;

    // Counts the histogram of the given rows and features.
    void count(const View<Code>& view, const Row* rows, std::size_t n,
               const std::vector<std::int32_t>& features, Count* histogram);
    // Returns the pool if there is one and n rows are worth distributing; otherwise null.
    ThreadPool* pool_for(std::size_t n) const { return treerank::pool_for(pool_, n); }
    bool is_sparse(std::size_t n) const { return n <= sparse_rows_; }

    std::vector<LeafRows> leaves;

  private:
    struct Open : OpenNode {
        std::size_t first = 0;
        std::size_t last = 0;
        Count* histogram = nullptr;  // null: not counted
        bool complete = false;       // covers all features of the cell

        std::size_t size() const { return last - first; }
    };

    Split find_split(Open& open);
    std::pair<Open, Open> apply(const Open& open, Split split);
    bool shares_histogram(std::size_t n) const;
    void propagate_histograms(const Open& parent, Open& left, Open& right);
    void close(const Open& open);
    // Returns the best split of a node. If no split gains anything, the node becomes a leaf.
    Split search_or_close(Open& open);
    // Two orders of the same steps. Depth-first growth searches a node when its turn comes, so that
    // few histograms are alive; best-first growth searches every node as soon as it is open.
    void grow_depth_first(Open root);
    // The same on a contiguous copy of the rows.
    void grow_dense(const Open& root);
    void grow_best_first(Open root);
    // In a team, nodes of at most this many rows are deferred: later they are grown by one thread
    // each and put together as one thread would have grown them. 0 as long as there is no team, or
    // if too few rows are left.
    std::size_t rows_to_defer(std::size_t n_left) const;
    void grow_deferred();

    void release(Count* histogram);

    ProgressMonitor& monitor_;
    ThreadPool* pool_;
    const Kernels<Code, Count>& kernels_;
    std::size_t sparse_rows_ = 0;
    SplitSearch<Code, Count> split_search_;

    // State of the current cell.
    const View<Code>* view_ = nullptr;
    Row* rows_ = nullptr;
    std::size_t n_rows_ = 0;
    bool is_dense_ = false;  // the view has only the rows of one node
    Row* scratch_rows_ = nullptr;
    std::vector<std::int32_t> cell_features_;
    FeatureDraws draws_;
    std::size_t rows_since_check_ = 0;
    Count* given_histogram_ = nullptr;  // the cell's histogram, owned by the caller
    std::size_t rows_to_defer_ = 0;
    std::vector<Open> deferred_;

    HistogramPool<Count> histograms_;
};

}  // namespace treerank
