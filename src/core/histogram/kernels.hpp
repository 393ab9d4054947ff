// The three loops that a fit spends its time in: counting, scanning for the best
// cut, and partitioning rows. Each is compiled for several instruction sets from one
// source (kernels_isa.cpp); all give the same bits.
#pragma once

#include "core/data/types.hpp"
#include "core/split/gain.hpp"

namespace treerank {

// The best cut of one feature: codes up to `cut` go left. `gap_end` is the next
// occupied code: any cut in [cut, gap_end) splits the rows in the same way.
struct BestCut {
    double gain = 0;  // 0: no cut
    std::int32_t cut = -1;
    std::int32_t gap_end = -1;
    bool missing_left = false;
    ClassWeight left;
};

// The search over few rows takes this many features at once, of rows whose weights fit a byte.
inline constexpr std::size_t kFewFeatures = 16, kFewRows = 64;
inline constexpr double kFewWeight = 255;
struct FewCut {
    std::int32_t feature;   // whose cut is now the best; -1: none
    std::uint32_t missing;  // a bit for each feature with missing values, which are passed over
};

// Cuts are looked at in blocks of this many; scratch for a scan is longer by this much.
inline constexpr int kLanes = 8;

template <class Code, class Count>
struct Kernels {
    // Adds the rows to the histograms of up to four features in one pass. Here and below the
    // code of row i is column[i * step].
    void (*count)(const Row* rows, std::size_t n, const std::int64_t* weights,
                  const Code* const* columns, std::size_t step, Count* const* histograms,
                  std::size_t n_features);
    // Takes the rows out again.
    void (*uncount)(const Row* rows, std::size_t n, const std::int64_t* weights,
                    const Code* const* columns, std::size_t step, Count* const* histograms,
                    std::size_t n_features);
    // The histogram of one feature over few rows, codes that do not occur left out:
    // counts[0] is missing (codes[0]: whether it occurs), counts[i] belongs to codes[i],
    // ascending. Returns the largest i. `counters` (one per code) and `words` (one bit per
    // code) are zero before and after.
    std::int32_t (*list)(const Row* rows, std::size_t n, const std::int64_t* weights,
                         const Code* column, std::size_t step, std::int32_t n_codes,
                         Count* counters, std::uint64_t* words, std::int32_t* codes, Count* counts);
    // target = parent - child, over all counters.
    void (*subtract)(Count* target, const Count* parent, const Count* child, std::size_t n);
    // Best Gini cut over codes [1, n_codes), `missing` going left with all cuts or right.
    // Improves `best`; prefix is scratch for n_codes + kLanes counters.
    void (*scan_gini)(const Count* histogram, std::int32_t n_codes, bool missing_left,
                      const CutSearch& search, Count* prefix, BestCut& best);
    // Best Gini cut of up to kFewRows rows over up to kFewFeatures features; improves `best`, of
    // equal cuts the first feature's. Null where weights or codes are wider than a byte.
    FewCut (*cut_few)(const Row* rows, std::size_t n, const Code* const* columns, std::size_t step,
                      std::size_t n_features, const CutSearch& search, BestCut& best);
    // Sums the rows by where a cut puts them: missing, up to the cut, above it.
    void (*sum_sides)(const Row* rows, std::size_t n, const std::int64_t* weights,
                      const Code* column, std::size_t step, Code cut, Count* sums);
    // Stable partition: rows with code - shift <= cut (unsigned) first. Returns their number.
    std::size_t (*partition)(Row* rows, std::size_t n, const Code* column, std::size_t step,
                             Code shift, Code cut, Row* scratch);
};

template <class Code, class Count>
const Kernels<Code, Count>& kernels();

}  // namespace treerank
