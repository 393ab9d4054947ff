#include "core/data/binning.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/data/random.hpp"

namespace treerank {

namespace {

constexpr std::size_t kRowsPerTask = 2048;
constexpr std::size_t kRowsPerSampling = 1 << 16;
constexpr int kInterleaved = 8;

// Counts the thresholds below each of eight values. `table` is padded with +inf to a power of two,
// so that all searches take the same number of steps and stay inside the table.
inline void search8(const double* table, std::uint32_t half, const double* values,
                    std::uint32_t* below) {
    for (int k = 0; k < kInterleaved; ++k) below[k] = 0;
    for (; half > 0; half /= 2)
        for (int k = 0; k < kInterleaved; ++k)
            below[k] += values[k] > table[below[k] + half - 1] ? half : 0;
}

std::vector<double> padded(const std::vector<double>& thresholds) {
    std::vector<double> table = thresholds;
    table.resize(std::bit_ceil(thresholds.size() + 1), std::numeric_limits<double>::infinity());
    return table;
}

template <class Value, class Code>
void encode_block(const NumberMatrix<Value>& numbers, std::size_t column, std::size_t first,
                  std::size_t last, const std::vector<double>& table, Code* out) {
    const auto half = static_cast<std::uint32_t>(table.size() / 2);
    for (std::size_t row = first; row < last; row += kInterleaved) {
        double values[kInterleaved];
        std::uint32_t below[kInterleaved];
        const std::size_t n = std::min<std::size_t>(kInterleaved, last - row);
        for (std::size_t k = 0; k < kInterleaved; ++k)
            values[k] = numbers.at(row + std::min(k, n - 1), column);
        search8(table.data(), half, values, below);
        for (std::size_t k = 0; k < n; ++k)
            out[row + k] = static_cast<Code>(std::isnan(values[k]) ? 0 : below[k] + 1);
    }
}

}  // namespace

// Hashes are uniform, so somewhat more than `limit` of them lie below a first guess, and only these
// are kept. Should they be too few after all, the margin is doubled.
std::uint64_t sample_bound(std::size_t n_rows, std::size_t limit) {
    constexpr std::uint64_t everything = std::numeric_limits<std::uint64_t>::max();
    if (n_rows <= limit) return everything;
    std::vector<std::uint64_t> hashes;
    for (double margin = 0.01;; margin *= 2) {
        const double share = static_cast<double>(limit) * (1 + margin) + 1000;
        const double guess = share / static_cast<double>(n_rows) * 0x1p64;
        const auto cut = guess < 0x1p63 ? static_cast<std::uint64_t>(guess) : everything;
        hashes.clear();
        for (std::size_t i = 0; i < n_rows; ++i)
            if (const std::uint64_t hash = mix(i); hash <= cut) hashes.push_back(hash);
        if (hashes.size() >= limit) break;
    }
    const auto last = hashes.begin() + static_cast<std::ptrdiff_t>(limit - 1);
    std::nth_element(hashes.begin(), last, hashes.end());
    return *last;
}

std::vector<std::uint32_t> sampled_rows(std::uint64_t first_row, std::size_t n_rows,
                                        std::uint64_t bound, ThreadPool& pool) {
    std::vector<std::vector<std::uint32_t>> found(n_rows / kRowsPerSampling + 1);
    run_blocks(pool, n_rows, kRowsPerSampling, [&](std::size_t first, std::size_t last) {
        std::vector<std::uint32_t>& some = found[first / kRowsPerSampling];
        for (std::size_t i = first; i < last; ++i)
            if (mix(first_row + i) <= bound) some.push_back(static_cast<std::uint32_t>(i));
    });
    std::vector<std::uint32_t> sample;
    for (const auto& some : found) sample.insert(sample.end(), some.begin(), some.end());
    return sample;
}

template <class Value, class Code>
void encode(const NumberMatrix<Value>& numbers, const std::vector<std::vector<double>>& thresholds,
            Code* codes, std::size_t stride, ThreadPool& pool) {
    std::vector<std::vector<double>> tables;
    for (const auto& column : thresholds) tables.push_back(padded(column));
    run_blocks(pool, numbers.rows, kRowsPerTask, [&](std::size_t first, std::size_t last) {
        for (std::size_t column = 0; column < numbers.columns; ++column)
            encode_block(numbers, column, first, last, tables[column], codes + column * stride);
    });
}

#define TREERANK_INSTANTIATE(Value)                                                           \
    template void encode(const NumberMatrix<Value>&, const std::vector<std::vector<double>>&, \
                         std::uint8_t*, std::size_t, ThreadPool&);                            \
    template void encode(const NumberMatrix<Value>&, const std::vector<std::vector<double>>&, \
                         std::uint16_t*, std::size_t, ThreadPool&);
TREERANK_INSTANTIATE(double)
TREERANK_INSTANTIATE(float)
#undef TREERANK_INSTANTIATE

}  // namespace treerank
