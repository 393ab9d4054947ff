// The AUC of several scores of the same rows, by which plans and amounts of shrinkage are chosen.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/util/thread_pool.hpp"

namespace treerank {

// Rows with several scores each: score k of row i is scores[i * n_scores + k], and no NaN.
struct ScoredRows {
    const double* scores;
    std::size_t n_rows, n_scores;
    const std::uint8_t* labels;  // 1: positive
    const std::int64_t* units;   // whole weights; null: 1 each
};

// The AUC of each score, ties counting half. Whole numbers: it does not depend on the pool. Both
// classes must have weight.
void held_out_auc(const ScoredRows& rows, ThreadPool& pool, double* auc);

}  // namespace treerank
