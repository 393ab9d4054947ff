// Compiled once per instruction set, which TREERANK_ISA names.
//
// Everything here is forced inline or has internal linkage. Otherwise the linker might choose the
// AVX-512 version of a shared inline function for all callers.
#include "core/histogram/kernels_isa.hpp"

#include "core/data/random.hpp"
#include "core/histogram/few_rows_isa.hpp"
#include "core/histogram/scan_isa.hpp"

namespace treerank::TREERANK_ISA {
namespace {

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

// The label and the repeat count are the low five bits of a row, so there are 32 possible
// increments.
struct IncrementTable {
    PackedCount of[32] = {};
    constexpr IncrementTable() {
        for (Row low = 0; low < 32; ++low)
            of[low] = static_cast<PackedCount>(low & kRepeatMask) << (low & kLabelBit ? 32 : 0);
    }
};
constexpr IncrementTable kIncrements;
struct RepeatIncrements {
    TREERANK_INLINE PackedCount of_row(const RepeatIncrements&, Row row) {
        return kIncrements.of[row & 31];
    }
};
// Soft labels: a row counts in both classes.
struct SoftIncrements {
    const std::int64_t* weights;
    TREERANK_INLINE PackedCount of_row(const SoftIncrements& self, Row row) {
        return static_cast<PackedCount>(self.weights[row >> kRowShift]);
    }
};
struct WideIncrements {
    const std::int64_t* weights;
    TREERANK_INLINE WideCount of_row(const WideIncrements& self, Row row) {
        const std::int64_t weight = self.weights[row >> kRowShift];
        const std::int64_t mask = -static_cast<std::int64_t>((row & kLabelBit) != 0);
        return {weight & ~mask, weight & mask};
    }
};
// Calls job with the increments that the counters and weights stand for.
template <class Count, class Job>
TREERANK_INLINE auto with_increments(const std::int64_t* weights, const Job& job) {
    if constexpr (std::is_same_v<Count, WideCount>) {
        return job(WideIncrements{weights});
    } else {
        if (weights != nullptr) return job(SoftIncrements{weights});
        return job(RepeatIncrements{});
    }
}

// Four independent histograms per pass keep four chains of load, add and store in flight, and each
// row is decoded once for all of them.
template <bool Add, int N, bool ByColumn, class Increments, class Code, class Count>
void count_pass(const Row* rows, std::size_t n, const Increments& increments,
                const Code* const* columns, std::size_t step, Count* const* histograms) {
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

template <bool Add, bool ByColumn, class Increments, class Code, class Count>
TREERANK_INLINE void count_some(const Row* rows, std::size_t n, const Increments& increments,
                                const Code* const* columns, std::size_t step,
                                Count* const* histograms, std::size_t n_features) {
    switch (n_features) {
        case 4:
            return count_pass<Add, 4, ByColumn>(rows, n, increments, columns, step, histograms);
        case 3:
            return count_pass<Add, 3, ByColumn>(rows, n, increments, columns, step, histograms);
        case 2:
            return count_pass<Add, 2, ByColumn>(rows, n, increments, columns, step, histograms);
        default:
            return count_pass<Add, 1, ByColumn>(rows, n, increments, columns, step, histograms);
    }
}

template <bool Add, class Code, class Count>
void count(const Row* rows, std::size_t n, const std::int64_t* weights, const Code* const* columns,
           std::size_t step, Count* const* histograms, std::size_t n_features) {
    with_increments<Count>(weights, [&](const auto& increments) {
        if (step == 1)
            count_some<Add, true>(rows, n, increments, columns, step, histograms, n_features);
        else
            count_some<Add, false>(rows, n, increments, columns, step, histograms, n_features);
    });
}

template <class Code, class Count>
std::int32_t list(const Row* rows, std::size_t n, const std::int64_t* weights, const Code* column,
                  std::size_t step, std::int32_t n_codes, Count* counters, std::uint64_t* words,
                  std::int32_t* codes, Count* counts) {
    with_increments<Count>(weights, [&](const auto& increments) {
        for (std::size_t i = 0; i < n; ++i) {
            const Row row = rows[i];
            const Code code = column[(row >> kRowShift) * step];
            update<true>(counters[code], increments.of_row(increments, row));
            words[code >> 6] |= std::uint64_t{1} << (code & 63);
        }
    });
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

template <class Code, class Count>
void sum_sides(const Row* rows, std::size_t n, const std::int64_t* weights, const Code* column,
               std::size_t step, Code cut, Count* sums) {
    with_increments<Count>(weights, [&](const auto& increments) {
        for (std::size_t i = 0; i < n; ++i) {
            const Row row = rows[i];
            const Code code = column[(row >> kRowShift) * step];
            update<true>(sums[(code != 0) + (code > cut)], increments.of_row(increments, row));
        }
    });
}

// Writes every row to both sides and advances only one of the two positions: no branch to
// mispredict, and the order within each side is preserved.
template <class Code>
std::size_t split(const Row* rows, std::size_t n, const Code* column, std::size_t step, Code shift,
                  Code cut, Row* left, Row* right) {
    std::size_t n_left = 0, n_right = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const Row row = rows[i];
        const bool goes_left = static_cast<Code>(column[(row >> kRowShift) * step] - shift) <= cut;
        left[n_left] = row;
        right[n_right] = row;
        n_left += goes_left;
        n_right += !goes_left;
    }
    return n_left;
}

template <class Code>
void hash(const Code* __restrict column, std::size_t n, std::uint64_t* __restrict hashes) {
    for (std::size_t i = 0; i < n; ++i) hashes[i] = mix(hashes[i] ^ column[i]);
}

template <class Code, class Count>
constexpr Kernels<Code, Count> table() {
    decltype(Kernels<Code, Count>::cut_few) few = nullptr;
    if constexpr (sizeof(Code) == 1 && std::is_same_v<Count, PackedCount>) few = &cut_few;
    return {&count<true, Code, Count>,
            &count<false, Code, Count>,
            &list<Code, Count>,
            static_cast<void (*)(Count*, const Count*, const Count*, std::size_t)>(&subtract),
            &scan_gini<Count>,
            few,
            &sum_sides<Code, Count>,
            &split<Code>,
            &hash<Code>};
}

}  // namespace

const Kernels<std::uint8_t, PackedCount> packed8 = table<std::uint8_t, PackedCount>();
const Kernels<std::uint8_t, WideCount> wide8 = table<std::uint8_t, WideCount>();
const Kernels<std::uint16_t, PackedCount> packed16 = table<std::uint16_t, PackedCount>();
const Kernels<std::uint16_t, WideCount> wide16 = table<std::uint16_t, WideCount>();

}  // namespace treerank::TREERANK_ISA
