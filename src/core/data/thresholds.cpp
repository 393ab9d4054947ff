// Finds the thresholds of a column without sorting it: values are distributed over ascending
// ranges, and only the ranges that may contain a threshold are divided further.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "core/data/binning.hpp"

namespace treerank {

namespace {

constexpr std::size_t kRowsPerTask = 4096;
constexpr std::size_t kRowsInCache = 128;  // rows gathered for one column before the next
constexpr std::size_t kColumnsAtOnce = 4;  // half a cache line; more would cost more page faults
constexpr std::size_t kMaxColumnsAtOnce = 32;
constexpr std::size_t kSortBelow = 64;       // a range this small is sorted directly
constexpr std::size_t kFewValuesPerBin = 4;  // up to here, all distinct values are listed
constexpr int kBucketBits = 5;               // a bucket should hold 2^5 values
constexpr int kFewBits = 9;                  // 2^9 buckets fit on the stack
constexpr int kMaxBits = 16;
constexpr std::uint64_t kNoValue = std::numeric_limits<std::uint64_t>::max();

// Returns an unsigned key that sorts like the double; kNoValue for NaN.
std::uint64_t key_of_double(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);  // -0.0 becomes 0.0
    const auto sign = static_cast<std::uint64_t>(static_cast<std::int64_t>(bits) >> 63);
    const std::uint64_t key = bits ^ (sign | std::uint64_t{1} << 63);
    return value == value ? key : kNoValue;
}
double double_of_key(std::uint64_t key) {
    return std::bit_cast<double>(key ^ ((key >> 63) ? std::uint64_t{1} << 63 : ~std::uint64_t{0}));
}

// A value of the column: its key, with or without a weight.
struct PlainValue {
    std::uint64_t key;
};
struct WeightedValue {
    std::uint64_t key;
    std::int64_t weight;
};
double weight_of(const PlainValue*, std::size_t n) { return static_cast<double>(n); }
double weight_of(const WeightedValue* values, std::size_t n) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += values[i].weight;
    return static_cast<double>(sum);
}

// A group of values of the column, in no particular order. All values of one range are below all
// values of the next.
template <class Value>
struct Range {
    Value* values;
    Value* spare;  // a buffer of the same size
    std::size_t n;
    double weight;
    bool one_value;  // known to have one distinct value: cannot be divided

    std::size_t n_lowest;   // the lowest value is among the first n_lowest
    std::size_t n_highest;  // the highest value is among the last n_highest

    void append(const Range& next) {
        n += next.n;
        weight += next.weight;
        one_value = false;
        n_highest = next.n_highest;
    }
    double lowest() const {
        std::uint64_t key = values[0].key;
        for (std::size_t i = 1; i < n_lowest; ++i) key = std::min(key, values[i].key);
        return double_of_key(key);
    }
    double highest() const {
        std::uint64_t key = values[n - 1].key;
        for (std::size_t i = n - n_highest; i < n - 1; ++i) key = std::max(key, values[i].key);
        return double_of_key(key);
    }
};

template <class Value>
using Ranges = std::vector<Range<Value>>;

template <class Value>
Range<Value> make_range(Value* values, Value* spare, std::size_t n, bool one_value) {
    return {values, spare, n, weight_of(values, n), one_value, n, n};
}

// Sorts a range and calls visit(part) for each distinct value, in ascending order.
template <class Value, class Visit>
void sort_range(const Range<Value>& whole, Visit& visit) {
    const auto less = [](const Value& a, const Value& b) { return a.key < b.key; };
    std::sort(whole.values, whole.values + whole.n, less);
    for (std::size_t first = 0, end; first < whole.n; first = end) {
        end = first + 1;
        while (end < whole.n && whole.values[end].key == whole.values[first].key) ++end;
        visit(make_range(whole.values + first, whole.spare + first, end - first, true));
    }
}

