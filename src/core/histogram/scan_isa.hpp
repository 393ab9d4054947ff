// Finds the best Gini cut of a histogram. Included by kernels_isa.cpp only, which is compiled
// once per instruction set: everything is forced inline or has internal linkage.
#pragma once

#include <type_traits>

#include "core/histogram/kernels_isa.hpp"

#ifdef __AVX2__
#include <immintrin.h>
#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 warns about the deliberately undefined operands in its own header.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#endif

// Some of these functions are unused in some instruction sets.
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

TREERANK_INLINE void add_to(PackedCount& sum, PackedCount c) { sum += c; }
TREERANK_INLINE void add_to(WideCount& sum, const WideCount& c) {
    sum.negative += c.negative;
    sum.positive += c.positive;
}

// Prefix sums of the counters of codes 1 .. code, including missing values if they go left. The
// total is repeated kLanes times past the end, so that a block can always be read whole.
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

// Vector types of GCC and Clang, as wide as a register of the instruction set.
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

// Returns the first lane with the highest value if that exceeds `least`, otherwise -1.
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

// The weights to the left of the cuts, for one block of cuts after another.
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
    // Whether all cuts of a block are known to split the node like the last cut before the block.
    TREERANK_INLINE bool is_empty(const Sums&, std::int32_t) { return false; }
    TREERANK_INLINE void next(Sums& sums, std::int32_t first, Doubles& negative,
                              Doubles& positive) {
        load_weights(sums.prefix_ + first, negative, positive);
    }

  private:
    const Count* prefix_;
};

#if defined(__AVX512DQ__)
// Computes the prefix sums in registers, one block at a time.
template <>
class Sums<PackedCount> {
  public:
    static constexpr std::int32_t kBlocks = 2, kRange = kBlocks * kWidth;  // codes per range
    static constexpr std::int32_t kAhead = kWidth * kRange;                // codes examined at once

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

    // The cumulative counts at the start and at the end of each of the next ranges of codes, and a
    // bit mask of the ranges that have rows.
    struct Ahead {
        __m512i begins, ends;
        unsigned occupied;
    };
    TREERANK_INLINE Ahead look_ahead(const Sums& sums, std::int32_t first) {
        const __m512i zero = _mm512_setzero_si512();
        const __m512i totals = range_totals(sums, first);
        __m512i words = totals;
        words = _mm512_add_epi64(words, _mm512_alignr_epi64(words, zero, 7));
        words = _mm512_add_epi64(words, _mm512_alignr_epi64(words, zero, 6));
        words = _mm512_add_epi64(words, _mm512_alignr_epi64(words, zero, 4));
        const __m512i ends = _mm512_add_epi64(words, sums.before_);
        return {_mm512_sub_epi64(ends, totals), ends, _mm512_test_epi64_mask(totals, totals)};
    }
    // Continues at the start of a range, or after all of them.
    TREERANK_INLINE void begin_range(Sums& sums, const Ahead& ahead, int range) {
        sums.before_ = _mm512_permutexvar_epi64(_mm512_set1_epi64(range), ahead.begins);
    }
    TREERANK_INLINE void skip(Sums& sums, const Ahead& ahead) {
        sums.before_ = _mm512_permutexvar_epi64(_mm512_set1_epi64(kWidth - 1), ahead.ends);
    }

