// Prunes a LeafRank tree by cross-validation inside its own cell (Clémençon, Depecker and Vayatis,
// "Adaptive partitioning schemes for bipartite ranking").
//
// The left part of a cell consists of the better leaves, so its beta - alpha is a sum over leaves,
// and the weakest links of the tree are those of CART. Each fold's tree is evaluated on rows that
// it has not seen.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/data/folds.hpp"
#include "core/data/row_view.hpp"
#include "core/data/types.hpp"
#include "core/grow/leafrank.hpp"
#include "core/prune/cost_complexity.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

inline constexpr std::size_t kLeafRankFolds = 5;

// The one-standard-error rule: on a flat curve, which subtree is best is a matter of chance.
inline constexpr double kSlack = 1;
// A cell is split in more than the simplest way only if that is better than no split by this many
// standard errors: the best of many subtrees of noise is above 0 by chance.
inline constexpr double kNoiseLimit = 3;

// Lambda is tried at the geometric means of neighbouring values, as in CART.
inline std::vector<double> tried_lambdas(const std::vector<double>& lambdas) {
    std::vector<double> tried(lambdas.size(), std::numeric_limits<double>::infinity());
    for (std::size_t k = 0; k + 1 < lambdas.size(); ++k)
        tried[k] = std::sqrt(lambdas[k] * lambdas[k + 1]);
    return tried;
}

// Prunes LeafRank trees, one cell after another, in buffers of its own.
template <class Code, class Count>
class LeafRankPruner {
  public:
    LeafRankPruner(const Features& features, const LeafRankOptions& options,
                   ProgressMonitor& monitor, ThreadPool* pool)
        : options_(options), tree_(features, options, monitor, pool) {}

    // Prunes the tree that was grown in a cell by the evidence of held-out rows. The cell's rows
    // are in the order before growth, by which they are assigned to folds.
    void prune(LeafRank<Code, Count>& grown, const LeafRankSample<Code>& cell) {
        if (grown.nodes.size() == 1) return;
        const PruningSequence sequence = sequence_of(grown, cell.weight);
        const std::vector<double> tried = tried_lambdas(sequence.lambdas);
        std::vector<ClassWeight> left(tried.size());
        assign_folds(cell);
        for (std::size_t fold = 0; fold < kLeafRankFolds; ++fold) {
            const ClassWeight weight = hold_out(cell, fold);
            if (held_out_.empty()) continue;
            tree_.grow({cell.view, train_.data(), train_.size(), cell.scratch, cell.features,
                        cell.root, weight, weight},
                       nullptr);
            add_held_out(cell.view, sequence_of(tree_, weight), tried, left);
        }
        const auto chosen = static_cast<std::int32_t>(choose(left, cell.weight));
        std::vector<std::uint8_t> keep_split(grown.nodes.size());
        for (std::size_t i = 0; i < keep_split.size(); ++i)
            keep_split[i] = sequence.collapsed_at[i] > chosen;
        grown.collapse(keep_split);
    }

  private:
    // A node is worth beta - alpha if that makes it one of the better leaves, otherwise nothing.
    // Gains are integers while links are compared, so that equal gains are recognised as equal.
    PruningSequence sequence_of(const LeafRank<Code, Count>& tree, ClassWeight cell) {
        const std::size_t n = tree.nodes.size();
        left_.resize(n);
        right_.resize(n);
        worth_.assign(n, 0.0);
        gain_.assign(n, 0.0);
        for (std::size_t i = n; i-- > 0;) {
            const LeafRankNode& node = tree.nodes[i];
            left_[i] = node.left;
            right_[i] = node.right;
            if (tree.is_better(static_cast<std::int32_t>(i)))
                worth_[i] =
                    node.weight.positive * cell.negative - node.weight.negative * cell.positive;
            if (node.left < 0) continue;
            gain_[i] = std::max(0.0, worth_[node.left] + worth_[node.right] - worth_[i]);
        }
        PruningSequence sequence = cost_complexity(left_.data(), right_.data(), gain_.data(), n);
        for (double& lambda : sequence.lambdas)
            if (lambda > 0) lambda /= cell.negative * cell.positive;
        return sequence;
    }

    // Assigns the rows of each class to the folds, all weight of a row to one of them: a row must
    // not be used to evaluate itself. Rows come in the order of a hash of their content. Their
    // places are shuffled, because equal rows are neighbours: assigned in turn, they would give
    // every fold the same noise (see place_in_class).
    void assign_folds(const LeafRankSample<Code>& cell) {
        std::uint64_t size[2] = {0, 0}, assigned[2] = {0, 0};
        for (std::size_t i = 0; i < cell.n; ++i) ++size[(cell.rows[i] & kLabelBit) != 0];
        fold_.resize(cell.n);
        for (std::size_t i = 0; i < cell.n; ++i) {
            const bool positive = (cell.rows[i] & kLabelBit) != 0;
            const std::uint64_t place =
                place_in_class(assigned[positive]++, size[positive], true, 0, positive);
            fold_[i] = static_cast<std::uint8_t>(place % kLeafRankFolds);
        }
    }

