// Attributions: exact Shapley values, which distribute a score over the features.
//
// The game: the features in a set S follow the row; the others are averaged, by the training
// weights in the nodes (path-dependent) or over the rows of a baseline (interventional). A feature
// gets its mean contribution to the value over all orders in which features join S.
//
// Path-dependent values are summed along paths. For a feature on the path to an end, let o be 1 if
// the row passes all tests of the feature, else 0, and let z be the product of the shares of weight
// that these tests send along the path. If the feature joins S with probability t, it lets the row
// through with probability t o + (1 - t) z, and the Shapley value of feature i is the integral over
// t of (o_i - z_i) times the product over the other features (Owen's multilinear extension). The
// integrand is a polynomial, for which Gauss-Legendre quadrature is exact. At each quadrature node,
// a product is carried down the tree and sums are carried up, as in Linear TreeSHAP (Yu et al.,
// 2022).
//
// A slot of merged cells can be reached by several paths; each path is attributed separately. A
// tree with more than max_paths of them, or with a very long path, is attributed from its values
// for all sets of its features, if these are few. Otherwise it is estimated from contributions
// along randomly drawn orders, each order together with its reverse. The estimates, too, sum to the
// score.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/types.hpp"
#include "core/tree/forest.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

// Trees whose sum is attributed. A walk that arrives at a slot adds its step (in single precision,
// as scores are summed); if the tree's at_end is set, only the slot at the end of the walk adds its
// step.
struct AttributedForest {
    ForestView walks;                    // its `step` is not used
    const double* step = nullptr;        // by slot
    const double* left_share = nullptr;  // by slot, for path-dependent values
};

// One of these trees; the base of classes that walk it.
class AttributedTree {
  protected:
    AttributedTree(const AttributedForest& forest, std::size_t tree)
        : walks_(forest.walks, tree),
          step_(forest.step + forest.walks.starts[tree]),
          share_(forest.left_share + forest.walks.starts[tree]) {}

    const TreeView walks_;
    const double* step_;
    const double* share_;
};

// Returns the features that a tree tests, in ascending order.
std::vector<std::uint32_t> tested_features(const TreeView& tree);

// Returns the number of tests on the longest path of a tree.
std::size_t longest_path(const TreeView& tree);

// Paths are walked recursively, and some systems give a thread half a megabyte of stack.
inline constexpr std::size_t kMaxTestsOfPath = 1000;

struct AttributionOptions {
    std::size_t max_paths = 20000;  // of a tree, beyond which another method is used
    std::size_t n_orders = 8;       // drawn for each estimated tree, an even number
    bool interactions = false;      // pairs of features instead of single ones
};

// Sums over the trees: rows x features or, with interactions, rows x features x features.
// Interactions are halved off the diagonal, which has the remainder of each feature's attribution.
struct Attributions {
    std::vector<double> values;
    double expected = 0;
    bool exact = true;
};

template <class Code>
Attributions attribute_paths(const AttributedForest& forest, const CodeMatrix<Code>& codes,
                             const AttributionOptions& options, ThreadPool& pool);

template <class Code>
Attributions attribute_baseline(const AttributedForest& forest, const CodeMatrix<Code>& codes,
                                const CodeMatrix<Code>& baseline, const AttributionOptions& options,
                                ThreadPool& pool);

// Stores what the pairs leave of each feature's attribution on the diagonal, for rows [begin, end).
void fill_diagonals(std::size_t begin, std::size_t end, std::size_t n_features,
                    const double* features, double* pairs);

// Returns the number of paths through each tree that is to be estimated; infinite if doubles
// overflow.
std::vector<double> estimated_paths(const ForestView& forest, std::size_t max_paths);

}  // namespace treerank
