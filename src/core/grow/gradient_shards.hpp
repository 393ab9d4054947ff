// One shard of the rows, while a boosted tree is grown from sums over the shards: what
// SummedBoosting asks of each of them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/types.hpp"
#include "core/grow/gradient_squares.hpp"
#include "core/grow/slot_rows.hpp"
#include "core/histogram/gradient_histogram.hpp"

namespace treerank {

// The rows of a shard, by number; `weights` may be null for rows of weight 1.
template <class Code>
struct GradientShard {
    CodeMatrix<Code> codes;
    const RowGradient* gradients = nullptr;
    const std::int64_t* weights = nullptr;
};

// Histograms of some slots, one after another: the codes of the chosen features.
template <class Code>
std::vector<GradientSum> count_gradients(const GradientShard<Code>& shard, const RowState& placed,
                                         const std::vector<std::int32_t>& slots,
                                         const std::vector<std::int32_t>& n_codes,
                                         const std::vector<std::int32_t>& chosen);

// Squares of the gradients in some slots.
template <class Code>
std::vector<GradientSquares> sum_squares(const GradientShard<Code>& shard, const RowState& placed,
                                         const std::vector<std::int32_t>& slots, int shift);

}  // namespace treerank
