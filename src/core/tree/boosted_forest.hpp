// Boosting of two classes by the logistic loss: one tree after another, without leaving the core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/data/sampling.hpp"
#include "core/data/types.hpp"
#include "core/grow/boosting.hpp"
#include "core/tree/flat_tree.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

// Boosted trees, stored as a forest (see `ForestView`).
struct BoostedForest {
    std::vector<std::int64_t> starts{0};
    std::vector<Slot> slots;
    std::vector<float> step;
    std::vector<std::int32_t> set_of;  // empty without categories
    std::vector<CategorySet> category_sets;
    std::vector<double> importance;  // trees x features
    std::vector<float> left_share;

    std::size_t n_trees() const { return starts.size() - 1; }
    void add(const BoostedTree& tree);
};

// The scores, which are log-odds, and the labels (0 or 1) that they are fitted to.
struct LogisticFit {
    double* scores = nullptr;
    const std::uint8_t* labels = nullptr;
    int gradient_bits = kGradientBits;
    double scale = 1;  // units of weight per weight of 1
};

// The rows and features on which the trees of consecutive rounds are grown.
struct RoundDraws {
    Sampling rows;  // drawn by seed and number of the round; n_draws 0: all rows
    std::size_t first_round = 0;
    std::vector<std::vector<std::int32_t>> features;  // by round
};

// Grows a tree for each round and adds it to the forest and to the scores of all rows. Trees
// without a split are left out: other rows and features may have one. Returns false if nothing is
// left to learn. The codes are those of the rounds' table.
template <class Code>
bool boost_logistic(BoostingRounds& rounds, const CodeMatrix<Code>& codes, const LogisticFit& fit,
                    const RoundDraws& draws, BoostingOptions options, ThreadPool& pool,
                    BoostedForest& forest);

}  // namespace treerank
