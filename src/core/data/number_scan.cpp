#include "core/data/number_scan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

namespace treerank {

namespace {

constexpr std::size_t kRowsPerBlock = 4096;
constexpr std::size_t kBlocksPerTask = 4;

// Whether n consecutive values are all finite, that is, none has the largest exponent. Uses integer
// operations so that the loop is vectorised.
template <class Value>
bool all_finite(const Value* values, std::size_t n) {
    using Bits = std::conditional_t<sizeof(Value) == 8, std::uint64_t, std::uint32_t>;
    constexpr Bits exponent = std::bit_cast<Bits>(std::numeric_limits<Value>::infinity());
    Bits found = 0;
    for (std::size_t i = 0; i < n; ++i)
        found |= (std::bit_cast<Bits>(values[i]) & exponent) == exponent ? Bits{1} : Bits{0};
    return found == 0;
}

template <class Value>
void scan_column(const NumberMatrix<Value>& numbers, std::size_t column, std::size_t first,
                 std::size_t last, NumberScan& found) {
    for (std::size_t row = first; row < last; ++row) {
        const double value = numbers.at(row, column);
        if (std::isnan(value)) found.has_missing[column] = 1;
        found.has_infinite = found.has_infinite || std::isinf(value);
    }
}

// Looks at single values only if they are not contiguous or a quick test of all finds something.
template <class Value>
void scan_block(const NumberMatrix<Value>& numbers, std::size_t first, std::size_t last,
                NumberScan& found) {
    const auto row = static_cast<std::ptrdiff_t>(first);
    const auto p = static_cast<std::ptrdiff_t>(numbers.columns);
    if (numbers.column_stride == 1 && numbers.row_stride == p &&
        all_finite(numbers.data + row * p, (last - first) * numbers.columns))
        return;
    for (std::size_t column = 0; column < numbers.columns; ++column) {
        const auto at = row + static_cast<std::ptrdiff_t>(column) * numbers.column_stride;
        if (numbers.row_stride == 1 && all_finite(numbers.data + at, last - first)) continue;
        scan_column(numbers, column, first, last, found);
    }
}

}  // namespace

void NumberScan::take(const NumberScan& other) {
    for (std::size_t column = 0; column < has_missing.size(); ++column)
        has_missing[column] |= other.has_missing[column];
    has_infinite = has_infinite || other.has_infinite;
}

template <class Value>
NumberScan scan_numbers(const NumberMatrix<Value>& numbers, ThreadPool& pool) {
    const NumberScan nothing{std::vector<std::uint8_t>(numbers.columns), false};
    constexpr std::size_t size = kRowsPerBlock * kBlocksPerTask;
    std::vector<NumberScan> found((numbers.rows + size - 1) / size, nothing);
    run_blocks(pool, numbers.rows, size, [&](std::size_t begin, std::size_t end) {
        for (std::size_t first = begin; first < end; first += kRowsPerBlock)
            scan_block(numbers, first, std::min(end, first + kRowsPerBlock), found[begin / size]);
    });
    NumberScan whole = nothing;
    for (const NumberScan& some : found) whole.take(some);
    return whole;
}

template NumberScan scan_numbers(const NumberMatrix<double>&, ThreadPool&);
template NumberScan scan_numbers(const NumberMatrix<float>&, ThreadPool&);

}  // namespace treerank
