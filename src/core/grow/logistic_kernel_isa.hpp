// Declares the kernel of the logistic loss for one instruction set, named by TREERANK_ISA.
#include <cstddef>
#include <cstdint>

#ifndef TREERANK_ISA
#define TREERANK_ISA base
#endif

namespace treerank::TREERANK_ISA {
void logistic_derivatives(const double* scores, const std::uint8_t* labels, std::size_t n,
                          double* first, double* second);
}  // namespace treerank::TREERANK_ISA
