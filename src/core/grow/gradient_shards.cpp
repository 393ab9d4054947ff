#include "core/grow/gradient_shards.hpp"

#include <algorithm>
#include <numeric>

#include "core/data/partition.hpp"

namespace treerank {

namespace {

struct RowsOf {
    const Row* first;
    std::size_t n;
};

RowsOf rows_of(const RowState& placed, std::int32_t slot) {
    const std::int64_t first = placed.starts[slot], last = placed.starts[slot + 1];
    return {placed.rows.data() + first, static_cast<std::size_t>(last - first)};
}

// Some rows of a slot before, which all go to the same slot.
struct Moved {
    std::size_t first, n;
    std::int32_t to;
};

}  // namespace

template <class Code>
RowState step_boosted_rows(const CodeMatrix<Code>& codes, const RowState& placed,
                           const std::vector<BoostingStep>& steps,
                           const std::vector<CategorySet>& sets, std::size_t n_slots) {
    std::vector<Row> rows = placed.rows, scratch(rows.size());
    std::vector<Moved> moved;
    for (std::size_t s = 0; s < steps.size(); ++s) {
        const auto first = static_cast<std::size_t>(placed.starts[s]);
        const auto n = static_cast<std::size_t>(placed.starts[s + 1]) - first;
        const SplitCondition& test = steps[s].condition;
        std::size_t n_left = n;
        if (test.feature >= 0)
            n_left = partition_by_condition<Code, PackedCount>(
                test, test.categorical ? sets[test.cut] : CategorySet{}, codes, rows.data() + first,
                n, scratch.data(), nullptr);
        moved.push_back({first, n_left, steps[s].left});
        moved.push_back({first + n_left, n - n_left, steps[s].right});
    }
    std::erase_if(moved, [](const Moved& some) { return some.to == BoostingStep::kGone; });
    RowState next;
    next.starts.assign(n_slots + 1, 0);
    for (const Moved& some : moved) next.starts[some.to + 1] += static_cast<std::int64_t>(some.n);
    std::partial_sum(next.starts.begin(), next.starts.end(), next.starts.begin());
    next.rows.resize(static_cast<std::size_t>(next.starts.back()));
    std::vector<std::int64_t> end(next.starts.begin(), next.starts.end() - 1);
    for (const Moved& some : moved) {
        std::copy_n(rows.data() + some.first, some.n, next.rows.data() + end[some.to]);
        end[some.to] += static_cast<std::int64_t>(some.n);
    }
    return next;
}

template <class Code>
std::vector<GradientSum> count_gradients(const GradientShard<Code>& shard, const RowState& placed,
                                         const std::vector<std::int32_t>& slots,
                                         const std::vector<std::int32_t>& n_codes,
                                         const std::vector<std::int32_t>& chosen) {
    std::size_t size = 0;
    for (const std::int32_t feature : chosen) size += n_codes[feature];
    std::vector<GradientSum> sums(slots.size() * size), of_rows;
    GradientSum* histogram = sums.data();
    for (const std::int32_t slot : slots) {
        const auto [rows, n] = rows_of(placed, slot);
        of_rows.resize(n);
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint32_t row = row_id(rows[i]);
            const std::int64_t weight = shard.weights != nullptr ? shard.weights[row] : 1;
            const RowGradient& g = shard.gradients[row];
            of_rows[i] = {g.gradient * weight, g.hessian * weight, weight};
        }
        for (const std::int32_t feature : chosen) {
            const Code* column = shard.codes.column(feature);
            for (std::size_t i = 0; i < n; ++i) histogram[column[row_id(rows[i])]] += of_rows[i];
            histogram += n_codes[feature];
        }
    }
    return sums;
}

template <class Code>
std::vector<GradientSquares> sum_squares(const GradientShard<Code>& shard, const RowState& placed,
                                         const std::vector<std::int32_t>& slots, int shift) {
    std::vector<GradientSquares> squares;
    for (const std::int32_t slot : slots) {
        GradientSquares sum;
        const auto [rows, n] = rows_of(placed, slot);
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint32_t row = row_id(rows[i]);
            sum += GradientSquares::of_row(
                shard.gradients[row], shard.weights != nullptr ? shard.weights[row] : 1, shift);
        }
        squares.push_back(sum);
    }
    return squares;
}

#define TREERANK_INSTANTIATE(Code)                                                                 \
    template RowState step_boosted_rows(const CodeMatrix<Code>&, const RowState&,                  \
                                        const std::vector<BoostingStep>&,                          \
                                        const std::vector<CategorySet>&, std::size_t);             \
    template std::vector<GradientSum> count_gradients(                                             \
        const GradientShard<Code>&, const RowState&, const std::vector<std::int32_t>&,             \
        const std::vector<std::int32_t>&, const std::vector<std::int32_t>&);                       \
    template std::vector<GradientSquares> sum_squares(const GradientShard<Code>&, const RowState&, \
                                                      const std::vector<std::int32_t>&, int);
TREERANK_INSTANTIATE(std::uint8_t)
TREERANK_INSTANTIATE(std::uint16_t)
#undef TREERANK_INSTANTIATE

}  // namespace treerank
