// Boosting: ranking trees grown on the gradients of a loss instead of on labels.
//
// The tree has the structure of every ranking tree: a cell is split by a small LeafRank tree (its
// inner tree), whose leaves are ordered and merged into a better and a worse half. The gain of a
// cut is the Newton gain G^2 / (H + l2), where G and H are the sums of gradients and hessians. Both
// are fixed-point integers, so that sums do not depend on their order.
//
// Monotone constraints: each test of a constrained feature puts a bound between the values of its
// two sides, and each cell whose inner tree has such a test puts a bound between its two halves, of
// which the better is an upper set of the feature. Two rows that differ only in the feature are
// separated by such a test or in such a cell, so every tree, and the sum of trees, is monotone.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/data/row_view.hpp"
#include "core/data/types.hpp"
#include "core/histogram/gradient_histogram.hpp"
#include "core/split/newton_split.hpp"
#include "core/tree/flat_tree.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

struct BoostingOptions {
    std::int32_t max_depth = 2;       // of the ranking tree, in splits of cells
    std::int32_t max_leaf_nodes = 0;  // max strata (best-first growth); 0: level by level
    std::int32_t leafrank_depth = 2;  // of the LeafRank tree inside a cell
    std::int64_t min_weight_leaf = 1;
    double independent_weight = 1;  // units of weight per independent row, for noise estimates
    NewtonScale scale{1, 1, 0};     // of sums of gradients and hessians, with the L2 penalty
    double learning_rate = 1;
    bool by_stratum = true;  // one value per stratum; else one per LeafRank leaf in it
};

// A tree as it is stored: a walk that ends in slot s adds value[s].
struct BoostedTree {
    FlatTree flat;
    std::vector<float> value;
    std::vector<float> left_share;   // tests only: the share of the weight that goes left
    std::vector<double> importance;  // by feature: sum of the Newton gains
};

// The real value of the integer 1 in the gradients and hessians of a round; 0 if all of them are 0.
struct GradientUnits {
    double gradient = 0;
    double hessian = 0;
};

// Returns the real value of the integer 1 if the largest value takes `bits` bits: a power of two,
// or 0 if the largest value is 0.
double gradient_unit(double largest, int bits);

// The rounds of one fit: trees are grown one after another in the same buffers. Results do not
// depend on the pool.
class BoostingRounds {
  public:
    virtual ~BoostingRounds() = default;

    // Grows a tree on the current gradients, using the drawn rows (null: all) and the chosen
    // features.
    virtual BoostedTree grow(const std::vector<std::uint32_t>* drawn,
                             const std::vector<std::int32_t>& chosen,
                             const BoostingOptions& options, ThreadPool& pool) = 0;
    // Adds the values of the last tree to the scores of the rows that it was grown on, leaf by
    // leaf, so that no row has to walk through the tree.
    virtual void add_to(double* scores, ThreadPool& pool) const = 0;

    // Sets gradients and hessians from the first and second derivatives with respect to the scores,
    // rounded to integers of at most `bits` bits.
    void set_gradients(const double* first, const double* second, int bits, ThreadPool& pool);
    // The same for the binary logistic loss, where the score is the log-odds; labels are 0 or 1.
    void set_logistic_gradients(const double* scores, const std::uint8_t* labels, int bits,
                                ThreadPool& pool);
    // Whether some gradient and some hessian are not 0.
    bool has_gradients() const { return units_.gradient != 0 && units_.hessian != 0; }
    const GradientUnits& units() const { return units_; }

    RowRecords rows;  // the rows of the table with their gradients

  protected:
    explicit BoostingRounds(RowRecords&& records) : rows(std::move(records)) {}

  private:
    void round_gradients(std::size_t from, std::size_t n, const double* first,
                         const double* second);

    GradientUnits units_;
};

// The table, whose labels are not needed, must outlive the result. Without weights, every row has
// weight 1.
template <class Code>
std::unique_ptr<BoostingRounds> make_rounds(const Table<Code>& table, ThreadPool& pool);

}  // namespace treerank
