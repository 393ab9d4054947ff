#include "core/binning.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "core/random.hpp"

namespace treerank {

namespace {

constexpr std::size_t kRowsPerTask = 2048;
constexpr int kInterleaved = 8;

// Unsigned keys in the order of the doubles.
std::uint64_t key_of_double(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);  // -0.0 becomes 0.0
    return bits ^ ((bits >> 63) ? ~std::uint64_t{0} : std::uint64_t{1} << 63);
}
double double_of_key(std::uint64_t key) {
    return std::bit_cast<double>(key ^ ((key >> 63) ? std::uint64_t{1} << 63 : ~std::uint64_t{0}));
}

// Radix sort by the upper half (sign, exponent, 20 bits of mantissa), which tells
// nearly all values apart; the stretches that it cannot tell apart are sorted by
// comparison.
void sort_keys(std::vector<std::uint64_t>& keys) {
    constexpr int kBits = 11, kPasses = 3;
    constexpr std::size_t kBuckets = std::size_t{1} << kBits;
    std::vector<std::uint64_t> other(keys.size());
    std::vector<std::size_t> starts(kBuckets * kPasses);
    const auto digit = [](std::uint64_t key, int pass) {
        return (key >> (31 + pass * kBits)) & (kBuckets - 1);
    };
    for (const std::uint64_t key : keys)
        for (int pass = 0; pass < kPasses; ++pass) ++starts[pass * kBuckets + digit(key, pass)];
    for (int pass = 0; pass < kPasses; ++pass) {
        std::size_t* start = starts.data() + pass * kBuckets;
        if (!keys.empty() && start[digit(keys[0], pass)] == keys.size()) continue;
        for (std::size_t b = 0, sum = 0; b < kBuckets; ++b) sum += std::exchange(start[b], sum);
        for (const std::uint64_t key : keys) other[start[digit(key, pass)]++] = key;
        keys.swap(other);
    }
    for (std::size_t i = 0, end; i < keys.size(); i = end) {
        end = i + 1;
        while (end < keys.size() && keys[end] >> 31 == keys[i] >> 31) ++end;
        if (end - i > 1) std::sort(keys.begin() + i, keys.begin() + end);
    }
}

struct DistinctValues {
    std::vector<double> values;  // ascending
    std::vector<double> masses;

