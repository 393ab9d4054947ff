// Partial dependence: one or two features run through a grid of codes while the others keep their
// values in the rows.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/types.hpp"
#include "core/tree/flat_tree.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

// A feature that runs through a grid. With feature -1 there is none, and the grid has one point.
struct Varied {
    std::int32_t feature = -1;
    std::vector<std::uint16_t> codes;
};
inline constexpr std::size_t kMaxGrid = 64;

// Returns, for each pair of grid codes, the sum over rows of weight times the value of the cell in
// which the row ends with these codes. `weights` may be null: all 1.
template <class Code>
std::vector<double> sum_over_rows(const FlatTree& tree, const CodeMatrix<Code>& codes,
                                  const double* weights, const double* cell_values,
                                  const Varied& first, const Varied& second, ThreadPool& pool);

}  // namespace treerank
