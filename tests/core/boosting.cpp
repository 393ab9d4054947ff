// Boosting: a few rounds on gradients that are rounded to integers.
#include "core/grow/boosting.hpp"

#include <stdexcept>

#include "core/grow/gradient_shards.hpp"
#include "core/grow/summed_boosting.hpp"
#include "digest.hpp"
#include "random_table.hpp"

namespace treerank {

namespace {

constexpr double kUnit = 0x1p-20;

// A sigmoid-shaped curve from 0 to 1 that needs no exponential.
RowGradient gradient_of(double score, std::uint8_t label) {
    const double share = 0.5 + 0.5 * score / (1 + (score < 0 ? -score : score));
    const auto rounded = [](double x) {
        return static_cast<std::int32_t>(x / kUnit + (x < 0 ? -0.5 : 0.5));
    };
    return {rounded(share - label), rounded(share * (1 - share) + 0x1p-10)};
}

void add_tree(Digest& digest, const BoostedTree& tree) {
    digest.add(tree.flat.slots);
    digest.add(tree.flat.target);
    digest.add(tree.flat.category_sets);
    digest.add(tree.value);
    digest.add(tree.importance);
}

double score_of(const BoostedTree& tree, const CodeMatrix<std::uint8_t>& codes, std::size_t row) {
    std::uint32_t at = 0;
    while (true) {
        const Slot slot = tree.flat.slots[at];
        const std::uint32_t next = slot.next & kNextMask;
        if (next == at) return tree.value[at];
        const std::uint8_t code = codes.column(slot.feature)[row];
        // If missing values go right, code 0 wraps around to the largest code.
        const int shift = (slot.next & kMissingRight) != 0 ? 1 : 0;
        bool left = static_cast<std::uint16_t>(code - shift) <= slot.cut;
        if ((slot.next & kCategorical) != 0)
            left = tree.flat.category_sets[tree.flat.target[at]].contains(code);
        at = next + (left ? 0 : 1);
    }
}

// Grows the tree from sums over two shards of the rows, with few histograms at a time.
BoostedTree grow_from_sums(const Table<std::uint8_t>& table,
                           const std::vector<RowGradient>& gradients,
                           const std::vector<std::uint32_t>& rows,
                           const std::vector<std::int32_t>& features,
                           const BoostingOptions& options, std::size_t histogram_bytes) {
    const GradientShard<std::uint8_t> shard{table.codes, gradients.data(), table.weights};
    std::vector<RowState> shards(2);
    std::int64_t weight = 0;
    for (const std::uint32_t row : rows) {
        shards[row % 3 == 0].rows.push_back(pack_row(row, false, 1));
        weight += table.weights != nullptr ? table.weights[row] : 1;
    }
    for (RowState& state : shards) state.starts.push_back(std::ssize(state.rows));
    SummedBoosting growth(table.features, features, options, weight, histogram_bytes);
    while (!growth.is_done()) {
        const BoostingRequest request = growth.request();
        std::vector<GradientSum> sums(request.wanted.size() * growth.histogram_size());
        std::vector<GradientSquares> squares(request.wanted.size());
        for (RowState& state : shards) {
            if (request.moves)
                state = step_rows(table.codes, state, request.steps, request.sets,
                                  static_cast<std::size_t>(request.n_slots));
            const auto counted =
                count_gradients(shard, state, request.wanted, table.features.n_codes, features);
            for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += counted[i];
            if (request.square_shift < 0) continue;
            const auto squared = sum_squares(shard, state, request.wanted, request.square_shift);
            for (std::size_t i = 0; i < squares.size(); ++i) squares[i] += squared[i];
        }
        growth.answer(sums.data(), squares.data());
    }
    return growth.compile();
}

void check_sums(const Table<std::uint8_t>& table, const BoostingRounds& rounds,
                const std::vector<std::uint32_t>& rows, const std::vector<std::int32_t>& features,
                const BoostingOptions& options, const BoostedTree& tree) {
    std::vector<RowGradient> gradients;
    for (std::size_t i = 0; i < table.codes.rows; ++i) gradients.push_back(rounds.rows.gradient(i));
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{1} << 24}) {
        Digest one, other;
        add_tree(one, tree);
        add_tree(other, grow_from_sums(table, gradients, rows, features, options, bytes));
        if (one.value() != other.value())
            throw std::logic_error("sums over shards give another tree");
    }
}

