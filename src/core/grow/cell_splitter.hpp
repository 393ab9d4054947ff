// Finds candidate splits for a cell whose rows are in memory, and partitions its rows by the
// winner.
//
// In each cell, LeafRank runs on the rows of one pair of classes after the other; all rows of the
// cell are then routed through each result. So histograms and the split search only handle two
// classes. If there are only two classes, the pair has all rows, and growing its LeafRank tree has
// routed them already.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/data/partition.hpp"
#include "core/grow/cell_rows.hpp"
#include "core/grow/driver.hpp"
#include "core/grow/growing_cell.hpp"
#include "core/grow/leafrank.hpp"
#include "core/grow/selector.hpp"
#include "core/prune/leafrank_prune.hpp"

namespace treerank {

// Combines the histograms of two classes, whose counts are stored as negatives, into that of the
// pair.
inline void pair_up(const PackedCount* worse, const PackedCount* better, PackedCount* pair,
                    std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) pair[i] = worse[i] + (better[i] << 32);
}
inline void pair_up(const WideCount* worse, const WideCount* better, WideCount* pair,
                    std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) pair[i] = {worse[i].negative, better[i].negative};
}

// A cell that may still be split: a range of the rows.
template <class Code, class Count>
struct OpenCell : OpenSplit {
    std::shared_ptr<View<Code>> view;
    std::size_t first = 0;
    std::size_t last = 0;
    // Null unless worth keeping: one histogram for two classes, otherwise one per class.
    std::shared_ptr<Count[]> histograms;

    std::size_t size() const { return last - first; }
};

// Splits one cell after another, using buffers of its own: one splitter per thread.
template <class Code, class Count>
class CellSplitter {
  public:
    using Open = OpenCell<Code, Count>;

    CellSplitter(const Table<Code>& table, const TreeRankOptions& options, RowBuffers& buffers,
                 ProgressMonitor& monitor, ThreadPool* pool)
        : table_(table),
          options_(options),
          buffers_(buffers),
          monitor_(monitor),
          leafrank_(table.features, options.leafrank, monitor, pool) {
        if (options.leafrank.pruning)
            pruner_.emplace(table.features, options.leafrank, monitor, pool);
    }

    void find_candidates(Open& open) {
        if (!may_split(*open.cell, options_)) return;
        monitor_.check();
        if (auto view =
                compact_view(*open.view, table_.n_classes, rows(open), open.size(), pool_for(open)))
            open.view = std::move(view);
        const CellTrials trials = trials_of(open, table_.features, options_);
        if (!open.histograms && shares_histograms(open.size())) {
            open.histograms = new_histograms(n_histograms());
            count(open, trials.features, open.histograms.get());
        }
        for (const auto& [pair, key] : trials.pairs) try_pair(open, pair, trials.features, key);
    }

    // Returns the children of a cell whose winner is known, the better one first. With two classes,
    // only the cell whose candidate was found last can be partitioned.
    std::pair<Open, Open> partition(Open& open) {
        auto [left, right] = open_children(open, options_.focus, grown);
        // Children that cannot be split need their weights, but not their rows.
        const bool last = open.cell->cell.depth + 1 == options_.max_depth;
        const std::size_t middle = open.first + (last ? open.size() / 2 : partition_rows(open));
        Open better{std::move(left), open.view, open.first, middle, {}};
        Open worse{std::move(right), open.view, middle, open.last, {}};
        if (open.histograms && !last) propagate_histograms(open, better, worse);
        return {std::move(better), std::move(worse)};
    }

    GrowingCells grown;

  private:
    bool has_two_classes() const { return table_.n_classes == 2; }
    Row* rows(const Open& open) { return buffers_.rows.data() + open.first; }
    Row* work(const Open& open) { return buffers_.work.get() + open.first; }
    Row* scratch(const Open& open) { return buffers_.scratch.get() + open.first; }
    ThreadPool* pool_for(const Open& open) const { return leafrank_.pool_for(open.size()); }

    std::size_t n_histograms() const { return has_two_classes() ? 1 : table_.n_classes; }

