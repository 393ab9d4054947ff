// Compiled once for each instruction set, with TREERANK_ISA naming it.
#include "core/grow/logistic_kernel_isa.hpp"

#include "core/util/sigmoid.hpp"

namespace treerank::TREERANK_ISA {

void logistic_derivatives(const double* __restrict scores, const std::uint8_t* __restrict labels,
                          std::size_t n, double* __restrict first, double* __restrict second) {
    for (std::size_t i = 0; i < n; ++i) first[i] = sigmoid(scores[i]);
    for (std::size_t i = 0; i < n; ++i) {
        second[i] = first[i] * (1 - first[i]);
        first[i] -= labels[i];
    }
}

}  // namespace treerank::TREERANK_ISA
