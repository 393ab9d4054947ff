// The sums that SummedBoosting requests from each shard of the rows while it grows a boosted tree.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/types.hpp"
#include "core/grow/gradient_squares.hpp"
#include "core/grow/slot_rows.hpp"
#include "core/histogram/gradient_histogram.hpp"

namespace treerank {

// The rows of a shard. `weights` may be null if all rows have weight 1.
template <class Code>
struct GradientShard {
    CodeMatrix<Code> codes;
    const RowGradient* gradients = nullptr;
    const std::int64_t* weights = nullptr;

    std::int64_t weight(std::size_t row) const { return weights != nullptr ? weights[row] : 1; }
};

// Returns the histograms of the given slots, concatenated. Each covers the chosen features.
template <class Code>
std::vector<GradientSum> count_gradients(const GradientShard<Code>& shard, const RowState& placed,
                                         const std::vector<std::int32_t>& slots,
                                         const std::vector<std::int32_t>& n_codes,
                                         const std::vector<std::int32_t>& chosen);

// Returns the sums of squared gradients of the given slots.
template <class Code>
std::vector<GradientSquares> sum_squares(const GradientShard<Code>& shard, const RowState& placed,
                                         const std::vector<std::int32_t>& slots, int shift);

}  // namespace treerank
