#include "core/tree/boosted_forest.hpp"

#include "core/tree/forest.hpp"

namespace treerank {

namespace {

template <class Value>
void append(std::vector<Value>& to, const std::vector<Value>& values) {
    to.insert(to.end(), values.begin(), values.end());
}

std::vector<std::uint32_t> draw_rows(const Sampling& sampling, std::size_t round, std::size_t n) {
    const std::vector<std::uint8_t> counts = draw_counts(sampling, round, n, 0, n);
    std::vector<std::uint32_t> rows;
    rows.reserve(sampling.n_draws);
    for (std::size_t row = 0; row < n; ++row)
        if (counts[row] > 0) rows.push_back(static_cast<std::uint32_t>(row));
    return rows;
}

// Adds the last tree of the forest to the scores of all rows.
template <class Code>
void add_last_tree(const BoostedForest& forest, const CodeMatrix<Code>& codes, ThreadPool& pool,
                   double* scores) {
    const std::uint8_t at_end = 1;
    const bool has_sets = !forest.set_of.empty();
    const ForestView last{forest.slots.data(),
                          forest.step.data(),
                          nullptr,
                          has_sets ? forest.set_of.data() : nullptr,
                          forest.category_sets.data(),
                          forest.category_sets.size(),
                          &forest.starts[forest.n_trees() - 1],
                          &at_end,
                          1};
    add_scores(last, codes, pool, scores);
}

}  // namespace

void BoostedForest::add(const BoostedTree& tree) {
    const auto first_set = static_cast<std::int32_t>(category_sets.size());
    const std::vector<Slot>& added = tree.flat.slots;
    if (!tree.flat.category_sets.empty() || !set_of.empty()) {
        set_of.resize(slots.size(), -1);  // trees before this one may have no sets
        for (std::size_t s = 0; s < added.size(); ++s)
            set_of.push_back(added[s].next & kCategorical ? first_set + tree.flat.target[s] : -1);
    }
    append(slots, added);
    append(step, tree.value);
    append(category_sets, tree.flat.category_sets);
    append(importance, tree.importance);
    append(left_share, tree.left_share);
    starts.push_back(static_cast<std::int64_t>(slots.size()));
}

template <class Code>
bool boost_logistic(BoostingRounds& rounds, const CodeMatrix<Code>& codes, const LogisticFit& fit,
                    const RoundDraws& draws, BoostingOptions options, ThreadPool& pool,
                    BoostedForest& forest) {
    const bool draws_rows = draws.rows.n_draws > 0;
    for (std::size_t i = 0; i < draws.features.size(); ++i) {
        rounds.set_logistic_gradients(fit.scores, fit.labels, fit.gradient_bits, pool);
        if (!rounds.has_gradients()) return false;
        options.scale.gradient_unit = rounds.units().gradient / fit.scale;
        options.scale.hessian_unit = rounds.units().hessian / fit.scale;
        std::vector<std::uint32_t> rows;
        if (draws_rows) rows = draw_rows(draws.rows, draws.first_round + i, codes.rows);
        const BoostedTree tree =
            rounds.grow(draws_rows ? &rows : nullptr, draws.features[i], options, pool);
        if (!draws_rows) rounds.add_to(fit.scores, pool);
        if (tree.flat.slots.size() == 1) continue;
        forest.add(tree);
        if (draws_rows) add_last_tree(forest, codes, pool, fit.scores);
    }
    return true;
}

template bool boost_logistic(BoostingRounds&, const CodeMatrix<std::uint8_t>&, const LogisticFit&,
                             const RoundDraws&, BoostingOptions, ThreadPool&, BoostedForest&);
template bool boost_logistic(BoostingRounds&, const CodeMatrix<std::uint16_t>&, const LogisticFit&,
                             const RoundDraws&, BoostingOptions, ThreadPool&, BoostedForest&);

}  // namespace treerank
