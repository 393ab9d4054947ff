// Finds the best Gini cut of a node with few rows, sixteen features at a time. Included by
// kernels_isa.cpp only, like scan_isa.hpp.
//
// Every row's code is a candidate cut, and the weight left of it is found by comparing the code
// with all other codes. This is quadratic in the number of rows, but works on bytes, on all
// features in parallel and without branches. Gains are first estimated in single precision; only
// features whose estimate is close to the highest are evaluated exactly.
#pragma once

#include "core/histogram/scan_isa.hpp"

namespace treerank::TREERANK_ISA {
namespace {

// The number of cuts that fit in a vector register, each with the codes of sixteen features.
#if defined(__AVX512BW__)
constexpr std::size_t kCutsAbreast = 4;
#elif defined(__AVX2__)
constexpr std::size_t kCutsAbreast = 2;
#else
constexpr std::size_t kCutsAbreast = 1;
#endif
constexpr std::size_t kBlockedCuts = 4 * kCutsAbreast;  // cuts served by one pass over the rows
typedef std::uint8_t Bytes __attribute__((vector_size(kCutsAbreast * kFewFeatures)));

TREERANK_INLINE Bytes load_bytes(const std::uint8_t* from) {
    Bytes bytes;
    __builtin_memcpy(&bytes, from, sizeof bytes);
    return bytes;
}
// The codes of one row, repeated for each cut.
TREERANK_INLINE Bytes repeat_codes(const std::uint8_t* codes) {
#if defined(__AVX512BW__)
    return (Bytes)_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i*)codes));
#elif defined(__AVX2__)
    return (Bytes)_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)codes));
#else
    return load_bytes(codes);
#endif
}

struct FewRows {
    // Negatives first. Rows after the last one pad the final block.
    alignas(64) std::uint8_t codes[kFewRows + kBlockedCuts][kFewFeatures];
    // By class and row: the weight of the class to the left of the cut at the row's code.
    alignas(64) std::uint8_t left[2][kFewRows + kBlockedCuts][kFewFeatures];
    std::uint8_t weight[kFewRows];
    std::size_t n, n_negative, n_features;
};

TREERANK_INLINE void gather(const Row* rows, std::size_t n, const std::uint8_t* const* columns,
                            std::size_t step, std::size_t n_features, FewRows& few) {
    std::size_t front = 0, back = n;
    for (std::size_t i = 0; i < n; ++i) {
        const Row row = rows[i];
        const bool positive = (row & kLabelBit) != 0;
        back -= positive;
        const std::size_t place = positive ? back : front;
        front += !positive;
        few.weight[place] = row & kRepeatMask;
        const std::size_t at = (row >> kRowShift) * step;
        __builtin_memset(few.codes[place], 0, kFewFeatures);
        for (std::size_t f = 0; f < n_features; ++f) few.codes[place][f] = columns[f][at];
    }
    few.n = n;
    few.n_negative = front;
    few.n_features = n_features;
    const std::size_t padded = (n + kBlockedCuts - 1) / kBlockedCuts * kBlockedCuts;
    __builtin_memset(few.codes[n], 0, (padded - n) * kFewFeatures);
}

TREERANK_INLINE Bytes add_if_left(const Bytes& sum, const Bytes& codes, const Bytes& cuts,
                                  const Bytes& weight) {
#if defined(__AVX512BW__)
    const __mmask64 left = _mm512_cmple_epu8_mask((__m512i)codes, (__m512i)cuts);
    return (Bytes)_mm512_mask_add_epi8((__m512i)sum, left, (__m512i)sum, (__m512i)weight);
#else
    return sum + ((Bytes)(codes <= cuts) & weight);
#endif
}

TREERANK_INLINE void sum_left(FewRows& few) {
    for (std::size_t first = 0; first < few.n; first += kBlockedCuts) {
        Bytes cuts[4];
        for (int b = 0; b < 4; ++b) cuts[b] = load_bytes(few.codes[first + b * kCutsAbreast]);
        for (int positive = 0; positive < 2; ++positive) {
            const std::size_t from = positive ? few.n_negative : 0;
            const std::size_t to = positive ? few.n : few.n_negative;
            Bytes sums[4] = {};
            for (std::size_t i = from; i < to; ++i) {
                const Bytes codes = repeat_codes(few.codes[i]);
                const Bytes weight = few.weight[i] - Bytes{};
                for (int b = 0; b < 4; ++b) sums[b] = add_if_left(sums[b], codes, cuts[b], weight);
            }
            for (int b = 0; b < 4; ++b)
                __builtin_memcpy(few.left[positive][first + b * kCutsAbreast], &sums[b],
                                 sizeof(Bytes));
        }
    }
}

// One number per feature, for as many features as fit in a register.
constexpr std::size_t kFloats = 2 * kWidth;
typedef std::int32_t Ints __attribute__((vector_size(kFloats * sizeof(std::int32_t))));
typedef float Floats __attribute__((vector_size(kFloats * sizeof(float))));

TREERANK_INLINE Floats to_floats(const std::uint8_t* from) {
#if defined(__AVX512BW__)
    const __m128i bytes = _mm_loadu_si128((const __m128i*)from);
    return (Floats)_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));
#elif defined(__AVX2__)
    const __m128i bytes = _mm_loadl_epi64((const __m128i*)from);
    return (Floats)_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
#else
    Ints numbers;
    for (std::size_t f = 0; f < kFloats; ++f) numbers[f] = from[f];
    return __builtin_convertvector(numbers, Floats);