// Distributes a range over buckets by the highest bits in which its values differ, and calls
// visit(part) for each bucket that is not empty. The parts have values and spare buffer swapped.
// `ends` has one counter per bucket.
template <class Value, class Visit>
void partition_range(const Range<Value>& whole, std::uint64_t differing, int bits,
                     std::uint32_t* ends, Visit& visit) {
    const int shift = std::max(static_cast<int>(std::bit_width(differing)) - bits, 0);
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    std::fill_n(ends, mask + 1, 0);
    for (std::size_t i = 0; i < whole.n; ++i) ++ends[(whole.values[i].key >> shift) & mask];
    std::uint32_t sum = 0;
    for (std::uint64_t b = 0; b <= mask; ++b) sum += std::exchange(ends[b], sum);
    for (std::size_t i = 0; i < whole.n; ++i) {
        const Value value = whole.values[i];
        whole.spare[ends[(value.key >> shift) & mask]++] = value;
    }
    std::uint32_t first = 0;
    for (std::uint64_t b = 0; b <= mask; ++b) {
        const std::uint32_t n = ends[b] - first;
        if (n == 0) continue;
        visit(make_range(whole.spare + first, whole.values + first, n, shift == 0 || n == 1));
        first = ends[b];
    }
}

// Divides a range and calls visit(part) for each part. A range of equal values is passed on
// undivided.
template <class Value, class Visit>
void cut_range(const Range<Value>& whole, Visit& visit) {
    if (whole.n <= kSortBelow) return sort_range(whole, visit);
    std::uint64_t differing = 0;
    for (std::size_t i = 0; i < whole.n; ++i)
        differing |= whole.values[i].key ^ whole.values[0].key;
    if (differing == 0) return visit(make_range(whole.values, whole.spare, whole.n, true));
    const int bits = static_cast<int>(std::bit_width(whole.n)) - kBucketBits;
    if (bits <= kFewBits) {
        std::uint32_t ends[std::size_t{1} << kFewBits];
        return partition_range(whole, differing, bits, ends, visit);
    }
    std::vector<std::uint32_t> ends(std::size_t{1} << std::min(bits, kMaxBits));
    partition_range(whole, differing, std::min(bits, kMaxBits), ends.data(), visit);
}

// Divides a range for which `wanted` holds, and its parts recursively, as far as possible. The
// remaining ranges are passed to `keep`. Both functions see ranges in ascending order.
template <class Value, class Wanted, class Keep>
void refine(const Range<Value>& range, const Wanted& wanted, const Keep& keep) {
    if (range.one_value || !wanted(range)) return keep(range);
    const auto visit = [&](const Range<Value>& part) { refine(part, wanted, keep); };
    cut_range(range, visit);
}

// How the weight is distributed over the bins. A value as heavy as two bins or more gets a bin of
// its own. It may separate the light values around it once more, so it is charged with a second
// bin.
struct Shares {
    double heavy = 0;
    double light_total = 0;
    double light_bins = 0;

    double bins(double cumulated) const { return std::floor(cumulated * light_bins / light_total); }
    // Whether bins(cumulated) > done; usually decided without a division.
    bool bins_exceed(double done, double cumulated) const {
        const bool close = cumulated * light_bins >= (done + 1) * light_total * (1 - 1e-9);
        return close && bins(cumulated) > done;
    }
};

template <class Value>
Shares share_out(const Ranges<Value>& ranges, std::size_t max_bins) {
    double total = 0;
    for (const auto& range : ranges) total += range.weight;
    Shares shares;
    shares.heavy = 2 * total / static_cast<double>(max_bins);
    std::size_t n_heavy = 0;
    for (const auto& range : ranges) {
        if (range.weight >= shares.heavy)
            ++n_heavy;
        else
            shares.light_total += range.weight;
    }
    shares.light_bins = static_cast<double>(max_bins - std::min(2 * n_heavy, max_bins - 1));
    return shares;
}

