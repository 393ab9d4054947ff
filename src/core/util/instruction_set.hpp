// Selects, once per process, which of the compiled instruction sets the kernels use.
//
// A header that declares the kernels of one instruction set, in the namespace TREERANK_ISA, is
// named by TREERANK_ISA_HEADER and included by each_isa.hpp once per instruction set.
// TREERANK_CHOOSE(name) then evaluates to the version of `name` that suits the processor.
#pragma once

namespace treerank {

enum class Isa { kBase, kAvx2, kAvx512 };

// The best instruction set that the processor supports, or the one requested by the environment
// variable TREERANK_ISA.
extern const Isa kChosenIsa;

// Returns "avx512", "avx2" or "base".
const char* instruction_set();

}  // namespace treerank

#ifdef TREERANK_HAS_X86_KERNELS
#define TREERANK_CHOOSE(name)                              \
    (kChosenIsa == ::treerank::Isa::kAvx512 ? avx512::name \
     : kChosenIsa == ::treerank::Isa::kAvx2 ? avx2::name   \
                                            : base::name)
#else
#define TREERANK_CHOOSE(name) (base::name)
#endif
