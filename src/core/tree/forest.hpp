// Forests: many trees grown on resampled rows of one table, stored as slots with one number per
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

// The value that a tree gives to a row.
enum class TreeValue {
    kPath,      // the share of positives, accumulated along the path
    kRank,      // mid-rank of the row's stratum among the tree's own training rows, in (0, 1)
    kMonotone,  // share of positives in the stratum, pooled to decrease along the strata
};

// A tree as it is stored. A walk that arrives at slot s adds step[s] / (1 + lambda / weight[s]):
// step is the change in the share of positives, and weight is the weight of the parent node. Slots
// of merged cells are shared, so the sum depends on the whole path.
struct ForestTree {
    std::vector<Slot> slots;
    // Layers x slots, with one layer for each way to divide the ordered classes in two. For
    // kMonotone, all layers of each shrinkage, one after another.
    std::vector<float> step;
    // By slot; for kRank and kMonotone so large that shrinkage has no effect.
    std::vector<float> weight;
    std::vector<float> left_share;     // tests only: the share of the weight that goes left
    std::vector<std::int32_t> set_of;  // category set of each test; empty without categories
    std::vector<CategorySet> category_sets;
    std::vector<double> importance;  // by feature: sum of (Delta / 2)^2
};

struct ForestOptions {
    std::vector<TreeRankOptions> kinds;  // the kinds of trees
    std::vector<std::uint8_t> kind_of;   // by tree: its kind
    std::size_t first_tree = 0;          // index of the first tree; draws are keyed by it
    Sampling sampling;
    TreeValue value = TreeValue::kPath;
    std::vector<double> shrinkages;  // kMonotone only, along the cells: one set of values each
    double scale = 1;                // units of weight per weight of 1
};

// Grows kind_of.size() trees for each of the options, all at once, so that a few trees of each keep
// all threads busy. The result does not depend on the number of threads. Weights of the table are
// multiplied by the number of draws.
template <class Code>
std::vector<std::vector<ForestTree>> grow_forests(const Table<Code>& table,
                                                  const std::vector<ForestOptions>& options,
                                                  ThreadPool& pool, ProgressMonitor& monitor);

// Returns what a forest stores of a tree.
ForestTree keep_tree(const RankTree& tree, const ForestOptions& options, std::size_t n_features);

// The arrays of a forest; tree t is at [starts[t], starts[t + 1]).
struct ForestView {
    const Slot* slots = nullptr;
    const float* step = nullptr;
    const float* weight = nullptr;         // null: `step` is added as it is
    const std::int32_t* set_of = nullptr;  // null without categories
    const CategorySet* category_sets = nullptr;
    std::size_t n_sets = 0;
    const std::int64_t* starts = nullptr;
    const std::uint8_t* at_end = nullptr;  // by tree: only the slot at the end adds
    std::size_t n_trees = 0;
};

// One of its trees, with its slots numbered from 0. Arrays that the forest lacks are null.
struct TreeView {
    const Slot* slots;
    std::size_t n_slots;
    const float* step;
    const float* weight;
    const std::int32_t* set_of;
    const CategorySet* sets;
    bool at_end;

    TreeView(const ForestView& forest, std::size_t tree)
        : slots(forest.slots + forest.starts[tree]),
          n_slots(static_cast<std::size_t>(forest.starts[tree + 1] - forest.starts[tree])),
          step(of_tree(forest.step, forest, tree)),
          weight(of_tree(forest.weight, forest, tree)),
          set_of(of_tree(forest.set_of, forest, tree)),
          sets(forest.category_sets),
          at_end(forest.at_end != nullptr && forest.at_end[tree] != 0) {}

    bool is_end(std::size_t slot) const { return slots[slot].next == slot; }
    bool goes_left(std::size_t slot, std::uint16_t code) const {
        if (slots[slot].next & kCategorical) return sets[set_of[slot]].contains(code);
        return slots[slot].sends_left(code);
    }

  private:
    template <class Number>
    static const Number* of_tree(const Number* by_slot, const ForestView& forest,
                                 std::size_t tree) {
        return by_slot != nullptr ? by_slot + forest.starts[tree] : nullptr;
    }
};

// Whether every walk stays inside the arrays and terminates. `pool` may be null.
bool is_sound(const ForestView& forest, std::size_t n_features, ThreadPool* pool);

// Combines step and weight into one number per slot; all steps except those of the roots are first
// multiplied by `scale`. In a tree in which no slot has two predecessors, the end of each path gets
// the sum over the path (at_end = 1). Otherwise slots keep what they add, and at_end is 1 only if
// nothing is added before an end.
void bake_shrinkage(const ForestView& forest, double lambda, float scale, ThreadPool& pool,
                    float* step, std::uint8_t* at_end);

// Adds the sum over the trees to `scores`, row by row.
template <class Code>
void add_scores(const ForestView& forest, const CodeMatrix<Code>& codes, ThreadPool& pool,
                double* scores);
// The same for a forest that has not been validated; returns false if a row reaches an invalid
// slot. For a few rows this is faster than validating every slot first.
template <class Code>
bool add_scores_checked(const ForestView& forest, const CodeMatrix<Code>& codes, double* scores);
// Computes the value of each row in each tree (trees x rows).
template <class Code>
void score_each(const ForestView& forest, const CodeMatrix<Code>& codes, ThreadPool& pool,
                float* values);
// Finds the slot in which each row ends in each tree (trees x rows).
template <class Code>
void apply_each(const ForestView& forest, const CodeMatrix<Code>& codes, ThreadPool& pool,
                std::int32_t* slots);

inline constexpr std::size_t kMaxLambdas = 12;  // a whole number of vectors

// The codes are those of rows [first, first + codes.rows) out of all `n_all` rows that were drawn
// from, and the first of the trees is number `first_tree` of its forest.
struct DrawnFrom {
    Sampling sampling;
    std::size_t n_all = 0;
    std::size_t first = 0;
    std::size_t first_tree = 0;
};

// Computes for each of `rows` the sum over the trees that did not draw it, one per lambda, and the
// number of those trees. The root's share is left out: a sample without a row has fewer rows of its
// class, so the roots of just those trees would reveal the class, reversed.
template <class Code>
void score_out_of_bag(const ForestView& forest, const CodeMatrix<Code>& codes,
                      const DrawnFrom& drawn_from, const std::vector<std::uint32_t>& rows,
                      const std::vector<float>& lambdas, ThreadPool& pool, double* sums,
                      std::int32_t* n_trees);
// The same for one lambda, divided by feature (rows x features): each step is credited to the
// feature that is tested before it.
template <class Code>
void score_out_of_bag_by_feature(const ForestView& forest, const CodeMatrix<Code>& codes,
                                 const DrawnFrom& drawn_from,
                                 const std::vector<std::uint32_t>& rows, float lambda,
                                 ThreadPool& pool, double* sums, std::int32_t* n_trees);

}  // namespace treerank
