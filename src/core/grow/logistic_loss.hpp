// The logistic loss of two classes, the score being the log-odds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace treerank {

// Scores that decide how large the derivatives of the logistic loss get, which are monotone: the
// least of the positives, the largest of the negatives and the least distance from 0. Rounded, two
// derivatives that hardly differ may come in another order; so shards and devices, which must get
// the same unit, go by these scores too.
struct ExtremeScores {
    static constexpr double kNone = std::numeric_limits<double>::infinity();
    double of_positives = kNone, of_negatives = -kNone, from_zero = kNone;
};

// First and second derivatives by the scores of n rows; `labels` are 0 or 1. The same bits on every
// processor.
void logistic_derivatives(const double* scores, const std::uint8_t* labels, std::size_t n,
                          double* first, double* second);

// Of n rows.
ExtremeScores extreme_scores(const double* scores, const std::uint8_t* labels, std::size_t n);

}  // namespace treerank
