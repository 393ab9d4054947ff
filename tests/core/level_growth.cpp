// Trees grown from sums over two parts of the rows, bit-identical to those grown from all rows
// together.
#include "core/grow/level_growth.hpp"

#include "core/grow/shard_rows.hpp"
#include "core/tree/flat_tree.hpp"
#include "digest.hpp"
#include "random_table.hpp"

namespace treerank {

namespace {

struct PartOfRows {
    CodeMatrix<std::uint8_t> codes;
    WeightedRows rows;
    std::vector<std::int32_t> cell_of_row;
    RowState placed;

    PartOfRows(const CodedTable<std::uint8_t>& coded, std::size_t first, std::size_t last)
        : codes(coded.matrix()), cell_of_row(last - first) {
        codes.data += first;
        codes.rows = last - first;
        rows.labels = coded.from.labels.data() + first;
        rows.n_classes = coded.from.n_classes;
        rows.units = coded.from.weights.data() + first;
    }

    void place(const RankTree& tree, const std::vector<TrialRoot>& roots, ThreadPool& pool) {
        apply(compile_tree(tree), codes, pool, cell_of_row.data());
        placed = place_rows(rows, cell_of_row, roots);
    }
};

using Parts = std::vector<PartOfRows>;

void give_histograms(LevelGrowth& growth, const Parts& parts, const Features& features) {
    const std::vector<std::int32_t>& wanted = growth.frontier().wanted();
    const std::size_t size = wanted.size() * features.histogram_size();
    std::vector<WideCount> sum(size);
    for (const PartOfRows& part : parts) {
        const auto counted =
            count_slots<WideCount>(part.codes, part.rows.units, part.placed, wanted, features);
        for (std::size_t i = 0; i < size; ++i) sum[i] += counted[i];
    }
    growth.frontier().give(sum.data(), wanted.size());
}

void finish(LevelGrowth& growth, const Parts& parts) {
    const GrownTrials trials = growth.grown_trials();
    if (growth.n_classes() == 2) return growth.finish_level({});
    std::vector<std::int64_t> sum(trials.nodes.size() * growth.n_classes());
    for (const PartOfRows& part : parts) {
        const auto weights = trial_weights(part.codes, part.rows, part.cell_of_row, trials);
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weights[i];
    }
    growth.finish_level(sum);
}

RankTree grow_from_parts(const CodedTable<std::uint8_t>& coded, const TreeRankOptions& options,
                         ThreadPool& pool) {
    const std::size_t n = RandomTable::kRows, third = n / 3;
    Weights total(coded.from.n_classes);
    for (std::size_t i = 0; i < n; ++i)
        total[coded.from.labels[i]] += static_cast<double>(coded.from.weights[i]);
    LevelGrowth growth(coded.features, options, total, key_of(options.seed, 0), 0, 1 << 24);
    Parts parts{{coded, 0, third}, {coded, third, n}};
    while (!growth.done()) {
        growth.start_level();
        for (PartOfRows& part : parts) part.place(growth.tree(), growth.frontier().roots(), pool);
        LeafRankFrontier& frontier = growth.frontier();
        while (frontier.n_slots() > 0) {
            give_histograms(growth, parts, coded.features);
            frontier.advance();
            for (PartOfRows& part : parts)
                part.placed = step_rows(part.codes, part.placed, frontier.steps(),
                                        frontier.step_sets(), frontier.n_step_slots());
        }
        finish(growth, parts);
    }
    return growth.tree();
}

}  // namespace

void add_level_growth(Results& results) {
    for (const std::size_t n_classes : {2, 3}) {
        ThreadPool maker(1);
        const RandomTable table(n_classes);
        const CodedTable<std::uint8_t> coded(table, 200, maker);
        TreeRankOptions options;
        options.max_depth = 5;
        options.leafrank.max_depth = 3;
        options.leafrank.min_weight_leaf = 500;
        options.min_weight_leaf = 1000;
        options.seed = 23;
        const auto together = [&](ThreadPool& pool) {
            ProgressMonitor monitor;
            return grow_trees(coded.table(true), 1, nullptr, options, pool, monitor)[0];
        };
        const std::string name = "level-growth-" + std::to_string(n_classes);
        results.add(name, [&](ThreadPool& pool) {
            Digest digest, expected;
            add_tree(digest, grow_from_parts(coded, options, pool));
            add_tree(expected, together(pool));
            if (digest.value() != expected.value())
                results.fail(name + " differs from the tree of all rows together");
            return digest;
        });
    }
}

}  // namespace treerank