#endif
}

// Estimates the highest gain of each of kFloats features, to six digits. Quotients are compared
// with the best so far by cross-multiplication.
TREERANK_INLINE void estimate(const FewRows& few, std::size_t first, const CutSearch& search,
                              float* gains) {
    const auto negative = static_cast<float>(search.node.negative);
    const auto positive = static_cast<float>(search.node.positive);
    const auto negative_cost = static_cast<float>(search.negative_cost);
    const auto positive_cost = static_cast<float>(search.positive_cost);
    // Weights are integers, so the minimum can be rounded up.
    const auto least = static_cast<float>(
        __builtin_ceil(search.min_weight_leaf < 256 ? search.min_weight_leaf : 256));
    const float most = negative + positive - least;
    const Floats zero = {};
    Floats above = zero, below = zero + 1.0f;
    for (std::size_t i = 0; i < few.n; ++i) {
        const Floats ln = to_floats(few.left[0][i] + first), lp = to_floats(few.left[1][i] + first);
        const Floats rn = negative - ln, rp = positive - lp, weight = ln + lp;
        const Floats difference = lp * negative - positive * ln;
        const Floats denominator =
            (positive_cost * lp + negative_cost * ln) * (positive_cost * rp + negative_cost * rn);
        const Floats square = difference * difference;
        const Floats numerator = ((weight >= least) & (weight <= most)) ? square : zero;
        const Ints better = numerator * below > above * denominator;
        above = better ? numerator : above;
        below = better ? denominator : below;
    }
    const Floats quotients = above / below;
    __builtin_memcpy(gains + first, &quotients, sizeof quotients);
}

// Returns a bit mask of the features that have missing values.
TREERANK_INLINE std::uint32_t with_missing(const FewRows& few) {
    std::uint8_t lowest[kFewFeatures];
    __builtin_memset(lowest, 255, sizeof lowest);
    for (std::size_t i = 0; i < few.n; ++i)
        for (std::size_t f = 0; f < kFewFeatures; ++f)
            lowest[f] = few.codes[i][f] < lowest[f] ? few.codes[i][f] : lowest[f];
    std::uint32_t features = 0;
    for (std::size_t f = 0; f < few.n_features; ++f)
        features |= static_cast<std::uint32_t>(lowest[f] == 0) << f;
    return features;
}

// Evaluates the cuts of one feature exactly, with the arithmetic of scan_block; of equal cuts the
// lowest code wins. Cuts that gain no more than `estimated` are skipped. Returns whether `best` was
// improved.
TREERANK_INLINE bool improve(const FewRows& few, std::size_t feature, const CutSearch& search,
                             double estimated, BestCut& best) {
    const ClassWeight& node = search.node;
    const double node_cost =
        search.positive_cost * node.positive + search.negative_cost * node.negative;
    const double whole = node.negative + node.positive;
    bool improved = false;
    for (std::size_t i = 0; i < few.n; ++i) {
        const double negative = few.left[0][i][feature], positive = few.left[1][i][feature];
        const double difference = positive * node.negative - node.positive * negative;
        const double left = search.positive_cost * positive + search.negative_cost * negative;
        const double denominator = left * (node_cost - left), weight = negative + positive;
        if (!(difference * difference > estimated * denominator)) continue;
        if (!(denominator > 0) || weight < search.min_weight_leaf ||
            whole - weight < search.min_weight_leaf)
            continue;
        const double gain = difference * difference / denominator;
        const std::int32_t code = few.codes[i][feature];
        if (gain < best.gain || (gain == best.gain && (!improved || code >= best.cut))) continue;
        best.gain = gain;
        best.cut = code;
        best.left = {negative, positive};
        improved = true;
    }
    if (!improved) return false;
    best.gap_end = 256;
    for (std::size_t i = 0; i < few.n; ++i) {
        const std::int32_t code = few.codes[i][feature];
        const std::int32_t beyond = code > best.cut ? code : 256;
        best.gap_end = beyond < best.gap_end ? beyond : best.gap_end;
    }
    return true;
}

// Whether the cut separates the classes completely, so that no other cut can gain more.
TREERANK_INLINE bool is_perfect(const BestCut& best, const ClassWeight& node) {
    return (best.left.negative == 0 && best.left.positive == node.positive) ||
           (best.left.positive == 0 && best.left.negative == node.negative);
}

FewCut cut_few(const Row* rows, std::size_t n, const std::uint8_t* const* columns, std::size_t step,
               std::size_t n_features, const CutSearch& search, BestCut& best) {
    constexpr float kSlack = 1e-5f;
    FewRows few;
    gather(rows, n, columns, step, n_features, few);
    sum_left(few);
    float gains[kFewFeatures];
    for (std::size_t first = 0; first < n_features; first += kFloats)
        estimate(few, first, search, gains);
    const std::uint32_t missing = with_missing(few);
    auto highest = static_cast<float>(best.gain);
    for (std::size_t f = 0; f < n_features; ++f)
        if (!(missing >> f & 1) && gains[f] > highest) highest = gains[f];
    const float enough = highest * (1 - kSlack);
    FewCut found{-1, missing};
    for (std::size_t f = 0; f < n_features && highest > 0; ++f) {
        if (missing >> f & 1 || gains[f] < enough) continue;
        if (improve(few, f, search, enough, best)) found.feature = static_cast<std::int32_t>(f);
        if (found.feature >= 0 && is_perfect(best, search.node)) break;
    }
    return found;
}

}  // namespace
}  // namespace treerank::TREERANK_ISA