  private:
    // Returns one total per lane, by adding interleaved pairs of vectors and then pairs of the
    // results.
    TREERANK_INLINE __m512i range_totals(const Sums& sums, std::int32_t first) {
        __m512i v[kWidth];
        for (int k = 0; k < kWidth; ++k) {
            v[k] = load(sums, first + k * kRange);
            for (int block = 1; block < kBlocks; ++block)
                v[k] = _mm512_add_epi64(v[k], load(sums, first + k * kRange + block * kWidth));
        }
        for (int k = 0; k < kWidth; k += 2)
            v[k] = _mm512_add_epi64(_mm512_unpacklo_epi64(v[k], v[k + 1]),
                                    _mm512_unpackhi_epi64(v[k], v[k + 1]));
        for (int k = 0; k < kWidth; k += 4) v[k] = add_quarters(v[k], v[k + 2]);
        return add_quarters(v[0], v[4]);
    }
    TREERANK_INLINE __m512i add_quarters(__m512i a, __m512i b) {
        return _mm512_add_epi64(_mm512_shuffle_i64x2(a, b, 0x88), _mm512_shuffle_i64x2(a, b, 0xdd));
    }
    TREERANK_INLINE __m512i load(const Sums& sums, std::int32_t first) {
        const std::int32_t left = sums.n_codes_ - first;
        if (left <= 0) return _mm512_setzero_si512();
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
// where S is the cost-weighted total. Most blocks of cuts are rejected by a comparison of products,
// which shows that none of their cuts can win (the slack covers the rounding of both sides); only
// the others need divisions.
struct GiniScan {
    const CutSearch& search;
    bool missing_left;
    double missing;    // weight of missing values that go left
    double node_cost;  // cost-weighted total of the node
    double enough;     // gains below this need not be computed

    TREERANK_INLINE GiniScan make(const CutSearch& search, bool missing_left, double missing,
                                  double gain) {
        const double node_cost = search.positive_cost * search.node.positive +
                                 search.negative_cost * search.node.negative;
        return {search, missing_left, missing, node_cost, gain * (1 - 1e-9)};
    }
    TREERANK_INLINE Doubles numerator(const GiniScan& scan, const Doubles& negative,
                                      const Doubles& positive) {
        const ClassWeight& node = scan.search.node;
        const Doubles difference = positive * node.negative - node.positive * negative;
        return difference * difference;
    }
    TREERANK_INLINE Doubles denominator(const GiniScan& scan, const Doubles& negative,
                                        const Doubles& positive) {
        const Doubles left =
            scan.search.positive_cost * positive + scan.search.negative_cost * negative;
        return left * (scan.node_cost - left);
    }
    // Returns a mask of the cuts that may win.
    TREERANK_INLINE Mask promising(const GiniScan& scan, const Doubles& negative,
                                   const Doubles& positive) {
        return numerator(scan, negative, positive) >
               scan.enough * denominator(scan, negative, positive);
    }
};

template <class Count>
TREERANK_INLINE void scan_block(GiniScan& scan, Sums<Count>& sums, std::int32_t first,
                                BestCut& best) {
    if (Sums<Count>::is_empty(sums, first)) return;  // its cuts split as the cut before them
    Doubles negative, positive;
    Sums<Count>::next(sums, first, negative, positive);
    const Doubles numerator = GiniScan::numerator(scan, negative, positive);
    const Doubles denominator = GiniScan::denominator(scan, negative, positive);
    if (!any(numerator > scan.enough * denominator)) return;
    const Doubles weight = negative + positive, zero = {};
    const double least = scan.search.min_weight_leaf;
    const double whole = scan.search.node.negative + scan.search.node.positive;
    // "Missing against the rest" is found by the scan with missing on the right.
    const Mask usable =
        (denominator > 0) & (weight > scan.missing) & (weight >= least) & (whole - weight >= least);
    const Doubles gain = usable ? numerator / denominator : zero;
    const int winner = first_highest(gain, best.gain);
    if (winner < 0) return;
    best.gain = gain[winner];
    best.cut = first + winner;
    best.missing_left = scan.missing_left;
    best.left = {negative[winner], positive[winner]};
    scan.enough = best.gain * (1 - 1e-9);
}

#if defined(__AVX512DQ__)
// Checks ranges of codes before their individual cuts. The gain is a convex function of the weights
// on the left (a square over a linear function, twice), so no cut in a range beats all corners of
// the rectangle between the weights left of its start and left of its end. One corner is the last
// cut of the range, another the last cut before it; in the other two, all rows of one class come
// before those of the other.
TREERANK_INLINE void scan_ranges(GiniScan& scan, Sums<PackedCount>& sums, std::int32_t first,
                                 std::int32_t last, BestCut& best) {
    using Packed = Sums<PackedCount>;
    const Packed::Ahead ahead = Packed::look_ahead(sums, first);
    Doubles begin_negative, begin_positive, end_negative, end_positive;
    to_weights((Words)ahead.begins, begin_negative, begin_positive);
    to_weights((Words)ahead.ends, end_negative, end_positive);
    const Mask may_win = GiniScan::promising(scan, begin_negative, end_positive) |
                         GiniScan::promising(scan, end_negative, begin_positive) |
                         GiniScan::promising(scan, end_negative, end_positive);
    unsigned ranges = _mm512_movepi64_mask((__m512i)may_win) & ahead.occupied;
    for (; ranges != 0; ranges &= ranges - 1) {
        const int range = __builtin_ctz(ranges);
        Packed::begin_range(sums, ahead, range);
        const std::int32_t from = first + range * Packed::kRange;
        for (std::int32_t at = from; at < from + Packed::kRange && at <= last; at += kWidth)
            scan_block(scan, sums, at, best);
    }
    Packed::skip(sums, ahead);
}

// Whether products of the node's weights are exact, as the comparison of corners requires.
TREERANK_INLINE bool is_exact(const GiniScan& scan) {
    const ClassWeight& node = scan.search.node;
    return scan.node_cost < 0x1p53 && node.negative * node.positive < 0x1p53;
}
#endif

template <class Count>
void scan_gini(const Count* histogram, std::int32_t n_codes, bool missing_left,
               const CutSearch& search, Count* prefix, BestCut& best) {
    Sums<Count> sums = Sums<Count>::make(histogram, n_codes, missing_left, prefix);
    const double missing = missing_left ? negatives(histogram[0]) + positives(histogram[0]) : 0.0;
    GiniScan scan = GiniScan::make(search, missing_left, missing, best.gain);
    // With missing on the right, "all values left" is a cut as well.
    const std::int32_t last = missing_left ? n_codes - 2 : n_codes - 1;
    std::int32_t first = 1;
#if defined(__AVX512DQ__)
    if constexpr (std::is_same_v<Count, PackedCount>)
        if (is_exact(scan))
            for (; last - first >= Sums<Count>::kAhead / 2; first += Sums<Count>::kAhead)
                scan_ranges(scan, sums, first, last, best);
#endif
    for (; first <= last; first += kWidth) scan_block(scan, sums, first, best);
}

}  // namespace
}  // namespace treerank::TREERANK_ISA