Digest boost(const CodedTable<std::uint8_t>& coded, const BoostingOptions& options, bool weighted,
             ThreadPool& pool) {
    const std::size_t n = RandomTable::kRows;
    Table<std::uint8_t> table;
    table.codes = coded.matrix();
    table.features = coded.features;
    table.weights = weighted ? coded.from.weights.data() : nullptr;
    std::vector<std::uint32_t> rows;
    for (std::uint32_t i = 0; i < n; ++i)
        if (i % 5 != 0) rows.push_back(i);
    std::vector<std::int32_t> features(coded.features.size());
    for (std::size_t f = 0; f < features.size(); ++f) features[f] = static_cast<std::int32_t>(f);
    std::vector<double> scores(n);
    const std::unique_ptr<BoostingRounds> rounds = make_rounds(table, pool);
    Digest digest;
    for (int round = 0; round < 6; ++round) {
        for (std::size_t i = 0; i < n; ++i)
            rounds->rows.set_gradient(i, gradient_of(scores[i], coded.from.labels[i]));
        const BoostedTree tree = rounds->grow(&rows, features, options, pool);
        add_tree(digest, tree);
        check_sums(table, *rounds, rows, features, options, tree);
        std::vector<double> moved = scores;
        for (std::size_t i = 0; i < n; ++i) scores[i] += score_of(tree, table.codes, i);
        rounds->add_to(moved.data(), pool);
        for (const std::uint32_t row : rows)
            if (moved[row] != scores[row])
                throw std::logic_error("adding leaf values differs from walking the rows");
    }
    digest.add(scores);
    return digest;
}

Digest boost_logistic(const CodedTable<std::uint8_t>& coded, BoostingOptions options,
                      ThreadPool& pool) {
    Table<std::uint8_t> table;
    table.codes = coded.matrix();
    table.features = coded.features;
    std::vector<std::int32_t> features(coded.features.size());
    for (std::size_t f = 0; f < features.size(); ++f) features[f] = static_cast<std::int32_t>(f);
    std::vector<std::uint8_t> labels;
    for (const std::uint8_t label : coded.from.labels) labels.push_back(label > 0);
    std::vector<double> scores(RandomTable::kRows);
    const std::unique_ptr<BoostingRounds> rounds = make_rounds(table, pool);
    Digest digest;
    for (int round = 0; round < 6; ++round) {
        rounds->set_logistic_gradients(scores.data(), labels.data(), 30, pool);
        options.scale.gradient_unit = rounds->units().gradient;
        options.scale.hessian_unit = rounds->units().hessian;
        add_tree(digest, rounds->grow(nullptr, features, options, pool));
        rounds->add_to(scores.data(), pool);
    }
    digest.add(scores);
    return digest;
}

}  // namespace

void add_boosting(Results& results) {
    ThreadPool maker(1);
    const RandomTable table;
    CodedTable<std::uint8_t> coded(table, 200, maker);
    BoostingOptions options;
    options.scale.gradient_unit = options.scale.hessian_unit = kUnit;
    options.learning_rate = 0.3;
    options.min_weight_leaf = 5;
    options.scale.l2 = 1;
    for (const bool by_stratum : {true, false})
        for (const bool weighted : {false, true}) {
            options.by_stratum = by_stratum;
            const std::string name = std::string("boosting") + (by_stratum ? "" : "-by-leaf") +
                                     (weighted ? "-weighted" : "");
            results.add(name,
                        [&](ThreadPool& pool) { return boost(coded, options, weighted, pool); });
        }
    options.leafrank_depth = 1;
    options.max_depth = 5;
    results.add("boosting-logistic",
                [&](ThreadPool& pool) { return boost_logistic(coded, options, pool); });
    options.leafrank_depth = options.max_depth = 2;
    coded.features.monotonic[0] = 1;
    results.add("boosting-monotone",
                [&](ThreadPool& pool) { return boost(coded, options, false, pool); });
    options.max_depth = 12;
    options.max_leaf_nodes = 9;
    results.add("boosting-best-first-monotone",
                [&](ThreadPool& pool) { return boost(coded, options, false, pool); });
    coded.features.monotonic[0] = 0;
    options.leafrank_depth = 1;
    results.add("boosting-best-first",
                [&](ThreadPool& pool) { return boost(coded, options, true, pool); });
}

}  // namespace treerank
