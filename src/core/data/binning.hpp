// Binning: maps numbers to codes, using thresholds that lie between values of the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/data/types.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

// A table of numbers in NumPy's layout: arbitrary strides (in elements), NaN for missing values.
template <class Value>
struct NumberMatrix {
    const Value* data = nullptr;
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::ptrdiff_t row_stride = 0;
    std::ptrdiff_t column_stride = 0;

    double at(std::size_t row, std::size_t column) const {
        return static_cast<double>(data[static_cast<std::ptrdiff_t>(row) * row_stride +
                                        static_cast<std::ptrdiff_t>(column) * column_stride]);
    }
};

// The thresholds are computed from all rows or, beyond `limit` rows, from the `limit` rows whose
// indices have the smallest hashes. Returns the bound that these hashes do not exceed. It depends
// only on the arguments, so any division of the rows into blocks gives the same sample.
std::uint64_t sample_bound(std::size_t n_rows, std::size_t limit);
// Returns which rows of a block are in the sample, counted from the first row of the block.
std::vector<std::uint32_t> sampled_rows(std::uint64_t first_row, std::size_t n_rows,
                                        std::uint64_t bound, ThreadPool& pool);

// Returns at most max_bins - 1 ascending thresholds per column. With few distinct values there is
// one threshold between each two neighbours; with many, bins have about equal weight, and a value
// heavy enough to fill a bin gets a bin of its own. `weights` (in units, by row) may be null.
template <class Value>
std::vector<std::vector<double>> find_thresholds(const NumberMatrix<Value>& numbers,
                                                 const std::vector<std::uint32_t>& sample,
                                                 const std::int64_t* weights, std::size_t max_bins,
                                                 ThreadPool& pool);

// Encodes all columns as codes[column * stride + row]: 0 for NaN, otherwise 1 plus the number of
// thresholds below the value.
template <class Value, class Code>
void encode(const NumberMatrix<Value>& numbers, const std::vector<std::vector<double>>& thresholds,
            Code* codes, std::size_t stride, ThreadPool& pool);

}  // namespace treerank
