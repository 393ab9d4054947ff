// Boosting: one ranking tree grown on the gradients of a loss instead of on labels.
//
// The tree has the shape of every ranking tree: a cell is split by a small LeafRank tree
// whose leaves are put in order and merged into a better and a worse half. What a cut is
// worth is the Newton gain G^2 / (H + l2), G and H the sums of gradient and curvature.
// Both come as fixed-point integers, so that a sum does not depend on its order.
//
// A constrained feature: each test of it puts a bound between the values of its two sides, and
// each cell whose inner tree has such a test one between its two halves, of which the better is
// an upper set of the feature. Two rows that differ in the feature alone are told apart at such a
// test or in such a cell, so that every tree, and the sum of trees, is monotone.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/data/types.hpp"
#include "core/histogram/gradient_histogram.hpp"
#include "core/tree/flat_tree.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

struct BoostingOptions {
    std::int32_t max_depth = 2;       // of the ranking tree, in splits of cells
    std::int32_t max_leaf_nodes = 0;  // strata, the best cells split first; 0: depth by depth
    std::int32_t leafrank_depth = 2;  // of the tree inside a split
    std::int64_t min_weight_leaf = 1;
    double independent_weight = 1;  // units of weight that count as one row when chance is judged
    double l2 = 0;
    double gradient_unit = 1;  // what 1 stands for in a sum of gradients ...
    double hessian_unit = 1;   // ... and of curvatures
    double learning_rate = 1;
    bool by_stratum = true;  // one value per stratum; else one per leaf of the LeafRank trees in it
};

// A tree as it is kept: arriving at the end slot s of a walk adds value[s].
struct BoostedTree {
    FlatTree flat;
    std::vector<float> value;
    std::vector<float> left_share;   // of a test: share of the weight that it sends left
    std::vector<double> importance;  // by feature: sum of the Newton gains
};

template <class Code>
struct BoostingTable {
    CodeMatrix<Code> codes;
    Features features;
    const std::int64_t* weights = nullptr;  // null: every row counts once
};

// What 1 stands for in the gradients and curvatures of a round; 0 where all of them are 0.
struct GradientUnits {
    double gradient = 0;
    double hessian = 0;
};

// The rounds of one fit: trees are grown one after another in the same buffers. What comes of it
// does not depend on the pool.
class BoostingRounds {
  public:
    virtual ~BoostingRounds() = default;

    // Grows a tree on the gradients, on the drawn rows (null: all) and features.
    virtual BoostedTree grow(const std::vector<std::uint32_t>* drawn,
                             const std::vector<std::int32_t>& chosen,
                             const BoostingOptions& options, ThreadPool& pool) = 0;
    // Adds the last tree's values to the scores of the rows that it was grown on, leaf by leaf:
    // no row has to walk.
    virtual void add_to(double* scores, ThreadPool& pool) const = 0;

    // Sets the gradients from derivatives by the score of each row, rounded to whole numbers of
    // at most `bits` bits.
    void set_gradients(const double* first, const double* second, int bits, ThreadPool& pool);
    // The same for the logistic loss of two classes, the score being the log-odds; labels are 0 or
    // 1.
    void set_logistic_gradients(const double* scores, const std::uint8_t* labels, int bits,
                                ThreadPool& pool);
    // Whether the gradients and the curvatures set last have something that is not 0.
    bool has_gradients() const { return units_.gradient != 0 && units_.hessian != 0; }
    const GradientUnits& units() const { return units_; }

    RowRecords rows;  // of the table, with their gradients

  protected:
    explicit BoostingRounds(RowRecords&& records) : rows(std::move(records)) {}

  private:
    void round_gradients(std::size_t from, std::size_t n, const double* first,
                         const double* second);

    GradientUnits units_;
};

// The table, its features included, must outlive the rounds.
template <class Code>
std::unique_ptr<BoostingRounds> make_rounds(const BoostingTable<Code>& table, ThreadPool& pool);

}  // namespace treerank