// Returns the positions i such that a threshold lies between ranges i and i + 1.
template <class Value>
std::vector<std::size_t> choose_boundaries(const Ranges<Value>& ranges, std::size_t max_bins) {
    const std::size_t n = ranges.size();
    std::vector<std::size_t> boundaries;
    if (n <= max_bins) {
        for (std::size_t i = 0; i + 1 < n; ++i) boundaries.push_back(i);
        return boundaries;
    }
    const Shares shares = share_out(ranges, max_bins);
    double cumulated = 0, bins_done = 0;
    for (std::size_t i = 0; i + 1 < n; ++i) {
        const bool is_heavy = ranges[i].weight >= shares.heavy;
        if (!is_heavy) cumulated += ranges[i].weight;
        const double bins = shares.bins(cumulated);
        if (is_heavy || ranges[i + 1].weight >= shares.heavy || bins > bins_done)
            boundaries.push_back(i);
        bins_done = std::max(bins, bins_done);
    }
    return boundaries;
}

// set_heavy_apart and cut_at_boundaries divide a column just finely enough for choose_boundaries to
// find the boundaries that it would find among the distinct values. First, values that may be heavy
// are set apart.
template <class Value>
Ranges<Value> set_heavy_apart(const Range<Value>& column, std::size_t max_bins) {
    Ranges<Value> ranges;
    const double heavy = 2 * column.weight / static_cast<double>(max_bins);
    refine(
        column, [&](const auto& range) { return range.weight >= heavy; },
        [&](const auto& range) { ranges.push_back(range); });
    return ranges;
}

// Then each range with a boundary inside is divided. Its parts between two boundaries are joined
// again: together they weigh less than a bin, so they are not mistaken for a heavy value.
template <class Value>
Ranges<Value> cut_at_boundaries(const Ranges<Value>& ranges, std::size_t max_bins) {
    const Shares shares = share_out(ranges, max_bins);
    double cumulated = 0, bins_done = 0;
    bool may_join = false;
    Ranges<Value> finer;
    const auto holds_boundary = [&](const auto& range) {
        return shares.bins_exceed(bins_done, cumulated + range.weight);
    };
    const auto keep = [&](const auto& range) {
        const bool light = range.weight < shares.heavy;
        if (light) cumulated += range.weight;
        const bool boundary = !light || shares.bins_exceed(bins_done, cumulated);
        if (boundary) bins_done = std::max(shares.bins(cumulated), bins_done);
        if (may_join && !boundary && finer.back().values + finer.back().n == range.values)
            finer.back().append(range);
        else
            finer.push_back(range);
        may_join = !boundary;
    };
    for (const auto& range : ranges) refine(range, holds_boundary, keep);
    return finer;
}

template <class Value>
Ranges<Value> ranges_of(const Range<Value>& column, std::size_t max_bins) {
    Ranges<Value> ranges{column};
    if (column.n > kFewValuesPerBin * max_bins)
        ranges = cut_at_boundaries(set_heavy_apart(column, max_bins), max_bins);
    if (ranges.size() > max_bins) return ranges;
    Ranges<Value> finest;  // few values: each may get a bin of its own
    for (const auto& range : ranges)
        refine(
            range, [](const auto&) { return true; },
            [&](const auto& value) { finest.push_back(value); });
    return finest;
}

// Returns t with low <= t < high, the midpoint if doubles allow.
double between(double low, double high) {
    const double middle = low / 2 + high / 2;
    return middle >= low && middle < high ? middle : low;
}

template <class Value>
std::vector<double> thresholds_of(Value* values, Value* spare, std::size_t n,
                                  std::size_t max_bins) {
    std::vector<double> thresholds;
    if (n == 0) return thresholds;
    const Ranges<Value> ranges = ranges_of(make_range(values, spare, n, false), max_bins);
    for (const std::size_t i : choose_boundaries(ranges, max_bins))
        thresholds.push_back(between(ranges[i].highest(), ranges[i + 1].lowest()));
    return thresholds;
}

