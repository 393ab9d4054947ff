// The logistic loss of two classes, the score being the log-odds.
#pragma once

#include <cstddef>
#include <cstdint>

namespace treerank {

// First and second derivatives by the scores of n rows; `labels` are 0 or 1. The same bits on every
// processor.
void logistic_derivatives(const double* scores, const std::uint8_t* labels, std::size_t n,
                          double* first, double* second);

}  // namespace treerank
