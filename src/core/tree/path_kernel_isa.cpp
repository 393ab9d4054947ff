// Compiled once per instruction set, which TREERANK_ISA names.
//
// Everything here has internal linkage. Otherwise the linker might choose the AVX-512 version of a
// shared inline function for all callers.
#include "core/tree/path_kernel_isa.hpp"

#ifdef __AVX512F__
#include <immintrin.h>
#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 warns about the deliberately undefined operands in its own header.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#endif

namespace treerank::TREERANK_ISA {
namespace {

// The number of rows per vector register.
#if defined(__AVX512F__)
constexpr std::size_t kLanes = 8;
#elif defined(__AVX2__)
constexpr std::size_t kLanes = 4;
#else
constexpr std::size_t kLanes = 2;
#endif
using Lanes = double __attribute__((vector_size(8 * kLanes)));
using LanesAt = double __attribute__((vector_size(8 * kLanes), aligned(8), may_alias));
using RowBits = std::uint32_t;
static_assert(kRowsAbreast == 32, "one bit per row");
constexpr RowBits kEveryRow = ~RowBits{0};

#define TREERANK_INLINE [[gnu::always_inline]] static inline
TREERANK_INLINE LanesAt& at(double* place) { return *reinterpret_cast<LanesAt*>(place); }
TREERANK_INLINE const LanesAt& at(const double* place) {
    return *reinterpret_cast<const LanesAt*>(place);
}
#define TREERANK_ALL(value) ((value) - Lanes{})

// Selects between two vectors by the bits of the rows from `first` on.
#ifdef __AVX512F__
using Mask = __mmask8;
TREERANK_INLINE Mask mask_of(RowBits rows, std::size_t first) {
    return static_cast<Mask>(rows >> first);
}
TREERANK_INLINE Lanes select(Mask mask, Lanes yes, Lanes no) {
    return _mm512_mask_blend_pd(mask, no, yes);
}
#else
using Mask = decltype(Lanes{} > Lanes{});
TREERANK_INLINE Mask mask_of(RowBits rows, std::size_t first) {
    Mask bits;
    for (std::size_t lane = 0; lane < kLanes; ++lane) bits[lane] = 1LL << lane;
    return ((static_cast<long long>(rows >> first) - Mask{}) & bits) != Mask{};
}
TREERANK_INLINE Lanes select(Mask mask, Lanes yes, Lanes no) { return mask ? yes : no; }
#endif

// The rows at one side of a test: those that go there (own), out of those that have not failed an
// earlier test of the feature (live).
struct TestRows {
    RowBits own = 0, live = 0;
};

// The same as masks for several vectors of rows. AllLive: no row has failed a test of the feature.
template <bool AllLive, std::size_t Vectors>
struct Masks {
    Mask own[Vectors], live[Vectors];

    [[gnu::always_inline]] inline Masks(const TestRows& rows, std::size_t first) {
        for (std::size_t u = 0; u < Vectors; ++u) {
            own[u] = mask_of(rows.own, first + u * kLanes);
            live[u] = mask_of(rows.live, first + u * kLanes);
        }
    }
    [[gnu::always_inline]] inline Lanes factor(std::size_t u, Lanes passed, Lanes other,
                                               Lanes failed) const {
        return select(own[u], passed, AllLive ? other : select(live[u], other, failed));
    }
    [[gnu::always_inline]] inline void add_gains(const Lanes* gain, double* place) const {
        for (std::size_t u = 0; u < Vectors; ++u)
            at(place + u * kLanes) += AllLive ? gain[u] : select(live[u], gain[u], Lanes{});
    }
};

constexpr std::size_t kUnrolled = 4;  // vectors that share the numbers of a test

// One side of a test: its numbers, the share of weight that goes there (times the value at an end),
// the rows, and the gains of its feature.
struct Side {
    const double* numbers;
    double share;
    TestRows rows;
    double* gains;
};

class Walk {
  public:
    Walk(const PathView& tree, const PathBlock& block)
        : tree_(tree), block_(block), n_(tree.n_points) {
        products_ = block.scratch;
        sums_ = products_ + (tree.depth + 1) * n_ * kRowsAbreast;
        for (std::size_t f = 0; f < tree.n_features; ++f) block.live[f] = kEveryRow;
        for (std::size_t i = 0; i < n_ * kRowsAbreast; ++i) products_[i] = 1;
    }

    void run() {
        if (tree_.tests[0].is_twig())
            add_end<true, true>(ends_of(0), 0, sums_);
        else
            visit(0, 0, sums_);
    }

