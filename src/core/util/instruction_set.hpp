// Which of the instruction sets that kernels are compiled for is used, chosen once.
//
// A header that declares the kernels of one instruction set, in the namespace TREERANK_ISA, is
// named by TREERANK_ISA_HEADER and read by each_isa.hpp for all of them; TREERANK_CHOOSE(name) is
// then the one of `name` that suits the processor.
#pragma once

namespace treerank {

enum class Isa { kBase, kAvx2, kAvx512 };

// The fastest that the processor has, or what the environment variable TREERANK_ISA asks for.
extern const Isa kChosenIsa;

// "avx512", "avx2" or "base".
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
