// The binary logistic loss, where the score is the log-odds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace treerank {

// The scores that determine the largest derivatives of the logistic loss, which are monotone
// functions of the score: the lowest score of the positives, the highest of the negatives, and the
// smallest distance from 0. After rounding, two derivatives that hardly differ may be in another
// order; shards and devices must get the same unit, so they go by these scores as well.
struct ExtremeScores {
    static constexpr double kNone = std::numeric_limits<double>::infinity();
    double of_positives = kNone, of_negatives = -kNone, from_zero = kNone;
};

// Computes the first and second derivatives with respect to the scores of n rows; `labels` are 0 or
// 1. Bit-identical on every processor.
void logistic_derivatives(const double* scores, const std::uint8_t* labels, std::size_t n,
                          double* first, double* second);

// Returns the extreme scores of n rows.
ExtremeScores extreme_scores(const double* scores, const std::uint8_t* labels, std::size_t n);

}  // namespace treerank
