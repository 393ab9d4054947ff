// Binning: numbers to codes, by thresholds that lie between values of the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/data/types.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

// A table of numbers as NumPy has it: any strides (in elements), NaN is missing.
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

// The rows that decide the thresholds are all, or the `limit` rows whose numbers have the
// smallest hashes: those up to this bound. Depends on nothing else, so that any cut of the
// rows into blocks gives the same sample.
std::uint64_t sample_bound(std::size_t n_rows, std::size_t limit);
// Which rows of a block are in the sample, counted from the block's first row.
std::vector<std::uint32_t> sampled_rows(std::uint64_t first_row, std::size_t n_rows,
                                        std::uint64_t bound, ThreadPool& pool);

// At most max_bins - 1 thresholds for each column, ascending. Few distinct values:
// one between each two neighbours. Many: bins of about equal weight, values that
// fill a bin on their own keeping it. `weights` (units, by row) may be null.
template <class Value>
std::vector<std::vector<double>> find_thresholds(const NumberMatrix<Value>& numbers,
                                                 const std::vector<std::uint32_t>& sample,
                                                 const std::int64_t* weights, std::size_t max_bins,
                                                 ThreadPool& pool);

// Codes of all columns: codes[column * stride + row]; 0 for NaN, else i + 1 with
// i the number of thresholds below the value.
template <class Value, class Code>
void encode(const NumberMatrix<Value>& numbers, const std::vector<std::vector<double>>& thresholds,
            Code* codes, std::size_t stride, ThreadPool& pool);

}  // namespace treerank
