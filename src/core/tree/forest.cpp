#include "core/tree/forest.hpp"

#include <algorithm>
#include <array>

#include "core/data/random.hpp"
#include "core/util/large_pages.hpp"

namespace treerank {

namespace {

constexpr float kNoParent = 1e30f;  // a weight so large that shrinkage has no effect

// The weights of all classes in a cell or a node, worst class first. Avoids allocations, because
// there are many nodes.
struct ClassWeights {
    std::array<double, kMaxClasses> of;
    std::size_t n = 0;

    ClassWeights() = default;
    ClassWeights(const double* first, std::size_t n_classes) : n(n_classes) {
        std::copy_n(first, n, of.begin());
    }
    explicit ClassWeights(ClassWeight weight) : n(2) {
        of[0] = weight.negative;
        of[1] = weight.positive;
    }
    const double* begin() const { return of.data(); }
    const double* end() const { return of.data() + n; }
    std::size_t size() const { return n; }
    double operator[](std::size_t k) const { return of[k]; }
};

double sum_of(const ClassWeights& weight) {
    double sum = 0;
    for (const double m : weight) sum += m;
    return sum;
}

// The share of the classes above class `layer`; with two classes, the share of positives.
double share_above(const ClassWeights& weight, std::size_t layer) {
    double above = 0;
    for (std::size_t k = weight.size() - 1; k > layer; --k) above += weight[k];
    return above / sum_of(weight);
}

ClassWeights cell_weight(const RankTree& tree, std::size_t cell) {
    const auto n = static_cast<std::size_t>(tree.n_classes);
    return {tree.cell_weight.data() + cell * n, n};
}

ClassWeights test_weight(const RankTree& tree, std::size_t test) {
    if (tree.n_classes == 2) return ClassWeights(tree.tests[test].weight);
    const auto n = static_cast<std::size_t>(tree.n_classes);
    return {tree.test_weight.data() + test * n, n};
}

// Sums (Delta / 2)^2 over the tests of each feature. Delta is relative to the tree's sample of the
// two classes that the cell's split separates.
std::vector<double> importance_of(const RankTree& tree, std::size_t n_features) {
    std::vector<double> importance(n_features);
    const ClassWeights total = cell_weight(tree, 0);
    for (const Cell& cell : tree.cells) {
        if (cell.left < 0) continue;
        const double pairs = total[cell.worse_class] * total[cell.better_class];
        for (std::int32_t t = cell.first_test; t < cell.last_test; ++t) {
            const LeafRankNode& node = tree.tests[t];
            if (node.left < 0) continue;
            const ClassWeight left = tree.tests[node.left].weight;
            const double delta =
                (node.weight.negative * left.positive - node.weight.positive * left.negative) /
                pairs;
            importance[node.condition.feature] += delta * delta / 4;
        }
    }
    return importance;
}

void keep_slots(FlatTree&& flat, ForestTree& kept) {
    kept.slots = std::move(flat.slots);
    if (flat.any_categorical) kept.set_of = std::move(flat.target);
    kept.category_sets = std::move(flat.category_sets);
}

void keep_flat(const RankTree& tree, FlatTree&& flat, ForestTree& kept) {
    for (const std::int32_t test : flat.test) {
        double share = 0;
        if (test >= 0)
            share =
                sum_of(test_weight(tree, tree.tests[test].left)) / sum_of(test_weight(tree, test));
        kept.left_share.push_back(static_cast<float>(share));
    }
    keep_slots(std::move(flat), kept);
}

double share_of(ClassWeight weight) { return weight.positive / weight.total(); }

// compile_path() for two classes. Each test is read once for everything that its slot and those of
// its children store, because trees of millions of nodes come from main memory.
ForestTree compile_two_classes(const RankTree& tree, double scale) {
    ForestTree kept;
    std::vector<std::int32_t> arrival;
    FlatTree flat = compile_tree(tree, nullptr, &arrival);
    const std::size_t n = flat.slots.size();
    for (std::vector<float>* values : {&kept.left_share, &kept.step, &kept.weight}) {
        reserve_large(*values, n);
        values->resize(n);
    }
    kept.step[0] = static_cast<float>(share_above(cell_weight(tree, 0), 0));
    kept.weight[0] = kNoParent;
    for (std::size_t s = 0; s < n; ++s) {
        if (flat.test[s] < 0) continue;
        const LeafRankNode& node = tree.tests[flat.test[s]];
        const ClassWeight left = tree.tests[node.left].weight,
                          right = tree.tests[node.right].weight;
        const double share = share_of(node.weight), total = node.weight.total();
        const std::size_t next = flat.slots[s].next & kNextMask;
        kept.left_share[s] = static_cast<float>(left.total() / total);
        kept.step[next] = static_cast<float>(share_of(left) - share);
        kept.step[next + 1] = static_cast<float>(share_of(right) - share);
        kept.weight[next] = kept.weight[next + 1] = static_cast<float>(total / scale);
    }
    keep_slots(std::move(flat), kept);
    return kept;
}

// The steps of a slot are the changes from the shares of its node's parent to those of the node,
// one layer after another.
ForestTree compile_path(const RankTree& tree, double scale) {
    if (tree.n_classes == 2) return compile_two_classes(tree, scale);
    ForestTree kept;
    std::vector<std::int32_t> arrival;
    keep_flat(tree, compile_tree(tree, nullptr, &arrival), kept);
    std::vector<std::int32_t> parent(tree.tests.size(), -1);
    for (std::size_t t = 0; t < tree.tests.size(); ++t) {
        if (tree.tests[t].left < 0) continue;
        parent[tree.tests[t].left] = parent[tree.tests[t].right] = static_cast<std::int32_t>(t);
    }
    const std::size_t n_layers = static_cast<std::size_t>(tree.n_classes) - 1, n = arrival.size();
    kept.step.resize(n_layers * n);
    for (std::size_t s = 0; s < n; ++s) {
        const std::int32_t test = arrival[s];
        const ClassWeights to = test < 0 ? cell_weight(tree, 0) : test_weight(tree, test);
        const ClassWeights from = test < 0 ? ClassWeights{} : test_weight(tree, parent[test]);
        for (std::size_t layer = 0; layer < n_layers; ++layer) {
            const double before = test < 0 ? 0.0 : share_above(from, layer);
            kept.step[layer * n + s] = static_cast<float>(share_above(to, layer) - before);
        }
        kept.weight.push_back(test < 0 ? kNoParent : static_cast<float>(sum_of(from) / scale));
    }
    return kept;
}

// Returns the leaf cells from left (best) to right.
std::vector<std::size_t> leaf_cells(const RankTree& tree) {
    std::vector<std::size_t> leaves;
    for (std::size_t c = 0; c < tree.cells.size(); ++c)
        if (tree.cells[c].left < 0) leaves.push_back(c);
    return leaves;
}

// Returns, for each leaf cell, the share of the tree's rows ranked below it, counting half of its
// own rows.
std::vector<double> mid_ranks(const RankTree& tree) {
    std::vector<double> rank(tree.cells.size());
    const double total = sum_of(cell_weight(tree, 0));
    double above = 0;
    for (const std::size_t cell : leaf_cells(tree)) {
        const double weight = sum_of(cell_weight(tree, cell));
        rank[cell] = 1 - (above + weight / 2) / total;
        above += weight;
    }
    return rank;
}

// Returns shares that are shrunk along the cells and then pooled (by weight) until they decrease
// along the strata: a tree whose order satisfies the constraints gets values that satisfy them.
std::vector<double> falling_shares(const RankTree& tree, std::size_t layer, double shrinkage,
                                   double scale) {
    std::vector<double> value(tree.cells.size());
    value[0] = share_above(cell_weight(tree, 0), layer);
    for (std::size_t c = 1; c < tree.cells.size(); ++c) {
        const auto parent = static_cast<std::size_t>(tree.cells[c].parent);
        const ClassWeights from = cell_weight(tree, parent);
        value[c] =
            value[parent] + (share_above(cell_weight(tree, c), layer) - share_above(from, layer)) /
                                (1 + shrinkage * scale / sum_of(from));
    }
    struct Block {
        double weight, sum;
        std::size_t n;
    };
    std::vector<Block> blocks;
    const auto leaves = leaf_cells(tree);
    for (const std::size_t cell : leaves) {
        const double weight = sum_of(cell_weight(tree, cell));
        blocks.push_back({weight, weight * value[cell], 1});
        while (blocks.size() > 1) {
            Block& before = blocks[blocks.size() - 2];
            const Block last = blocks.back();
            if (before.sum * last.weight >= last.sum * before.weight) break;
            before = {before.weight + last.weight, before.sum + last.sum, before.n + last.n};
            blocks.pop_back();
        }
    }
    std::size_t at = 0;
    for (const Block& block : blocks)
        for (std::size_t i = 0; i < block.n; ++i) value[leaves[at++]] = block.sum / block.weight;
    return value;
}

// The values of the cells, and of the root. A walk adds up to the former at its end.
struct StrataValues {
    std::vector<double> value;
    double root = 0;
};

// Compiles a tree with one value per cell; several sets of values are stored one after another.
ForestTree compile_strata(const RankTree& tree, const std::vector<StrataValues>& sets) {
    ForestTree kept;
    FlatTree flat = compile_tree(tree);
    const std::size_t n = flat.slots.size();
    for (const auto& [value, root] : sets) {
        for (std::size_t s = 0; s < n; ++s) {
            const bool is_end = flat.slots[s].next == s;
            kept.step.push_back(is_end ? static_cast<float>(value[flat.target[s]] - root) : 0.0f);
        }
        kept.step[kept.step.size() - n] += static_cast<float>(root);
    }
    kept.weight.assign(n, kNoParent);
    keep_flat(tree, std::move(flat), kept);
    return kept;
}

ForestTree compile_monotone(const RankTree& tree, const std::vector<double>& shrinkages,
                            double scale) {
    std::vector<StrataValues> sets;
    const ClassWeights root = cell_weight(tree, 0);
    for (const double shrinkage : shrinkages)
        for (std::size_t layer = 0; layer + 1 < root.size(); ++layer)
            sets.push_back(
                {falling_shares(tree, layer, shrinkage, scale), share_above(root, layer)});
    return compile_strata(tree, sets);
}

// Adds a row-major copy of the codes to the table, for small nodes. Empty if it would not help.
template <class Code>
std::vector<Code> copy_by_row(Table<Code>& table, ThreadPool& pool) {
    const CodeMatrix<Code>& codes = table.codes;
    const std::size_t n = codes.rows, p = codes.features;
    if (n * p * sizeof(Code) <= kCacheBytes || p == 1) return {};
    std::vector<Code> copy(n * p);
    constexpr std::size_t kBlock = 1024;
    run_blocks(pool, n, kBlock, [&](std::size_t first, std::size_t last) {
        for (std::size_t f = 0; f < p; ++f)
            for (std::size_t i = first; i < last; ++i) copy[i * p + f] = codes.column(f)[i];
    });
    table.by_row = {copy.data(), n, p, 1, p};
    return copy;
}

template <class Code>
RankTree grow_on_sample(const Table<Code>& table, const ForestOptions& options, std::size_t t,
                        ThreadPool* pool, ProgressMonitor& monitor) {
    const std::size_t n = table.codes.rows, number = options.first_tree + t;
    std::vector<std::uint8_t> counts;
    if (options.sampling.n_draws > 0) counts = draw_counts(options.sampling, number, n, 0, n);
    std::vector<Row> rows =
        rows_that_count(n, table.labels, counts.empty() ? nullptr : counts.data(), nullptr);
    const TreeRankOptions& kind = options.kinds[options.kind_of[t]];
    const std::uint64_t key = key_of(kind.seed, number);
    if (table.weights == nullptr)
        return grow_tree(table, std::move(rows), {key}, kind, pool, monitor);
    std::vector<std::int64_t> weights(table.weights, table.weights + n);
    for (std::size_t i = 0; i < counts.size(); ++i) weights[i] *= counts[i];
    Table<Code> weighted = table;
    weighted.weights = weights.data();
    return grow_tree(weighted, std::move(rows), {key}, kind, pool, monitor);
}

}  // namespace

ForestTree keep_tree(const RankTree& tree, const ForestOptions& options, std::size_t n_features) {
    ForestTree kept;
    if (options.value == TreeValue::kPath)
        kept = compile_path(tree, options.scale);
    else if (options.value == TreeValue::kRank)
        kept = compile_strata(tree, {{mid_ranks(tree), 0.0}});
    else
        kept = compile_monotone(tree, options.shrinkages, options.scale);
    kept.importance = importance_of(tree, n_features);
    return kept;
}

template <class Code>
std::vector<std::vector<ForestTree>> grow_forests(const Table<Code>& given,
                                                  const std::vector<ForestOptions>& options,
                                                  ThreadPool& pool, ProgressMonitor& monitor) {
    Table<Code> table = given;
    const std::vector<Code> by_row = copy_by_row(table, pool);
    struct Place {
        std::size_t forest, tree;
    };
    std::vector<Place> places;
    std::vector<std::vector<ForestTree>> trees(options.size());
    double work = 0;
    for (std::size_t f = 0; f < options.size(); ++f) {
        const Sampling& sampling = options[f].sampling;
        trees[f].resize(options[f].kind_of.size());
        for (std::size_t t = 0; t < trees[f].size(); ++t) places.push_back({f, t});
        work += static_cast<double>(trees[f].size()) * static_cast<double>(table.codes.rows) *
                (sampling.n_draws > 0 && sampling.replace ? 0.632 : 1.0);
    }
    monitor.expect(work);
    run_in_teams(pool, places.size(), [&](std::size_t i, ThreadPool* helpers) {
        const auto [f, t] = places[i];
        trees[f][t] = keep_tree(grow_on_sample(table, options[f], t, helpers, monitor), options[f],
                                table.features.size());
    });
    return trees;
}

#define TREERANK_FOR_CODE(Code)                                 \
    template std::vector<std::vector<ForestTree>> grow_forests( \
        const Table<Code>&, const std::vector<ForestOptions>&, ThreadPool&, ProgressMonitor&);
TREERANK_FOR_CODE(std::uint8_t)
TREERANK_FOR_CODE(std::uint16_t)
#undef TREERANK_FOR_CODE

}  // namespace treerank