    // Whether a cell of n rows keeps its histogram, which is the root histogram of its LeafRank
    // tree if that uses all features. This pays from twice as many rows as codes per feature; with
    // more than two classes, the histograms may take at most as much memory as the codes of the
    // cell.
    bool shares_histograms(std::size_t n) const {
        if (!leafrank_.uses_all_features() || options_.max_features >= 0) return false;
        const std::size_t size = table_.features.histogram_size(), p = table_.features.size();
        if (has_two_classes()) return n >= 2 * size / p;
        return n * p * sizeof(Code) >= table_.n_classes * size * sizeof(Count);
    }

    std::shared_ptr<Count[]> new_histograms(std::size_t n) const {
        return std::shared_ptr<Count[]>(new Count[n * table_.features.histogram_size()]);
    }

    void count(const Open& open, const std::vector<std::int32_t>& features, Count* histograms) {
        if (has_two_classes())
            return leafrank_.count(*open.view, rows(open), open.size(), features, histograms);
        for (std::size_t k = 0; k < table_.n_classes; ++k) {
            const ClassPair alone{static_cast<std::int32_t>(k), -1};
            const std::size_t n = select(open, alone, work(open));
            leafrank_.count(pair_view(open, alone), work(open), n, features,
                            histograms + k * table_.features.histogram_size());
        }
    }

    // Counts the smaller child; the larger child gets the cell's histograms minus those of the
    // smaller.
    void propagate_histograms(Open& open, Open& better, Open& worse) {
        const auto [small, large] =
            smaller_first(better, worse, [](const Open& child) { return child.size(); });
        const auto wants = [&](const Open& child) {
            return may_split(*child.cell, options_) && shares_histograms(child.size());
        };
        if (!wants(large)) return;
        small.histograms = new_histograms(n_histograms());
        count(small, table_.features.all(), small.histograms.get());
        large.histograms = std::move(open.histograms);
        kernels<Code, Count>().subtract(large.histograms.get(), large.histograms.get(),
                                        small.histograms.get(),
                                        n_histograms() * table_.features.histogram_size());
        if (!wants(small)) small.histograms.reset();
    }

    // Returns a copy: LeafRank overwrites its histogram, and the children need the original.
    std::shared_ptr<Count[]> histogram_of(const Open& open, ClassPair pair) const {
        if (!open.histograms) return nullptr;
        const std::size_t size = table_.features.histogram_size();
        auto copy = new_histograms(1);
        const Count* from = open.histograms.get();
        if (has_two_classes())
            std::copy_n(from, size, copy.get());
        else
            pair_up(from + pair.first * size, from + pair.second * size, copy.get(), size);
        return copy;
    }

    // Copies the rows of one or two classes to `to`, with the label bit set for the better class.
    // Returns their number.
    std::size_t select(const Open& open, ClassPair pair, Row* to) const {
        const Row* rows = buffers_.rows.data() + open.first;
        if (has_two_classes()) {
            std::copy_n(rows, open.size(), to);
            return open.size();
        }
        const std::uint8_t* classes = open.view->classes;
        const bool is_soft = open.view->soft != nullptr;
        std::size_t n = 0;
        for (std::size_t i = 0; i < open.size(); ++i) {
            const Row row = rows[i];
            const std::int32_t own = classes[row_id(row)];
            to[n] = (row & ~kLabelBit) | (own == pair.second ? kLabelBit : 0);
            n += is_soft ? pair_weight(open, row, pair) != 0
                         : own == pair.first || own == pair.second;
        }
        return n;
    }

    // The soft label of a row in a pair, or in one class, of more than two.
    std::int64_t pair_weight(const Open& open, Row row, ClassPair pair) const {
        const std::uint32_t* units = open.view->soft + row_id(row) * table_.n_classes;
        return soft_weight(units[pair.first], pair.second < 0 ? 0 : units[pair.second]);
    }

    // The view in which the rows of a pair have their weights: that of the cell, unless the rows
    // have soft labels of more than two classes.
    const View<Code>& pair_view(const Open& open, ClassPair pair) {
        if (open.view->soft == nullptr) return *open.view;
        pair_view_.codes = open.view->codes;
        pair_view_.by_row = open.view->by_row;
        pair_view_.own_weights.resize(open.view->codes.rows);
        const Row* rows = buffers_.rows.data() + open.first;
        for (std::size_t i = 0; i < open.size(); ++i)
            pair_view_.own_weights[row_id(rows[i])] = pair_weight(open, rows[i], pair);
        pair_view_.weights = pair_view_.own_weights.data();
        pair_view_.has_soft_weights = true;
        return pair_view_;
    }

