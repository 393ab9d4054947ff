// Compiled once for each instruction set, with TREERANK_ISA naming it.
//
// Everything here is forced inline or has internal linkage: a shared inline
// function compiled for AVX-512 could be picked by the linker for all callers.
#include "core/histogram/kernels_isa.hpp"

#ifdef __AVX2__
#include <immintrin.h>
#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 takes the deliberately undefined operands in its own header for a mistake.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#endif

// Not every instruction set needs all of them.
#define TREERANK_INLINE [[gnu::always_inline, maybe_unused]] static inline

namespace treerank::TREERANK_ISA {
namespace {

TREERANK_INLINE double to_double(std::uint64_t value) {
    return __builtin_bit_cast(double, value | 0x4330000000000000ULL) - 4503599627370496.0;
}
TREERANK_INLINE double negatives(PackedCount c) { return to_double(c & 0xffffffffULL); }
TREERANK_INLINE double positives(PackedCount c) { return to_double(c >> 32); }
TREERANK_INLINE double negatives(const WideCount& c) { return static_cast<double>(c.negative); }
TREERANK_INLINE double positives(const WideCount& c) { return static_cast<double>(c.positive); }

template <bool Add>
TREERANK_INLINE void update(PackedCount& counter, PackedCount increment) {
    if constexpr (Add)
        counter += increment;
    else
        counter -= increment;
}
template <bool Add>
TREERANK_INLINE void update(WideCount& counter, WideCount increment) {
    if constexpr (Add) {
        counter.negative += increment.negative;
        counter.positive += increment.positive;
    } else {
        counter.negative -= increment.negative;
        counter.positive -= increment.positive;
    }
}

// Label and repeat count are the low five bits of a row: 32 possible increments.
struct IncrementTable {
    PackedCount of[32] = {};
    constexpr IncrementTable() {
        for (Row low = 0; low < 32; ++low)
            of[low] = static_cast<PackedCount>(low & kRepeatMask) << (low & kLabelBit ? 32 : 0);
    }
};
constexpr IncrementTable kIncrements;
struct PackedIncrements {
    explicit PackedIncrements(const std::int64_t*) {}
    TREERANK_INLINE PackedCount of_row(const PackedIncrements&, Row row) {
        return kIncrements.of[row & 31];
    }
};
struct WideIncrements {
    const std::int64_t* weights;
    explicit WideIncrements(const std::int64_t* w) : weights(w) {}
    TREERANK_INLINE WideCount of_row(const WideIncrements& self, Row row) {
        const std::int64_t weight = self.weights[row >> kRowShift];
        const std::int64_t mask = -static_cast<std::int64_t>((row & kLabelBit) != 0);
        return {weight & ~mask, weight & mask};
    }
};
template <class Count>
struct IncrementsOf;
template <>
struct IncrementsOf<PackedCount> {
    using type = PackedIncrements;
};
template <>
struct IncrementsOf<WideCount> {
    using type = WideIncrements;
};

// Four independent histograms a pass keep four chains of load-add-store in
// flight, and the row is decoded once for all of them.
template <bool Add, int N, bool ByColumn, class Code, class Count>
void count_pass(const Row* rows, std::size_t n, const std::int64_t* weights,
                const Code* const* columns, std::size_t step, Count* const* histograms) {
    const typename IncrementsOf<Count>::type increments(weights);
    const Code* column[N];
    Count* histogram[N];
    for (int k = 0; k < N; ++k) {
        column[k] = columns[k];
        histogram[k] = histograms[k];
    }
    for (std::size_t i = 0; i < n; ++i) {
        const Row row = rows[i];
        const Count increment = increments.of_row(increments, row);
        const std::size_t at = (row >> kRowShift) * (ByColumn ? 1 : step);
        for (int k = 0; k < N; ++k) update<Add>(histogram[k][column[k][at]], increment);
    }
}

template <bool Add, bool ByColumn, class Code, class Count>
TREERANK_INLINE void count_some(const Row* rows, std::size_t n, const std::int64_t* weights,
                                const Code* const* columns, std::size_t step,
                                Count* const* histograms, std::size_t n_features) {
    switch (n_features) {
        case 4:
            return count_pass<Add, 4, ByColumn>(rows, n, weights, columns, step, histograms);
        case 3:
            return count_pass<Add, 3, ByColumn>(rows, n, weights, columns, step, histograms);
        case 2:
            return count_pass<Add, 2, ByColumn>(rows, n, weights, columns, step, histograms);
        default:
            return count_pass<Add, 1, ByColumn>(rows, n, weights, columns, step, histograms);
    }
}

template <bool Add, class Code, class Count>
void count(const Row* rows, std::size_t n, const std::int64_t* weights, const Code* const* columns,
           std::size_t step, Count* const* histograms, std::size_t n_features) {
    if (step == 1)
        count_some<Add, true>(rows, n, weights, columns, step, histograms, n_features);
    else
        count_some<Add, false>(rows, n, weights, columns, step, histograms, n_features);
}

template <class Code, class Count>
std::int32_t list(const Row* rows, std::size_t n, const std::int64_t* weights, const Code* column,
                  std::size_t step, std::int32_t n_codes, Count* counters, std::uint64_t* words,
                  std::int32_t* codes, Count* counts) {
    const typename IncrementsOf<Count>::type increments(weights);
    for (std::size_t i = 0; i < n; ++i) {
        const Row row = rows[i];
        const Code code = column[(row >> kRowShift) * step];
        update<true>(counters[code], increments.of_row(increments, row));
        words[code >> 6] |= std::uint64_t{1} << (code & 63);
    }
    codes[0] = static_cast<std::int32_t>(words[0] & 1);
    counts[0] = counters[0];
    counters[0] = Count{};
    words[0] &= ~std::uint64_t{1};
    std::int32_t listed = 0;
    for (std::int32_t w = 0; w < (n_codes + 63) / 64; ++w) {
        for (std::uint64_t word = words[w]; word != 0; word &= word - 1) {
            const std::int32_t code = w * 64 + __builtin_ctzll(word);
            ++listed;
            codes[listed] = code;
            counts[listed] = counters[code];
            counters[code] = Count{};
        }
        words[w] = 0;
    }
    return listed;
}

void subtract(PackedCount* target, const PackedCount* parent, const PackedCount* child,
              std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) target[i] = parent[i] - child[i];
}
void subtract(WideCount* target, const WideCount* parent, const WideCount* child, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        target[i].negative = parent[i].negative - child[i].negative;
        target[i].positive = parent[i].positive - child[i].positive;
    }
}

