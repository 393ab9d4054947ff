// Declares the kernels of the logistic loss for one instruction set, named by TREERANK_ISA.
#include <cstddef>
#include <cstdint>

#include "core/grow/logistic_loss.hpp"

#ifndef TREERANK_ISA
#define TREERANK_ISA base
#endif

namespace treerank::TREERANK_ISA {
void logistic_derivatives(const double* scores, const std::uint8_t* labels, std::size_t n,
                          double* first, double* second);
ExtremeScores extreme_scores(const double* scores, const std::uint8_t* labels, std::size_t n);
}  // namespace treerank::TREERANK_ISA
