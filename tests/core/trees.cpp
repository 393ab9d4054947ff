// Single trees: every criterion and option, with two classes and more; their pruning and scoring.
#include <map>
#include <string>

#include "core/prune/cost_complexity.hpp"
#include "core/prune/held_out_path.hpp"
#include "core/split/gain.hpp"
#include "core/tree/dependence.hpp"
#include "core/tree/flat_tree.hpp"
#include "digest.hpp"
#include "random_table.hpp"

namespace treerank {

namespace {

using Options = std::map<std::string, TreeRankOptions>;

TreeRankOptions small_tree() {
    TreeRankOptions options;
    options.max_depth = 5;
    options.min_weight_leaf = 4;
    options.min_weight_split = 8;
    options.leafrank.max_depth = 3;
    options.leafrank.min_weight_leaf = 2;
    options.leafrank.min_weight_split = 4;
    options.seed = 11;
    return options;
}

Options options_for_two_classes() {
    Options all;
    for (const char* name :
         {"gini", "entropy", "auc", "hellinger", "best-first", "drawn-in-cell", "drawn-in-node",
          "random-cuts", "pruned", "deep", "top-rows", "top-negatives"})
        all[name] = small_tree();
    all["entropy"].leafrank.criterion = Criterion::kEntropy;
    all["auc"].leafrank.criterion = Criterion::kAuc;
    all["hellinger"].leafrank.criterion = Criterion::kHellinger;
    all["best-first"].leafrank.max_leaf_nodes = 5;
    all["drawn-in-cell"].max_features = 3;
    all["drawn-in-node"].leafrank.max_features = 3;
    all["random-cuts"].leafrank.random_cuts = true;
    all["pruned"].leafrank.pruning = true;
    all["deep"].max_depth = -1;
    all["deep"].leafrank.max_depth = -1;
    // Deeper than the levels that are split below the top as well.
    for (const char* name : {"top-rows", "top-negatives"}) all[name].max_depth = 8;
    all["top-rows"].focus = {Focus::Of::kRows, 0, 0.1};
    all["top-negatives"].focus = {Focus::Of::kNegatives, 0.05, 0.2};
    return all;
}

Options options_for_grades() {
    Options all;
    for (const char* name : {"adjacent", "all-pairs", "local"}) all[name] = small_tree();
    all["all-pairs"].tournament = Tournament::kAll;
    all["local"].tournament_gain = TournamentGain::kLocal;
    return all;
}

template <class Code>
RankTree grow(const CodedTable<Code>& coded, const TreeRankOptions& options, bool weighted,
              ThreadPool& pool) {
    ProgressMonitor monitor;
    const std::uint8_t* repeats = weighted ? nullptr : coded.from.repeats.data();
    return grow_trees(coded.table(weighted), 1, repeats, options, pool, monitor)[0];
}

// Returns the shares of the classes above the first, above the second, ... in each cell.
std::vector<double> cut_shares(const std::vector<double>& weight, std::size_t n_classes) {
    std::vector<double> shares;
    for (std::size_t first = 0; first < weight.size(); first += n_classes) {
        double total = 0, below = 0;
        for (std::size_t k = 0; k < n_classes; ++k) total += weight[first + k];
        for (std::size_t k = 0; k + 1 < n_classes; ++k) {
            below += weight[first + k];
            shares.push_back((total - below) / total);
        }
    }
    return shares;
}

// Adds the nested subtrees, the cells of all rows, and partial dependence.
template <class Code>
void add_reading(Digest& digest, const CodedTable<Code>& coded, const RankTree& tree,
                 const Focus& focus, ThreadPool& pool) {
    const std::size_t n = tree.cells.size(), n_classes = coded.from.n_classes;
    std::vector<std::int32_t> left(n), right(n);
    std::vector<double> gain(n), value(n), penalty(50);
    std::vector<std::uint8_t> is_split(n);
    for (std::size_t c = 0; c < n; ++c) {
        left[c] = tree.cells[c].left;
        right[c] = tree.cells[c].right;
        gain[c] = tree.cells[c].auc_gain;
        is_split[c] = left[c] >= 0;
        const double* weight = tree.cell_weight.data() + c * n_classes;
        value[c] = weight[n_classes - 1] / (weight[0] + weight[n_classes - 1] + 1);
    }
    for (std::size_t k = 0; k < penalty.size(); ++k) penalty[k] = static_cast<double>(k) / 1024;
    const PruningSequence sequence =
        n_classes == 2
            ? cost_complexity(left.data(), right.data(), gain.data(), n)
            : vus_complexity(left.data(), right.data(), tree.cell_weight.data(), n, n_classes);
    digest.add(sequence.lambdas);
    digest.add(sequence.collapsed_at);
    digest.add(
        penalised_subtree(left.data(), right.data(), gain.data(), n, penalty.data(), penalty.size())
            .gain);
    const std::vector<double> share = cut_shares(tree.cell_weight, n_classes);
    const PathWorth path =
        held_out_paths({{left.data(), right.data(), sequence.collapsed_at.data(),
                         tree.cell_weight.data(), n, n_classes, sequence.lambdas.size()}},
                       {{value.data(), share.data(), 1}}, focus, pool)[0];
    digest.add(path.auc);
    digest.add(path.brier);
    const FlatTree flat = compile_tree(tree, is_split.data());
    digest.add(flat.slots);
    std::vector<std::int32_t> cells(RandomTable::kRows);
    apply(flat, coded.matrix(), pool, cells.data());
    digest.add(cells);
    digest.add(sum_over_rows(flat, coded.matrix(), nullptr, value.data(),
                             Varied{0, {1, 2, 3, 5, 8}}, Varied{6, {0, 1, 2, 3}}, pool));
}

template <class Code>
void add_for_codes(Results& results, const RandomTable& table, const Options& options,
                   std::size_t max_bins, const std::string& prefix) {
    ThreadPool maker(1);
    const CodedTable<Code> coded(table, max_bins, maker);
    const std::string bits = std::to_string(8 * sizeof(Code));
    results.add(prefix + "bins-" + bits, [&](ThreadPool& pool) {
        const CodedTable<Code> again(table, max_bins, pool);
        Digest digest;
        for (const auto& thresholds : again.thresholds) digest.add(thresholds);
        digest.add(again.codes);
        return digest;
    });
    for (const Options::value_type& named : options)
        for (const bool weighted : {false, true})
            results.add(prefix + named.first + "-" + bits + (weighted ? "-weighted" : ""),
                        [&](ThreadPool& pool) {
                            const RankTree tree = grow(coded, named.second, weighted, pool);
                            Digest digest;
                            add_tree(digest, tree);
                            add_reading(digest, coded, tree, named.second.focus, pool);
                            return digest;
                        });
}

// Soft labels: every row counts in all classes.
template <class Code>
void add_soft(Results& results, const RandomTable& table, const Options& options,
              const std::string& prefix) {
    ThreadPool maker(1);
    const CodedTable<Code> coded(table, 200, maker);
    for (const Options::value_type& named : options)
        results.add(prefix + named.first + "-soft", [&](ThreadPool& pool) {
            ProgressMonitor monitor;
            Table<Code> soft = coded.table(false);
            soft.soft = table.soft.data();
            Digest digest;
            add_tree(digest, grow_trees(soft, 1, nullptr, named.second, pool, monitor)[0]);
            return digest;
        });
}

// Missing values that are imputed with the mean of their cell, and monotone constraints.
void add_special(Results& results, const RandomTable& table) {
    ThreadPool maker(1);
    CodedTable<std::uint8_t> coded(table, 200, maker);
    const auto add_grown = [&](const std::string& name) {
        results.add(name, [&](ThreadPool& pool) {
            Digest digest;
            add_tree(digest, grow(coded, small_tree(), true, pool));
            return digest;
        });
    };
    coded.features.monotonic[0] = 1;
    coded.features.monotonic[1] = -1;
    add_grown("monotone");
    coded.features.monotonic.assign(coded.features.size(), 0);
    coded.features.code_mean.resize(coded.features.histogram_size());
    coded.features.code_upper.resize(coded.features.histogram_size());
    for (std::size_t f = 0; f < coded.thresholds.size(); ++f)
        for (std::size_t k = 0; k <= coded.thresholds[f].size(); ++k) {
            const std::vector<double>& cuts = coded.thresholds[f];
            const std::size_t at = coded.features.offset[f] + k + 1;
            coded.features.code_upper[at] = k < cuts.size() ? cuts[k] : 2;
            coded.features.code_mean[at] = k > 0 ? cuts[k - 1] + 0x1p-24 : -2;
        }
    add_grown("cell-mean");
}

}  // namespace

void add_trees(Results& results) {
    const RandomTable two, three(3), five(5);
    add_for_codes<std::uint8_t>(results, two, options_for_two_classes(), 200, "");
    add_for_codes<std::uint16_t>(results, two, options_for_two_classes(), 700, "");
    add_for_codes<std::uint8_t>(results, three, options_for_grades(), 200, "three-");
    add_for_codes<std::uint16_t>(results, five, options_for_grades(), 700, "five-");
    add_soft<std::uint8_t>(results, two, options_for_two_classes(), "");
    add_soft<std::uint16_t>(results, three, options_for_grades(), "three-");
    add_special(results, two);
}

}  // namespace treerank