    void try_pair(Open& open, ClassPair pair, const std::vector<std::int32_t>& features,
                  std::uint64_t key) {
        const Weights& cell = open.cell->class_weight;
        const ClassWeight weight{cell[pair.first], cell[pair.second]};
        const std::size_t n = select(open, pair, work(open));
        LeafRankSample<Code> sample{
            pair_view(open, pair), work(open), n,     scratch(open), features,
            {0, 0, key},           weight,     weight};
        if (pruner_) unpermuted_.assign(work(open), work(open) + n);
        leafrank_.grow(sample, histogram_of(open, pair).get());
        if (pruner_) {
            sample.rows = unpermuted_.data();
            pruner_->prune(leafrank_, sample);
        }
        Weights leaf_weight;
        if (!has_two_classes() && leafrank_.nodes.size() > 1) {
            route(open, leafrank_.nodes, leafrank_.category_sets);
            leaf_weight = leaf_weights(open, leafrank_.nodes.size());
        }
        add_candidate(open, pair, leafrank_, std::move(leaf_weight), options_.min_weight_leaf);
    }

    // Partitions a copy of the cell's rows, of all classes, into the leaves of a LeafRank tree.
    void route(const Open& open, const std::vector<LeafRankNode>& nodes,
               const std::vector<CategorySet>& sets) {
        Row* copy = work(open);
        std::copy_n(rows(open), open.size(), copy);
        leaves_.clear();
        std::vector<LeafRows> stack{{0, 0, open.size()}};
        while (!stack.empty()) {
            const LeafRows next = stack.back();
            stack.pop_back();
            const LeafRankNode& node = nodes[next.node];
            if (node.left < 0) {
                leaves_.push_back(next);
                continue;
            }
            const std::size_t n = next.last - next.first;
            const std::size_t middle =
                next.first +
                partition_by_condition<Code, Count>(
                    node.condition,
                    node.condition.categorical ? sets[node.condition.cut] : CategorySet{},
                    open.view->codes_for(n), copy + next.first, n, scratch(open) + next.first,
                    leafrank_.pool_for(n));
            stack.push_back({node.left, next.first, middle});
            stack.push_back({node.right, middle, next.last});
        }
    }

    // Returns the weights of all classes in the leaves of the LeafRank tree that the rows were
    // routed through (nodes x classes).
    Weights leaf_weights(const Open& open, std::size_t n_nodes) {
        const std::size_t n_classes = table_.n_classes;
        Weights weight(n_nodes * n_classes);
        const Row* routed = work(open);
        for (const LeafRows& leaf : leaves_) {
            const Weights own =
                class_weights(routed + leaf.first, routed + leaf.last, *open.view, n_classes);
            std::copy(own.begin(), own.end(), weight.begin() + leaf.node * n_classes);
        }
        return weight;
    }

    std::size_t partition_rows(const Open& open) {
        const std::vector<LeafRankNode>& tests = open.cell->tests;
        if (!has_two_classes()) route(open, tests, open.cell->category_sets);
        std::vector<std::uint8_t> side_of(tests.size());
        for (std::size_t i = 0; i < side_of.size(); ++i) side_of[i] = tests[i].side == 1;
        return partition_by_side(has_two_classes() ? leafrank_.leaves : leaves_, side_of,
                                 work(open), open.view->side.data(), rows(open), open.size(),
                                 scratch(open), pool_for(open));
    }

    const Table<Code>& table_;
    const TreeRankOptions& options_;
    RowBuffers& buffers_;
    ProgressMonitor& monitor_;
    LeafRank<Code, Count> leafrank_;
    std::optional<LeafRankPruner<Code, Count>> pruner_;
    std::vector<Row> unpermuted_;   // the rows of a pair before they are permuted
    std::vector<LeafRows> leaves_;  // ranges that the rows were routed to
    View<Code> pair_view_;          // of soft labels of more than two classes
};

}  // namespace treerank