TREERANK_INLINE void add_to(PackedCount& sum, PackedCount c) { sum += c; }
TREERANK_INLINE void add_to(WideCount& sum, const WideCount& c) {
    sum.negative += c.negative;
    sum.positive += c.positive;
}

// Sums of the counters of codes 1 .. code, and of missing where it goes left. The
// total stands kLanes times more behind the end, so that a block can be read whole.
template <class Count>
TREERANK_INLINE void sum_up(const Count* histogram, std::int32_t n_codes, bool missing_left,
                            Count* prefix) {
    Count sum{};
    if (missing_left) sum = histogram[0];
    for (std::int32_t code = 1; code < n_codes; ++code) {
        add_to(sum, histogram[code]);
        prefix[code] = sum;
    }
    for (std::int32_t code = n_codes; code < n_codes + kLanes; ++code) prefix[code] = sum;
}

// Vectors of GCC and Clang, as wide as a register of the instruction set.
#if defined(__AVX512DQ__)
constexpr int kWidth = 8;
#elif defined(__AVX2__)
constexpr int kWidth = 4;
#else
constexpr int kWidth = 2;
#endif
static_assert(kWidth <= kLanes);
typedef double Doubles __attribute__((vector_size(kWidth * sizeof(double))));
typedef std::uint64_t Words __attribute__((vector_size(kWidth * sizeof(std::uint64_t))));
typedef std::int64_t Mask __attribute__((vector_size(kWidth * sizeof(std::int64_t))));

TREERANK_INLINE bool any(const Mask& mask) {
#if defined(__AVX512DQ__)
    return _mm512_movepi64_mask((__m512i)mask) != 0;
#elif defined(__AVX2__)
    return _mm256_movemask_pd((__m256d)mask) != 0;
#else
    return (mask[0] | mask[1]) != 0;
#endif
}

