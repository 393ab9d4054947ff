// The hot loops of a fit: counting, scanning for the best cut, partitioning and hashing rows. Each
// is compiled for several instruction sets from one source (kernels_isa.cpp); all give
// bit-identical results.
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

// Limits of the search over few rows: features per call, rows, and total weight, which must fit in
// a byte.
inline constexpr std::size_t kFewFeatures = 16, kFewRows = 64;
inline constexpr double kFewWeight = 255;
struct FewCut {
    std::int32_t feature;   // the feature of the new best cut; -1: none
    std::uint32_t missing;  // bit mask of features with missing values, which are skipped
};

// Cuts are evaluated in blocks of this many. The scratch buffer of a scan is longer by as much.
inline constexpr int kLanes = 8;

template <class Code, class Count>
struct Kernels {
    // Adds rows to the histograms of up to four features in one pass. Here and below, the code of
    // row i is column[i * step], and `weights` are those of a view.
    void (*count)(const Row* rows, std::size_t n, const std::int64_t* weights,
                  const Code* const* columns, std::size_t step, Count* const* histograms,
                  std::size_t n_features);
    // Subtracts rows from the histograms.
    void (*uncount)(const Row* rows, std::size_t n, const std::int64_t* weights,
                    const Code* const* columns, std::size_t step, Count* const* histograms,
                    std::size_t n_features);
    // The histogram of one feature over few rows, restricted to codes that occur: counts[0] is the
    // count of missing values (codes[0]: whether there are any), counts[i] belongs to codes[i], in
    // ascending order. Returns the largest i. `counters` (one per code) and `words` (one bit per
    // code) must be zero and are zero again afterwards.
    std::int32_t (*list)(const Row* rows, std::size_t n, const std::int64_t* weights,
                         const Code* column, std::size_t step, std::int32_t n_codes,
                         Count* counters, std::uint64_t* words, std::int32_t* codes, Count* counts);
    // target = parent - child, for all n counters.
    void (*subtract)(Count* target, const Count* parent, const Count* child, std::size_t n);
    // Finds the best Gini cut over codes [1, n_codes), with missing values on the left of all cuts
    // or on the right. Updates `best` if a cut improves on it. `prefix` is scratch for n_codes +
    // kLanes counters.
    void (*scan_gini)(const Count* histogram, std::int32_t n_codes, bool missing_left,
                      const CutSearch& search, Count* prefix, BestCut& best);
    // Finds the best Gini cut of up to kFewRows rows over up to kFewFeatures features. Updates
    // `best` if a cut improves on it; of equal cuts, the first feature wins. Null if codes or
    // weights are wider than a byte.
    FewCut (*cut_few)(const Row* rows, std::size_t n, const Code* const* columns, std::size_t step,
                      std::size_t n_features, const CutSearch& search, BestCut& best);
    // Sums the rows by the side of a cut that they are on: missing, up to the cut, above it.
    void (*sum_sides)(const Row* rows, std::size_t n, const std::int64_t* weights,
                      const Code* column, std::size_t step, Code cut, Count* sums);
    // Writes rows with code - shift <= cut (unsigned) to `left` and the others to `right`, one of
    // which may be `rows`, each in their order. Returns the number of left rows.
    std::size_t (*split)(const Row* rows, std::size_t n, const Code* column, std::size_t step,
                         Code shift, Code cut, Row* left, Row* right);
    // Mixes the codes of one column into the hashes of n rows.
    void (*hash)(const Code* column, std::size_t n, std::uint64_t* hashes);
};

template <class Code, class Count>
const Kernels<Code, Count>& kernels();

}  // namespace treerank