  private:
    // Writes to `sums` what the ends below a test add up to.
    void visit(std::size_t number, std::size_t depth, double* sums) {
        const PathTest& test = tree_.tests[number];
        const RowBits live = block_.live[test.feature];
        const RowBits left = live & left_rows(test);
        const bool has_left = test.child[0] != kNoPath;
        if (has_left) add_side<true>(test, side_of(number, 0, {left, live}), 0, depth, sums);
        const Side right = side_of(number, 1, {live & ~left, live});
        if (test.child[1] != kNoPath && has_left)
            add_side<false>(test, right, 1, depth, sums);
        else if (test.child[1] != kNoPath)
            add_side<true>(test, right, 1, depth, sums);
        block_.live[test.feature] = live;
    }

    Side side_of(std::size_t number, std::size_t side, TestRows rows) const {
        const PathTest& test = tree_.tests[number];
        const double value = test.child[side] < 0 ? test.value[side] : 1.0;
        return {tree_.numbers + (number * 2 + side) * kSideNumbers * n_, test.share[side] * value,
                rows, block_.sums + test.feature * kRowsAbreast};
    }

    // Both sides of a twig, a test that no further test follows, as one.
    Side ends_of(std::size_t number) const {
        const PathTest& twig = tree_.tests[number];
        const RowBits live = block_.live[twig.feature];
        Side ends = side_of(number, 0, {live & left_rows(twig), live});
        ends.share += twig.share[1] * twig.value[1];
        return ends;
    }

    RowBits left_rows(const PathTest& test) const {
        const std::uint16_t* const codes = block_.codes + test.feature * kRowsAbreast;
        const auto shift = static_cast<std::uint16_t>((test.slot.next & kMissingRight) != 0);
        RowBits left = 0;
        if (test.set != nullptr) {
            for (std::size_t r = 0; r < kRowsAbreast; ++r)
                left |= static_cast<RowBits>(
                            (test.set->words[(codes[r] >> 6) & 3] >> (codes[r] & 63)) & 1)
                        << r;
            return left;
        }
#ifdef __AVX512BW__
        const __m512i shifted = _mm512_sub_epi16(_mm512_loadu_si512(codes),
                                                 _mm512_set1_epi16(static_cast<short>(shift)));
        return _mm512_cmple_epu16_mask(shifted,
                                       _mm512_set1_epi16(static_cast<short>(test.slot.cut)));
#else
        for (std::size_t r = 0; r < kRowsAbreast; ++r) {
            const auto code = static_cast<std::uint16_t>(codes[r] - shift);
            left |= static_cast<RowBits>(code <= test.slot.cut) << r;
        }
        return left;
#endif
    }

    template <bool First>
    void add_side(const PathTest& test, const Side& side, std::size_t which, std::size_t depth,
                  double* sums) {
        if (side.rows.live == kEveryRow)
            add_side<First, true>(test, side, which, depth, sums);
        else
            add_side<First, false>(test, side, which, depth, sums);
    }

    template <bool First, bool AllLive>
    void add_side(const PathTest& test, const Side& side, std::size_t which, std::size_t depth,
                  double* sums) {
        if (test.child[which] < 0) return add_end<First, AllLive>(side, depth, sums);
        const auto child = static_cast<std::size_t>(test.child[which]);
        block_.live[test.feature] = side.rows.own;
        if (tree_.tests[child].is_twig()) {
            const Side ends = ends_of(child);
            if (ends.rows.live == kEveryRow)
                return add_twig<First, AllLive, true>(side, ends, depth, sums);
            return add_twig<First, AllLive, false>(side, ends, depth, sums);
        }
        // The sums of the first side are written directly to where those of the test belong.
        double* below = First ? sums : sums_ + (depth + 1) * n_ * kRowsAbreast;
        multiply<AllLive>(side, depth);
        visit(child, depth + 1, below);
        add_below<First, AllLive>(side, below, sums);
    }

    // Computes the products of the path one test further down.
    template <bool AllLive>
    void multiply(const Side& side, std::size_t depth) {
        const std::size_t n = n_;
        const double* above = products_ + depth * n * kRowsAbreast;
        double* below = products_ + (depth + 1) * n * kRowsAbreast;
        const double* numbers = side.numbers;
        const Lanes failed = TREERANK_ALL(side.share);
        for (std::size_t first = 0; first < kRowsAbreast; first += kUnrolled * kLanes) {
            const Masks<AllLive, kUnrolled> rows(side.rows, first);
            for (std::size_t q = 0; q < n; ++q) {
                const Lanes a = TREERANK_ALL(numbers[kOwn * n + q]);
                const Lanes b = TREERANK_ALL(numbers[kOther * n + q]);
                for (std::size_t u = 0; u < kUnrolled; ++u) {
                    const std::size_t place = q * kRowsAbreast + first + u * kLanes;
                    at(below + place) = at(above + place) * rows.factor(u, a, b, failed);
                }
            }
        }
    }