    void add(double value, double mass) {
        if (!values.empty() && values.back() == value) {
            masses.back() += mass;
        } else {
            values.push_back(value);
            masses.push_back(mass);
        }
    }
};

template <class Value>
DistinctValues distinct_values(const NumberMatrix<Value>& numbers, std::size_t column,
                               const std::vector<std::uint32_t>& sample,
                               const std::int64_t* weights) {
    DistinctValues distinct;
    if (weights == nullptr) {
        std::vector<std::uint64_t> keys;
        keys.reserve(sample.size());
        for (const std::uint32_t row : sample) {
            const double value = numbers.at(row, column);
            if (!std::isnan(value)) keys.push_back(key_of_double(value));
        }
        sort_keys(keys);
        for (const std::uint64_t key : keys) distinct.add(double_of_key(key), 1);
        return distinct;
    }
    std::vector<std::pair<double, std::int64_t>> pairs;
    pairs.reserve(sample.size());
    for (const std::uint32_t row : sample) {
        const double value = numbers.at(row, column) + 0.0;
        if (!std::isnan(value)) pairs.emplace_back(value, weights[row]);
    }
    std::sort(pairs.begin(), pairs.end());
    for (const auto& [value, weight] : pairs) distinct.add(value, static_cast<double>(weight));
    return distinct;
}

// A number t with low <= t < high, halfway where doubles allow.
double between(double low, double high) {
    const double middle = low / 2 + high / 2;
    return middle >= low && middle < high ? middle : low;
}

// Positions i such that a threshold lies between values i and i + 1.
std::vector<std::size_t> choose_boundaries(const DistinctValues& distinct, std::size_t max_bins) {
    const std::size_t n = distinct.values.size();
    std::vector<std::size_t> boundaries;
    if (n <= max_bins) {
        for (std::size_t i = 0; i + 1 < n; ++i) boundaries.push_back(i);
        return boundaries;
    }
    double total = 0;
    for (const double mass : distinct.masses) total += mass;
    // A value heavier than two bins gets one of its own; it may cut the light
    // values around it once more, hence the second bin that it is charged with.
    const double heavy = 2 * total / static_cast<double>(max_bins);
    double light_total = 0;
    std::size_t n_heavy = 0;
    for (const double mass : distinct.masses) {
        if (mass >= heavy)
            ++n_heavy;
        else
            light_total += mass;
    }
    const double light_bins = static_cast<double>(max_bins - std::min(2 * n_heavy, max_bins - 1));
    double cumulated = 0, bins_done = 0;
    for (std::size_t i = 0; i + 1 < n; ++i) {
        const bool is_heavy = distinct.masses[i] >= heavy;
        if (!is_heavy) cumulated += distinct.masses[i];
        const double bins = std::floor(cumulated * light_bins / light_total);
        if (is_heavy || distinct.masses[i + 1] >= heavy || bins > bins_done)
            boundaries.push_back(i);
        bins_done = std::max(bins, bins_done);
    }
    return boundaries;
}

// Number of thresholds below each of eight values. `table` is padded with +inf to
// a power of two, so that every search takes the same steps and none can stray.
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

std::vector<std::uint32_t> threshold_sample(std::size_t n_rows, std::size_t limit) {
    std::vector<std::uint32_t> sample;
    if (n_rows <= limit) {
        sample.resize(n_rows);
        for (std::size_t i = 0; i < n_rows; ++i) sample[i] = static_cast<std::uint32_t>(i);
        return sample;
    }
    std::vector<std::uint64_t> hashes(n_rows);
    for (std::size_t i = 0; i < n_rows; ++i) hashes[i] = mix(i);
    std::vector<std::uint64_t> sorted = hashes;
    std::nth_element(sorted.begin(), sorted.begin() + limit - 1, sorted.end());
    const std::uint64_t bound = sorted[limit - 1];
    for (std::size_t i = 0; i < n_rows; ++i)
        if (hashes[i] <= bound) sample.push_back(static_cast<std::uint32_t>(i));
    return sample;
}

template <class Value>
std::vector<double> find_thresholds(const NumberMatrix<Value>& numbers, std::size_t column,
                                    const std::vector<std::uint32_t>& sample,
                                    const std::int64_t* weights, std::size_t max_bins) {
    const DistinctValues distinct = distinct_values(numbers, column, sample, weights);
    std::vector<double> thresholds;
    for (const std::size_t i : choose_boundaries(distinct, max_bins))
        thresholds.push_back(between(distinct.values[i], distinct.values[i + 1]));
    return thresholds;
}

template <class Value, class Code>
void encode(const NumberMatrix<Value>& numbers, const std::vector<std::vector<double>>& thresholds,
            Code* codes, std::size_t stride, Team& team) {
    std::vector<std::vector<double>> tables;
    for (const auto& column : thresholds) tables.push_back(padded(column));
    const std::size_t tasks = (numbers.rows + kRowsPerTask - 1) / kRowsPerTask;
    team.run(tasks, [&](std::size_t t) {
        const std::size_t first = t * kRowsPerTask;
        const std::size_t last = std::min(numbers.rows, first + kRowsPerTask);
        for (std::size_t column = 0; column < numbers.columns; ++column)
            encode_block(numbers, column, first, last, tables[column], codes + column * stride);
    });
}

template <class Code>
std::vector<std::uint64_t> row_hashes(const CodeMatrix<Code>& codes, const std::uint8_t* labels,
                                      std::uint64_t seed) {
    std::vector<std::uint64_t> hashes(codes.rows);
    for (std::size_t row = 0; row < codes.rows; ++row) hashes[row] = key_of(seed, labels[row]);
    for (std::size_t f = 0; f < codes.features; ++f) {
        const Code* column = codes.column(f);
        for (std::size_t row = 0; row < codes.rows; ++row)
            hashes[row] = mix(hashes[row] ^ column[row]);
    }
    return hashes;
}

template std::vector<std::uint64_t> row_hashes(const CodeMatrix<std::uint8_t>&,
                                               const std::uint8_t*, std::uint64_t);
template std::vector<std::uint64_t> row_hashes(const CodeMatrix<std::uint16_t>&,
                                               const std::uint8_t*, std::uint64_t);

#define TREERANK_INSTANTIATE(Value)                                                              \
    template std::vector<double> find_thresholds(const NumberMatrix<Value>&, std::size_t,        \
                                                 const std::vector<std::uint32_t>&,              \
                                                 const std::int64_t*, std::size_t);              \
    template void encode(const NumberMatrix<Value>&, const std::vector<std::vector<double>>&,    \
                         std::uint8_t*, std::size_t, Team&);                                     \
    template void encode(const NumberMatrix<Value>&, const std::vector<std::vector<double>>&,    \
                         std::uint16_t*, std::size_t, Team&);
TREERANK_INSTANTIATE(double)
TREERANK_INSTANTIATE(float)
#undef TREERANK_INSTANTIATE

}  // namespace treerank
