// How well each of several scores ranks the same rows: plans and amounts of shrinkage are chosen
// by it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/data/types.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

// Rows of two classes with several scores each: score k of row i is scores[i * n_scores + k]. NaN
// is not allowed.
struct ScoredRows {
    const double* scores;
    std::size_t n_rows, n_scores;
    const std::uint8_t* labels;  // 1: positive
    const std::int64_t* units;   // integer weights; null: 1 each
};

// Computes the AUC of each score, with ties counting half, or with a focus its local or partial
// AUC. Sums are integers, so the result depends neither on the pool nor on the order of the rows.
// Both classes must have weight.
void ranking_quality(const ScoredRows& rows, const Focus& focus, ThreadPool& pool, double* quality);

}  // namespace treerank
