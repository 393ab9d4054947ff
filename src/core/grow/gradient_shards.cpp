#include "core/grow/gradient_shards.hpp"

namespace treerank {

template <class Code>
std::vector<GradientSum> count_gradients(const GradientShard<Code>& shard, const RowState& placed,
                                         const std::vector<std::int32_t>& slots,
                                         const std::vector<std::int32_t>& n_codes,
                                         const std::vector<std::int32_t>& chosen) {
    std::vector<GradientSum> sums(slots.size() * n_sums(n_codes, chosen)), of_rows;
    GradientSum* histogram = sums.data();
    for (const std::int32_t slot : slots) {
        const Row* rows = placed.begin(slot);
        const std::size_t n = placed.size(slot);
        of_rows.resize(n);
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint32_t row = row_id(rows[i]);
            of_rows[i] = WeightedGradientRows::make(shard.gradients[row], shard.weight(row));
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
        const Row* rows = placed.begin(slot);
        const std::size_t n = placed.size(slot);
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint32_t row = row_id(rows[i]);
            sum += GradientSquares::of_row(shard.gradients[row], shard.weight(row), shift);
        }
        squares.push_back(sum);
    }
    return squares;
}

#define TREERANK_INSTANTIATE(Code)                                                                 \
    template std::vector<GradientSum> count_gradients(                                             \
        const GradientShard<Code>&, const RowState&, const std::vector<std::int32_t>&,             \
        const std::vector<std::int32_t>&, const std::vector<std::int32_t>&);                       \
    template std::vector<GradientSquares> sum_squares(const GradientShard<Code>&, const RowState&, \
                                                      const std::vector<std::int32_t>&, int);
TREERANK_INSTANTIATE(std::uint8_t)
TREERANK_INSTANTIATE(std::uint16_t)
#undef TREERANK_INSTANTIATE

}  // namespace treerank