    // Divides the cell's rows into those that the fold holds out and the rest, whose weight it
    // returns.
    ClassWeight hold_out(const LeafRankSample<Code>& cell, std::size_t fold) {
        WideCount weight;
        train_.clear();
        held_out_.clear();
        for (std::size_t i = 0; i < cell.n; ++i) {
            const Row row = cell.rows[i];
            if (fold_[i] == fold) {
                held_out_.push_back(row);
            } else {
                weight += pair_units(row, cell.view);
                train_.push_back(row);
            }
        }
        return {static_cast<double>(weight.negative), static_cast<double>(weight.positive)};
    }

    // The weight of the held-out rows in each node of the fold's tree.
    std::vector<ClassWeight> held_out_weights(const View<Code>& view) const {
        const auto& nodes = tree_.nodes;
        std::vector<ClassWeight> weights(nodes.size());
        for (const Row row : held_out_) {
            ClassWeight& leaf =
                weights[leaf_of(0, nodes, tree_.category_sets, view.codes, row_id(row))];
            const WideCount units = pair_units(row, view);
            leaf = leaf + ClassWeight{static_cast<double>(units.negative),
                                      static_cast<double>(units.positive)};
        }
        for (std::size_t i = nodes.size(); i-- > 0;)
            if (nodes[i].left >= 0) weights[i] = weights[nodes[i].left] + weights[nodes[i].right];
        return weights;
    }

    // Adds, for each lambda, the held-out weight that the fold's subtree puts on the left. A node
    // is a leaf of the subtrees from the one in which it collapses up to the one in which its
    // parent does.
    void add_held_out(const View<Code>& view, const PruningSequence& sequence,
                      const std::vector<double>& tried, std::vector<ClassWeight>& left) const {
        const std::vector<ClassWeight> weights = held_out_weights(view);
        const auto& nodes = tree_.nodes;
        std::vector<ClassWeight> change(sequence.lambdas.size() + 1);
        const auto count_leaf = [&](std::int32_t node, std::int32_t end) {
            if (!tree_.is_better(node)) return;
            const std::int32_t begin = sequence.collapsed_at[node];
            change[begin] = change[begin] + weights[node];
            change[end] = change[end] - weights[node];
        };
        count_leaf(0, static_cast<std::int32_t>(sequence.lambdas.size()));
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            if (nodes[i].left < 0) continue;
            count_leaf(nodes[i].left, sequence.collapsed_at[i]);
            count_leaf(nodes[i].right, sequence.collapsed_at[i]);
        }
        ClassWeight sum = change[0];
        for (std::size_t k = 0, step = 0; k < tried.size(); ++k) {
            while (step + 1 < sequence.lambdas.size() && sequence.lambdas[step + 1] <= tried[k])
                sum = sum + change[++step];
            left[k] = left[k] + sum;
        }
    }

    // Chooses a subtree by the held-out weight that each subtree, from the whole tree to the root,
    // puts on the left: the smallest that has a split and is hardly worse than the best; the root
    // if none is better.
    std::size_t choose(const std::vector<ClassWeight>& left, ClassWeight cell) const {
        const std::size_t root = left.size() - 1;
        const auto worth = [&](std::size_t k) {
            return left[k].positive / cell.positive - left[k].negative / cell.negative;
        };
        std::size_t best = root;
        for (std::size_t k = root; k-- > 0;)
            if (worth(k) > worth(best)) best = k;
        if (best == root) return root;
        const double a = left[best].negative / cell.negative;
        const double b = left[best].positive / cell.positive;
        const double error = std::sqrt(options_.row_weight *
                                       (a * (1 - a) / cell.negative + b * (1 - b) / cell.positive));
        const std::size_t simplest = root - 1;
        if (worth(best) <= kNoiseLimit * error) return worth(simplest) > 0 ? simplest : root;
        std::size_t chosen = simplest;
        while (worth(chosen) < worth(best) - kSlack * error) --chosen;
        return chosen;
    }

    const LeafRankOptions options_;
    LeafRank<Code, Count> tree_;      // the tree of the current fold
    std::vector<std::uint8_t> fold_;  // by place in the cell
    std::vector<Row> train_;
    std::vector<Row> held_out_;
    std::vector<std::int32_t> left_, right_;
    std::vector<double> worth_, gain_;
};

}  // namespace treerank