    // Adds the sums below one side of the test to its own, and what its feature gets.
    template <bool First, bool AllLive>
    void add_below(const Side& side, const double* below, double* sums) {
        const std::size_t n = n_;
        const double* numbers = side.numbers;
        for (std::size_t first = 0; first < kRowsAbreast; first += kUnrolled * kLanes) {
            const Masks<AllLive, kUnrolled> rows(side.rows, first);
            Lanes gain[kUnrolled] = {};
            for (std::size_t q = 0; q < n; ++q) {
                const Lanes a = TREERANK_ALL(numbers[kOwnGain * n + q]);
                const Lanes b = TREERANK_ALL(numbers[kOtherGain * n + q]);
                for (std::size_t u = 0; u < kUnrolled; ++u) {
                    const std::size_t place = q * kRowsAbreast + first + u * kLanes;
                    const Lanes sum = at(below + place);
                    if constexpr (!First) at(sums + place) += sum;
                    gain[u] += sum * select(rows.own[u], a, b);
                }
            }
            rows.add_gains(gain, side.gains + first);
        }
    }

    // The same for a side that is an end.
    template <bool First, bool AllLive>
    void add_end(const Side& side, std::size_t depth, double* sums) {
        const std::size_t n = n_;
        const double* above = products_ + depth * n * kRowsAbreast;
        const double* numbers = side.numbers;
        const Lanes failed = TREERANK_ALL(side.share);
        for (std::size_t first = 0; first < kRowsAbreast; first += kUnrolled * kLanes) {
            const Masks<AllLive, kUnrolled> rows(side.rows, first);
            Lanes gain[kUnrolled] = {};
            for (std::size_t q = 0; q < n; ++q) {
                const Lanes a = TREERANK_ALL(numbers[kOwn * n + q]);
                const Lanes b = TREERANK_ALL(numbers[kOther * n + q]);
                const Lanes a_gain = TREERANK_ALL(numbers[kOwnGain * n + q]);
                const Lanes b_gain = TREERANK_ALL(numbers[kOtherGain * n + q]);
                for (std::size_t u = 0; u < kUnrolled; ++u) {
                    const std::size_t place = q * kRowsAbreast + first + u * kLanes;
                    const Lanes product = at(above + place);
                    const Lanes sum = product * rows.factor(u, a, b, failed);
                    at(sums + place) = First ? sum : at(sums + place) + sum;
                    gain[u] += product * select(rows.own[u], a_gain, b_gain);
                }
            }
            rows.add_gains(gain, side.gains + first);
        }
    }

    // The same for a side that leads to a twig. Only the sums and gains are written to memory.
    template <bool First, bool AllLive, bool EndsLive>
    void add_twig(const Side& side, const Side& ends, std::size_t depth, double* sums) {
        const std::size_t n = n_;
        const double* above = products_ + depth * n * kRowsAbreast;
        const double *numbers = side.numbers, *end_numbers = ends.numbers;
        const Lanes failed = TREERANK_ALL(side.share), neither = TREERANK_ALL(ends.share);
        for (std::size_t first = 0; first < kRowsAbreast; first += kUnrolled * kLanes) {
            const Masks<AllLive, kUnrolled> rows(side.rows, first);
            const Masks<EndsLive, kUnrolled> end_rows(ends.rows, first);
            Lanes gain[kUnrolled] = {}, end_gain[kUnrolled] = {};
            for (std::size_t q = 0; q < n; ++q) {
                const Lanes a = TREERANK_ALL(numbers[kOwn * n + q]);
                const Lanes b = TREERANK_ALL(numbers[kOther * n + q]);
                const Lanes a_gain = TREERANK_ALL(numbers[kOwnGain * n + q]);
                const Lanes b_gain = TREERANK_ALL(numbers[kOtherGain * n + q]);
                const Lanes c = TREERANK_ALL(end_numbers[kOwn * n + q]);
                const Lanes d = TREERANK_ALL(end_numbers[kOther * n + q]);
                const Lanes c_gain = TREERANK_ALL(end_numbers[kOwnGain * n + q]);
                const Lanes d_gain = TREERANK_ALL(end_numbers[kOtherGain * n + q]);
                for (std::size_t u = 0; u < kUnrolled; ++u) {
                    const std::size_t place = q * kRowsAbreast + first + u * kLanes;
                    const Lanes product = at(above + place) * rows.factor(u, a, b, failed);
                    const Lanes sum = product * end_rows.factor(u, c, d, neither);
                    at(sums + place) = First ? sum : at(sums + place) + sum;
                    end_gain[u] += product * select(end_rows.own[u], c_gain, d_gain);
                    gain[u] += sum * select(rows.own[u], a_gain, b_gain);
                }
            }
            end_rows.add_gains(end_gain, ends.gains + first);
            rows.add_gains(gain, side.gains + first);
        }
    }

    const PathView& tree_;
    const PathBlock& block_;
    const std::size_t n_;
    double* products_;  // by depth: points x rows
    double* sums_;      // by depth: points x rows
};

}  // namespace

void attribute_path_block(const PathView& tree, const PathBlock& block) {
    if (tree.n_tests > 0) Walk(tree, block).run();
}

}  // namespace treerank::TREERANK_ISA
