// Selects the kernels for the instruction set in use.
#include "core/grow/logistic_loss.hpp"

#include "core/util/instruction_set.hpp"

#define TREERANK_ISA_HEADER "core/grow/logistic_kernel_isa.hpp"
#include "core/util/each_isa.hpp"

namespace treerank {

void logistic_derivatives(const double* scores, const std::uint8_t* labels, std::size_t n,
                          double* first, double* second) {
    TREERANK_CHOOSE(logistic_derivatives)(scores, labels, n, first, second);
}

ExtremeScores extreme_scores(const double* scores, const std::uint8_t* labels, std::size_t n) {
    return TREERANK_CHOOSE(extreme_scores)(scores, labels, n);
}

}  // namespace treerank
