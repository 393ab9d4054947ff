// Forests: many trees grown on resampled rows of one table, kept as slots and one number a
// slot, and rows scored by the mean over the trees.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/sampling.hpp"
#include "core/data/types.hpp"
#include "core/grow/driver.hpp"
#include "core/tree/flat_tree.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

// What a tree says of a row that ends in it.
enum class TreeValue {
    kPath,      // the share of positives, accumulated step by step along the path
    kRank,      // mid-rank of the row's stratum among the tree's own training rows, in (0, 1)
    kMonotone,  // share of positives in the stratum, pooled to fall along the strata
};

// A tree as it is kept. Arriving at slot s adds step[s] / (1 + lambda / weight[s]): the change
// of the share of positives, and the weight of the node it is a change from. Slots of merged
// cells are shared, so what a path has added depends on the whole path.
struct ForestTree {
    std::vector<Slot> slots;
    // Layers x slots: one layer for each way to cut the classes in two; of kMonotone all layers
    // of each shrinkage, one after another.
    std::vector<float> step;
    // of kMonotone: one after another for each shrinkage
    std::vector<float> weight;
    std::vector<float> left_share;     // of a test: share of the weight that it sends left
    std::vector<std::int32_t> set_of;  // category set of a test; empty without categories
    std::vector<CategorySet> category_sets;
    std::vector<double> importance;  // by feature: sum of (Delta / 2)^2
};

struct ForestOptions {
    std::vector<TreeRankOptions> kinds;  // the kinds of trees ...
    std::vector<std::uint8_t> kind_of;   // ... and of which kind each is
    std::size_t first_tree = 0;          // number of the first tree, for draws
    Sampling sampling;
    TreeValue value = TreeValue::kPath;
    std::vector<double> shrinkages;  // of kMonotone, along the cells: one set of values each
    double scale = 1;                // units of weight to a weight of 1
};

// Grows kind_of.size() trees for each of the options, all at once, so that few trees of each keep
// all threads busy; the result does not depend on their number. Weights of the table are multiplied
// by the number of draws.
template <class Code>
std::vector<std::vector<ForestTree>> grow_forests(const Table<Code>& table,
                                                  const std::vector<ForestOptions>& options,
                                                  ThreadPool& pool, ProgressMonitor& monitor);

// What a forest keeps of a tree.
ForestTree keep_tree(const RankTree& tree, const ForestOptions& options, std::size_t n_features);

// A forest's arrays as they lie in memory, tree t in [starts[t], starts[t + 1]).
struct ForestView {
    const Slot* slots = nullptr;
    const float* step = nullptr;
    const float* weight = nullptr;         // null: `step` is what is added
    const std::int32_t* set_of = nullptr;  // null without categories
    const CategorySet* category_sets = nullptr;
    std::size_t n_sets = 0;
    const std::int64_t* starts = nullptr;
    const std::uint8_t* at_end = nullptr;  // by tree: only the slot at the end adds
    std::size_t n_trees = 0;
};

// `pool` may be null.
bool is_sound(const ForestView& forest, std::size_t n_features, ThreadPool* pool);

// Makes one number a slot of step and weight; all steps but those of the roots are multiplied by
// `scale` first. A tree in which no slot has two predecessors gets the sum of each path at its end
// (at_end = 1); the others keep what each slot adds.
void bake_shrinkage(const ForestView& forest, double lambda, float scale, ThreadPool& pool,
                    float* step, std::uint8_t* at_end);

// The sum over the trees, for each row.
template <class Code>
void score(const ForestView& forest, const CodeMatrix<Code>& codes, ThreadPool& pool, double* sums);
// The same of a forest that nobody has checked; false where a row comes to a slot that is not
// sound. For a few rows this is quicker than to look at every slot first.
template <class Code>
bool score_checked(const ForestView& forest, const CodeMatrix<Code>& codes, double* sums);
// The value in each tree: trees x rows.
template <class Code>
void score_each(const ForestView& forest, const CodeMatrix<Code>& codes, ThreadPool& pool,
                float* values);
// The slot in which each row ends, in each tree: trees x rows.
template <class Code>
void apply_each(const ForestView& forest, const CodeMatrix<Code>& codes, ThreadPool& pool,
                std::int32_t* slots);

inline constexpr std::size_t kMaxLambdas = 12;  // a whole number of vectors

// The codes are of the rows [first, first + codes.rows) of all that were drawn from.
struct DrawnFrom {
    Sampling sampling;
    std::size_t n_all = 0;
    std::size_t first = 0;
};

// For each of `rows` the sum over the trees that did not draw it, one for each lambda, and the
// number of those trees. The root's share is left out: a sample without a row has fewer of
// the row's class, so that the roots of just those trees would tell the class, reversed.
template <class Code>
void score_out_of_bag(const ForestView& forest, const CodeMatrix<Code>& codes,
                      const DrawnFrom& drawn_from, const std::vector<std::uint32_t>& rows,
                      const std::vector<float>& lambdas, ThreadPool& pool, ProgressMonitor& monitor,
                      double* sums, std::int32_t* n_trees);
// The same for one lambda, in parts: rows x features, each step added to the feature that is tested
// before it.
template <class Code>
void score_out_of_bag_by_feature(const ForestView& forest, const CodeMatrix<Code>& codes,
                                 const DrawnFrom& drawn_from,
                                 const std::vector<std::uint32_t>& rows, float lambda,
                                 ThreadPool& pool, double* sums, std::int32_t* n_trees);

}  // namespace treerank
