// Chooses among the compiled kernels.
#include "core/grow/logistic_loss.hpp"

#include <string_view>

#include "core/grow/logistic_kernel_isa.hpp"
#include "core/histogram/kernels.hpp"
#ifdef TREERANK_HAS_X86_KERNELS
#undef TREERANK_ISA
#define TREERANK_ISA avx2
#include "core/grow/logistic_kernel_isa.hpp"
#undef TREERANK_ISA
#define TREERANK_ISA avx512
#include "core/grow/logistic_kernel_isa.hpp"
#endif

namespace treerank {

void logistic_derivatives(const double* scores, const std::uint8_t* labels, std::size_t n,
                          double* first, double* second) {
#ifdef TREERANK_HAS_X86_KERNELS
    const std::string_view isa = instruction_set();
    if (isa == "avx512") return avx512::logistic_derivatives(scores, labels, n, first, second);
    if (isa == "avx2") return avx2::logistic_derivatives(scores, labels, n, first, second);
#endif
    base::logistic_derivatives(scores, labels, n, first, second);
}

}  // namespace treerank
