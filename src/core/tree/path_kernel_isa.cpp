// Compiled once for each instruction set, with TREERANK_ISA naming it.
//
// Everything here has internal linkage: a shared inline function compiled for AVX-512 could be
// picked by the linker for all callers.
#include "core/tree/path_kernel_isa.hpp"

namespace treerank::TREERANK_ISA {
namespace {

// Rows in a vector of the processor.
#if defined(__AVX512F__)
constexpr std::size_t kLanes = 8;
#elif defined(__AVX2__)
constexpr std::size_t kLanes = 4;
#else
constexpr std::size_t kLanes = 2;
#endif
using Lanes = double __attribute__((vector_size(8 * kLanes)));
using Mask = decltype(Lanes{} > Lanes{});
using LanesAt = double __attribute__((vector_size(8 * kLanes), aligned(8), may_alias));

#define TREERANK_INLINE [[gnu::always_inline]] static inline
TREERANK_INLINE LanesAt& at(double* place) { return *reinterpret_cast<LanesAt*>(place); }
TREERANK_INLINE const LanesAt& at(const double* place) {
    return *reinterpret_cast<const LanesAt*>(place);
}
#define TREERANK_ALL(value) ((value) - Lanes{})

constexpr std::size_t kUnrolled = 4;  // vectors that share the numbers of a test

struct Masks {
    Mask own[kUnrolled], live[kUnrolled];

    [[gnu::always_inline]] inline Masks(const double* own_rows, const double* live_rows) {
        for (std::size_t u = 0; u < kUnrolled; ++u) {
            own[u] = at(own_rows + u * kLanes) > Lanes{};
            live[u] = at(live_rows + u * kLanes) > Lanes{};
        }
    }
};

// Where the rows are at a test: 1 or 0 each.
struct Rows {
    double own[2][kRowsAbreast];  // goes to this side, and has failed no test of the feature
    double live[kRowsAbreast];    // has failed no test of the feature before
};

class Walk {
  public:
    Walk(const PathView& tree, const PathBlock& block)
        : tree_(tree), block_(block), n_(tree.n_points) {
        live_ = block.room;
        products_ = live_ + tree.n_features * kRowsAbreast;
        sums_ = products_ + (tree.depth + 1) * n_ * kRowsAbreast;
        for (std::size_t i = 0; i < tree.n_features * kRowsAbreast; ++i) live_[i] = 1;
        for (std::size_t i = 0; i < n_ * kRowsAbreast; ++i) products_[i] = 1;
    }

    // Leaves in the sums of this depth what the ends below a test add up to.
    void visit(std::size_t number, std::size_t depth) {
        const PathTest& test = tree_.tests[number];
        double* const live = live_ + test.feature * kRowsAbreast;
        double* const gains = block_.sums + test.feature * kRowsAbreast;
        const double* const numbers = tree_.numbers + number * 2 * kSideNumbers * n_;
        Rows rows;
        part(test, live, rows);
        if (test.child[0] < 0 && test.child[1] < 0) {
            const double share = test.share[0] * test.value[0] + test.share[1] * test.value[1];
            return add_end<true>(numbers, share, rows.own[0], rows.live, depth, gains);
        }
        add_side<true>(test, numbers, 0, rows, depth, live, gains);
        add_side<false>(test, numbers + kSideNumbers * n_, 1, rows, depth, live, gains);
        for (std::size_t r = 0; r < kRowsAbreast; ++r) live[r] = rows.live[r];
    }

  private:
    void part(const PathTest& test, const double* live, Rows& rows) const {
        const std::uint16_t* const codes = block_.codes + test.feature * kRowsAbreast;
        const auto shift = static_cast<std::uint16_t>((test.slot.next & kMissingRight) != 0);
        for (std::size_t r = 0; r < kRowsAbreast; ++r) rows.live[r] = live[r];
        if (test.set != nullptr) {
            for (std::size_t r = 0; r < kRowsAbreast; ++r) {
                const bool in_set = (test.set->words[(codes[r] >> 6) & 3] >> (codes[r] & 63)) & 1;
                rows.own[0][r] = in_set ? rows.live[r] : 0.0;
            }
        } else {
            for (std::size_t r = 0; r < kRowsAbreast; ++r) {
                const auto code = static_cast<std::uint16_t>(codes[r] - shift);
                rows.own[0][r] = code <= test.slot.cut ? rows.live[r] : 0.0;
            }
        }
        for (std::size_t r = 0; r < kRowsAbreast; ++r)
            rows.own[1][r] = rows.live[r] - rows.own[0][r];
    }