// The first lane with the highest value, if that is above `least`; else -1.
TREERANK_INLINE int first_highest(const Doubles& values, double least) {
#if defined(__AVX512DQ__)
    if (_mm512_cmp_pd_mask((__m512d)values, _mm512_set1_pd(least), _CMP_GT_OQ) == 0) return -1;
    const __m512d highest = _mm512_set1_pd(_mm512_reduce_max_pd((__m512d)values));
    return __builtin_ctz(_mm512_cmp_pd_mask((__m512d)values, highest, _CMP_EQ_OQ));
#else
    int winner = -1;
    for (int k = 0; k < kWidth; ++k) {
        winner = values[k] > least ? k : winner;
        least = values[k] > least ? values[k] : least;
    }
    return winner;
#endif
}

TREERANK_INLINE void to_weights(const Words& words, Doubles& negative, Doubles& positive) {
    constexpr std::uint64_t exponent = 0x4330000000000000ULL;
    constexpr double offset = 4503599627370496.0;
    negative = (Doubles)((words & 0xffffffffULL) | exponent) - offset;
    positive = (Doubles)((words >> 32) | exponent) - offset;
}
TREERANK_INLINE void load_weights(const PackedCount* counts, Doubles& negative, Doubles& positive) {
    Words words;
    __builtin_memcpy(&words, counts, sizeof words);
    to_weights(words, negative, positive);
}
TREERANK_INLINE void load_weights(const WideCount* counts, Doubles& negative, Doubles& positive) {
    for (int k = 0; k < kWidth; ++k) {
        negative[k] = negatives(counts[k]);
        positive[k] = positives(counts[k]);
    }
}

// The weights left of a cut, for a block of cuts after another.
template <class Count>
class Sums {
  public:
    TREERANK_INLINE Sums make(const Count* histogram, std::int32_t n_codes, bool missing_left,
                              Count* prefix) {
        sum_up(histogram, n_codes, missing_left, prefix);
        Sums sums;
        sums.prefix_ = prefix;
        return sums;
    }
    // Whether the cuts of a block are known to part the node as the last one before them does.
    TREERANK_INLINE bool is_empty(const Sums&, std::int32_t) { return false; }
    TREERANK_INLINE void next(Sums& sums, std::int32_t first, Doubles& negative,
                              Doubles& positive) {
        load_weights(sums.prefix_ + first, negative, positive);
    }

  private:
    const Count* prefix_;
};

#if defined(__AVX512DQ__)
// Summed up in the registers, a block at a time.
template <>
class Sums<PackedCount> {
  public:
    TREERANK_INLINE Sums make(const PackedCount* histogram, std::int32_t n_codes, bool missing_left,
                              PackedCount*) {
        Sums sums;
        sums.histogram_ = histogram;
        sums.n_codes_ = n_codes;
        sums.before_ =
            _mm512_set1_epi64(static_cast<std::int64_t>(missing_left ? histogram[0] : 0));
        return sums;
    }
    TREERANK_INLINE bool is_empty(const Sums& sums, std::int32_t first) {
        const __m512i words = load(sums, first);
        return _mm512_test_epi64_mask(words, words) == 0;
    }
    TREERANK_INLINE void next(Sums& sums, std::int32_t first, Doubles& negative,
                              Doubles& positive) {
        const __m512i zero = _mm512_setzero_si512();
        __m512i words = load(sums, first);
        words = _mm512_add_epi64(words, _mm512_alignr_epi64(words, zero, 7));
        words = _mm512_add_epi64(words, _mm512_alignr_epi64(words, zero, 6));
        words = _mm512_add_epi64(words, _mm512_alignr_epi64(words, zero, 4));
        const __m512i total = _mm512_permutexvar_epi64(_mm512_set1_epi64(7), words);
        words = _mm512_add_epi64(words, sums.before_);
        sums.before_ = _mm512_add_epi64(sums.before_, total);
        to_weights((Words)words, negative, positive);
    }

  private:
    TREERANK_INLINE __m512i load(const Sums& sums, std::int32_t first) {
        const std::int32_t left = sums.n_codes_ - first;
        const auto mask = static_cast<__mmask8>(left >= kWidth ? 0xff : (1 << left) - 1);
        return _mm512_maskz_loadu_epi64(mask, sums.histogram_ + first);
    }

    const PackedCount* histogram_;
    std::int32_t n_codes_;
    __m512i before_;
};
#endif

