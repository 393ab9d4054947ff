// Forests: trees on sampled rows, their values, and the scores of all rows.
#include "core/tree/attributions.hpp"
#include "core/tree/feature_sets.hpp"
#include "core/tree/forest.hpp"
#include "digest.hpp"
#include "random_table.hpp"

namespace treerank {

namespace {

ForestOptions options_of(TreeValue value, bool replace) {
    ForestOptions options;
    options.kinds.resize(2);
    for (TreeRankOptions& kind : options.kinds) {
        kind.max_depth = 4;
        kind.leafrank.max_depth = 3;
        kind.leafrank.max_features = 3;
        kind.seed = 5;
    }
    options.kinds[1].leafrank.random_cuts = true;
    options.kind_of = {0, 1, 0, 1, 0, 0};
    options.sampling = {replace, replace ? RandomTable::kRows : RandomTable::kRows / 2, 3};
    options.value = value;
    options.shrinkages = {0, 5};
    return options;
}

// The trees, concatenated for scoring; only the first layer and shrinkage.
struct Forest {
    std::vector<std::int64_t> starts{0};
    std::vector<Slot> slots;
    std::vector<float> step, weight;
    std::vector<double> left_share;
    std::vector<std::int32_t> set_of;
    std::vector<CategorySet> sets;

    explicit Forest(const std::vector<ForestTree>& trees) {
        for (const ForestTree& tree : trees) {
            const std::size_t n = tree.slots.size();
            for (std::size_t s = 0; s < n; ++s) {
                const bool tested = (tree.slots[s].next & kCategorical) != 0;
                slots.push_back(tree.slots[s]);
                step.push_back(tree.step[s]);
                weight.push_back(tree.weight[s]);
                left_share.push_back(tree.left_share[s]);
                set_of.push_back(tested ? tree.set_of[s] + static_cast<std::int32_t>(sets.size())
                                        : -1);
            }
            sets.insert(sets.end(), tree.category_sets.begin(), tree.category_sets.end());
            starts.push_back(static_cast<std::int64_t>(slots.size()));
        }
    }

    ForestView view() const {
        ForestView view;
        view.slots = slots.data();
        view.step = step.data();
        view.weight = weight.data();
        view.set_of = set_of.data();
        view.category_sets = sets.data();
        view.n_sets = sets.size();
        view.starts = starts.data();
        view.n_trees = starts.size() - 1;
        return view;
    }
};

template <class Code>
void add_scores(Digest& digest, const CodedTable<Code>& coded, const Forest& forest,
                const Sampling& sampling, ThreadPool& pool) {
    const std::size_t n = RandomTable::kRows;
    ForestView view = forest.view();
    std::vector<std::uint32_t> rows(n);
    for (std::uint32_t i = 0; i < n; ++i) rows[i] = i;
    const std::vector<float> lambdas{0, 1, 10};
    std::vector<double> sums(n * lambdas.size());
    std::vector<std::int32_t> n_trees(n);
    score_out_of_bag(view, coded.matrix(), {sampling, n, 0}, rows, lambdas, pool, sums.data(),
                     n_trees.data());
    digest.add(sums);
    digest.add(n_trees);
    std::vector<float> baked(forest.step.size()), each(n * view.n_trees);
    std::vector<std::uint8_t> at_end(view.n_trees);
    bake_shrinkage(view, 5, 1, pool, baked.data(), at_end.data());
    digest.add(baked);
    view.step = baked.data();
    view.weight = nullptr;
    view.at_end = at_end.data();
    sums.assign(n, 0);
    add_scores(view, coded.matrix(), pool, sums.data());
    digest.add(sums);
    score_each(view, coded.matrix(), pool, each.data());
    digest.add(each);
}

// Attributions by each of the methods that a tree can take.
template <class Code>
void add_attributions(Results& results, const std::string& name, const CodedTable<Code>& coded,
                      const ForestOptions& options) {
    results.add(name, [&](ThreadPool& pool) {
        ProgressMonitor monitor;
        const Forest trees(grow_forests(coded.table(false), {options}, pool, monitor)[0]);
        const std::vector<double> step(trees.step.begin(), trees.step.end());
        const std::vector<std::uint8_t> at_end(trees.starts.size() - 1, 0);
        AttributedForest forest{trees.view(), step.data(), trees.left_share.data()};
        forest.walks.at_end = at_end.data();
        Digest digest;
        for (const std::size_t max_paths : {std::size_t{1}, std::size_t{1} << 30}) {
            const Attributions found =
                attribute_paths(forest, coded.matrix(), {max_paths, 4, false}, pool);
            digest.add(found.values);
            digest.add(&found.expected, 1);
        }
        const std::size_t n = 20, p = coded.matrix().features;
        std::vector<double> values(n * p), pairs(n * p * p);
        for (std::size_t t = 0; t < at_end.size(); ++t)
            enumerate_sets(forest, t, coded.matrix(), 0, n, pool, values.data(), pairs.data());
        digest.add(values);
        digest.add(pairs);
        return digest;
    });
}

template <class Code>
void add_forest(Results& results, const std::string& name, const CodedTable<Code>& coded,
                const ForestOptions& options, bool weighted, bool scored) {
    results.add(name, [&](ThreadPool& pool) {
        ProgressMonitor monitor;
        const auto trees = grow_forests(coded.table(weighted), {options}, pool, monitor)[0];
        Digest digest;
        for (const ForestTree& tree : trees) {
            digest.add(tree.slots);
            digest.add(tree.step);
            digest.add(tree.weight);
            digest.add(tree.category_sets);
            digest.add(tree.importance);
        }
        if (scored) add_scores(digest, coded, Forest(trees), options.sampling, pool);
        return digest;
    });
}

}  // namespace

void add_forests(Results& results) {
    ThreadPool maker(1);
    const RandomTable two, three(3);
    const CodedTable<std::uint8_t> narrow(two, 200, maker), grades(three, 200, maker);
    const CodedTable<std::uint16_t> wide(two, 700, maker);
    for (const bool weighted : {false, true}) {
        const std::string end = weighted ? "-weighted" : "";
        add_forest(results, "forest-8" + end, narrow, options_of(TreeValue::kPath, true), weighted,
                   true);
        add_forest(results, "forest-16" + end, wide, options_of(TreeValue::kPath, false), weighted,
                   true);
    }
    add_forest(results, "forest-rank", narrow, options_of(TreeValue::kRank, true), false, false);
    add_forest(results, "forest-monotone", narrow, options_of(TreeValue::kMonotone, true), false,
               false);
    add_forest(results, "three-forest", grades, options_of(TreeValue::kPath, true), false, false);
    add_attributions(results, "attributions-8", narrow, options_of(TreeValue::kPath, true));
    add_attributions(results, "attributions-16", wide, options_of(TreeValue::kPath, false));
}

}  // namespace treerank