    template <bool First>
    void add_side(const PathTest& test, const double* numbers, std::size_t side, const Rows& rows,
                  std::size_t depth, double* live, double* gains) {
        if (test.child[side] < 0)
            return add_end<First>(numbers, test.share[side] * test.value[side], rows.own[side],
                                  rows.live, depth, gains);
        multiply(numbers, test.share[side], rows.own[side], rows.live, depth);
        for (std::size_t r = 0; r < kRowsAbreast; ++r) live[r] = rows.own[side][r];
        visit(static_cast<std::size_t>(test.child[side]), depth + 1);
        add_below<First>(numbers, rows.own[side], rows.live, depth, gains);
    }

    // The products of the path one test further down.
    void multiply(const double* numbers, double share, const double* own_rows,
                  const double* live_rows, std::size_t depth) {
        const double* above = products_ + depth * n_ * kRowsAbreast;
        double* below = products_ + (depth + 1) * n_ * kRowsAbreast;
        const Lanes failed = TREERANK_ALL(share);
        for (std::size_t first = 0; first < kRowsAbreast; first += kUnrolled * kLanes) {
            const Masks rows(own_rows + first, live_rows + first);
            for (std::size_t q = 0; q < n_; ++q) {
                const Lanes a = TREERANK_ALL(numbers[kOwn * n_ + q]);
                const Lanes b = TREERANK_ALL(numbers[kOther * n_ + q]);
                for (std::size_t u = 0; u < kUnrolled; ++u) {
                    const std::size_t place = q * kRowsAbreast + first + u * kLanes;
                    at(below + place) = at(above + place) * (rows.own[u]    ? a
                                                             : rows.live[u] ? b
                                                                            : failed);
                }
            }
        }
    }

    // Adds the sums from below one side of the test to its own, and what its feature gets.
    template <bool First>
    void add_below(const double* numbers, const double* own_rows, const double* live_rows,
                   std::size_t depth, double* gains) {
        double* sums = sums_ + depth * n_ * kRowsAbreast;
        const double* below = sums_ + (depth + 1) * n_ * kRowsAbreast;
        for (std::size_t first = 0; first < kRowsAbreast; first += kUnrolled * kLanes) {
            const Masks rows(own_rows + first, live_rows + first);
            Lanes gain[kUnrolled] = {};
            for (std::size_t q = 0; q < n_; ++q) {
                const Lanes a = TREERANK_ALL(numbers[kOwnGain * n_ + q]);
                const Lanes b = TREERANK_ALL(numbers[kOtherGain * n_ + q]);
                for (std::size_t u = 0; u < kUnrolled; ++u) {
                    const std::size_t place = q * kRowsAbreast + first + u * kLanes;
                    const Lanes sum = at(below + place);
                    at(sums + place) = First ? sum : at(sums + place) + sum;
                    gain[u] += sum * (rows.own[u] ? a : b);
                }
            }
            for (std::size_t u = 0; u < kUnrolled; ++u)
                at(gains + first + u * kLanes) += rows.live[u] ? gain[u] : Lanes{};
        }
    }

    // The same for a side that is an end, or for two.
    template <bool First>
    void add_end(const double* numbers, double share, const double* own_rows,
                 const double* live_rows, std::size_t depth, double* gains) {
        const double* above = products_ + depth * n_ * kRowsAbreast;
        double* sums = sums_ + depth * n_ * kRowsAbreast;
        const Lanes failed = TREERANK_ALL(share);
        for (std::size_t first = 0; first < kRowsAbreast; first += kUnrolled * kLanes) {
            const Masks rows(own_rows + first, live_rows + first);
            Lanes gain[kUnrolled] = {};
            for (std::size_t q = 0; q < n_; ++q) {
                const Lanes a = TREERANK_ALL(numbers[kOwn * n_ + q]);
                const Lanes b = TREERANK_ALL(numbers[kOther * n_ + q]);
                const Lanes a_gain = TREERANK_ALL(numbers[kOwnGain * n_ + q]);
                const Lanes b_gain = TREERANK_ALL(numbers[kOtherGain * n_ + q]);
                for (std::size_t u = 0; u < kUnrolled; ++u) {
                    const std::size_t place = q * kRowsAbreast + first + u * kLanes;
                    const Lanes product = at(above + place);
                    const Lanes sum = product * (rows.own[u] ? a : rows.live[u] ? b : failed);
                    at(sums + place) = First ? sum : at(sums + place) + sum;
                    gain[u] += product * (rows.own[u] ? a_gain : b_gain);
                }
            }
            for (std::size_t u = 0; u < kUnrolled; ++u)
                at(gains + first + u * kLanes) += rows.live[u] ? gain[u] : Lanes{};
        }
    }

    const PathView& tree_;
    const PathBlock& block_;
    const std::size_t n_;
    double* live_;      // features x rows: 1 while a row has passed all tests of the feature
    double* products_;  // of each depth: points x rows
    double* sums_;      // the same
};

}  // namespace

void attribute_path_block(const PathView& tree, const PathBlock& block) {
    if (tree.n_tests > 0) Walk(tree, block).visit(0, 0);
}

}  // namespace treerank::TREERANK_ISA