// Buffers are left uninitialised: the thread that first writes to a page pays for the page fault.
template <class Value>
using Buffer = std::unique_ptr<Value[]>;
template <class Value>
Value* ensure(Buffer<Value>& buffer, std::size_t n) {
    if (!buffer) buffer = std::make_unique_for_overwrite<Value[]>(n);
    return buffer.get();
}

// Buffers for one column, reused for the next.
struct ColumnBuffers {
    Buffer<PlainValue> spare;
    Buffer<WeightedValue> weighted, weighted_spare;
};

std::vector<double> thresholds_of_column(PlainValue* column,
                                         const std::vector<std::uint32_t>& sample,
                                         const std::int64_t* weights, std::size_t max_bins,
                                         ColumnBuffers& buffers) {
    std::size_t n = 0;
    if (weights == nullptr) {
        while (n < sample.size() && column[n].key != kNoValue) ++n;
        for (std::size_t i = n; i < sample.size(); ++i) {
            column[n] = column[i];
            n += column[i].key != kNoValue;
        }
        return thresholds_of(column, ensure(buffers.spare, sample.size()), n, max_bins);
    }
    WeightedValue* weighted = ensure(buffers.weighted, sample.size());
    for (std::size_t i = 0; i < sample.size(); ++i) {
        weighted[n] = {column[i].key, weights[sample[i]]};
        n += column[i].key != kNoValue;
    }
    return thresholds_of(weighted, ensure(buffers.weighted_spare, sample.size()), n, max_bins);
}

// Gathers the keys of neighbouring columns together: in a row-major table they share cache lines.
template <class Number>
void gather(const NumberMatrix<Number>& numbers, std::size_t first_column,
            const std::vector<std::uint32_t>& sample, std::vector<Buffer<PlainValue>>& columns,
            std::size_t n_columns, ThreadPool& pool) {
    for (std::size_t c = 0; c < n_columns; ++c) ensure(columns[c], sample.size());
    run_blocks(pool, sample.size(), kRowsPerTask, [&](std::size_t begin, std::size_t end) {
        for (std::size_t first = begin; first < end; first += kRowsInCache) {
            const std::size_t last = std::min(end, first + kRowsInCache);
            for (std::size_t c = 0; c < n_columns; ++c) {
                PlainValue* keys = columns[c].get();
                for (std::size_t i = first; i < last; ++i)
                    keys[i].key = key_of_double(numbers.at(sample[i], first_column + c));
            }
        }
    });
}

}  // namespace

template <class Number>
std::vector<std::vector<double>> find_thresholds(const NumberMatrix<Number>& numbers,
                                                 const std::vector<std::uint32_t>& sample,
                                                 const std::int64_t* weights, std::size_t max_bins,
                                                 ThreadPool& pool) {
    std::vector<std::vector<double>> thresholds(numbers.columns);
    const std::size_t at_once = std::clamp(pool.size(), kColumnsAtOnce, kMaxColumnsAtOnce);
    std::vector<Buffer<PlainValue>> columns(at_once);
    std::vector<ColumnBuffers> buffers(std::min(pool.size(), at_once));
    for (std::size_t first = 0; first < numbers.columns; first += at_once) {
        const std::size_t n = std::min(at_once, numbers.columns - first);
        gather(numbers, first, sample, columns, n, pool);
        pool.run(buffers.size(), [&](std::size_t r) {
            for (std::size_t c = r; c < n; c += buffers.size())
                thresholds[first + c] =
                    thresholds_of_column(columns[c].get(), sample, weights, max_bins, buffers[r]);
        });
    }
    return thresholds;
}

#define TREERANK_INSTANTIATE(Number)                                                         \
    template std::vector<std::vector<double>> find_thresholds(                               \
        const NumberMatrix<Number>&, const std::vector<std::uint32_t>&, const std::int64_t*, \
        std::size_t, ThreadPool&);
TREERANK_INSTANTIATE(double)
TREERANK_INSTANTIATE(float)
#undef TREERANK_INSTANTIATE

}  // namespace treerank