// Decrease of the balanced Gini impurity, up to a constant of the node:
//   (lp * N - P * ln)^2 / (S_left * S_right)
// with S the costed weight. Most blocks of cuts are dismissed by a product which
// shows that none of them can win (the slack covers the rounding of both sides);
// only the others pay for divisions.
template <class Count>
void scan_gini(const Count* histogram, std::int32_t n_codes, bool missing_left,
               const CutSearch& search, Count* prefix, BestCut& best) {
    Sums<Count> sums = Sums<Count>::make(histogram, n_codes, missing_left, prefix);
    // With missing on the right, "all values left" is a cut too.
    const std::int32_t last = missing_left ? n_codes - 2 : n_codes - 1;
    const double node_negative = search.node.negative, node_positive = search.node.positive;
    const double node_weight = node_negative + node_positive;
    const double positive_cost = search.positive_cost, negative_cost = search.negative_cost;
    const double node_cost = positive_cost * node_positive + negative_cost * node_negative;
    const double missing = missing_left ? negatives(histogram[0]) + positives(histogram[0]) : 0.0;
    const Doubles zero = {};
    double enough = best.gain * (1 - 1e-9);
    for (std::int32_t first = 1; first <= last; first += kWidth) {
        if (Sums<Count>::is_empty(sums, first)) continue;  // what was found before is as good
        Doubles negative, positive;
        Sums<Count>::next(sums, first, negative, positive);
        const Doubles difference = positive * node_negative - node_positive * negative;
        const Doubles left = positive_cost * positive + negative_cost * negative;
        const Doubles numerator = difference * difference;
        const Doubles denominator = left * (node_cost - left);
        if (!any(numerator > enough * denominator)) continue;
        const Doubles weight = negative + positive;
        // "Missing against the rest" is found with missing on the right.
        const Mask usable = (denominator > 0) & (weight > missing) &
                            (weight >= search.min_weight_leaf) &
                            (node_weight - weight >= search.min_weight_leaf);
        const Doubles gain = usable ? numerator / denominator : zero;
        const int winner = first_highest(gain, best.gain);
        if (winner < 0) continue;
        best.gain = gain[winner];
        best.cut = first + winner;
        best.missing_left = missing_left;
        best.left = {negative[winner], positive[winner]};
        enough = best.gain * (1 - 1e-9);
    }
}

template <class Code, class Count>
void sum_sides(const Row* rows, std::size_t n, const std::int64_t* weights, const Code* column,
               std::size_t step, Code cut, Count* sums) {
    const typename IncrementsOf<Count>::type increments(weights);
    for (std::size_t i = 0; i < n; ++i) {
        const Row row = rows[i];
        const Code code = column[(row >> kRowShift) * step];
        update<true>(sums[(code != 0) + (code > cut)], increments.of_row(increments, row));
    }
}

// Writes every row to both sides and moves only one of the two pens: no branch
// to mispredict, and the order within each side stays.
template <class Code>
std::size_t partition(Row* rows, std::size_t n, const Code* column, std::size_t step, Code shift,
                      Code cut, Row* scratch) {
    std::size_t left = 0, right = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const Row row = rows[i];
        const bool goes_left = static_cast<Code>(column[(row >> kRowShift) * step] - shift) <= cut;
        rows[left] = row;
        scratch[right] = row;
        left += goes_left;
        right += !goes_left;
    }
    if (right > 0) __builtin_memcpy(rows + left, scratch, right * sizeof(Row));
    return left;
}

template <class Code, class Count>
constexpr Kernels<Code, Count> table() {
    return {&count<true, Code, Count>,
            &count<false, Code, Count>,
            &list<Code, Count>,
            static_cast<void (*)(Count*, const Count*, const Count*, std::size_t)>(&subtract),
            &scan_gini<Count>,
            &sum_sides<Code, Count>,
            &partition<Code>};
}

}  // namespace

const Kernels<std::uint8_t, PackedCount> packed8 = table<std::uint8_t, PackedCount>();
const Kernels<std::uint8_t, WideCount> wide8 = table<std::uint8_t, WideCount>();
const Kernels<std::uint16_t, PackedCount> packed16 = table<std::uint16_t, PackedCount>();
const Kernels<std::uint16_t, WideCount> wide16 = table<std::uint16_t, WideCount>();

}  // namespace treerank::TREERANK_ISA
