// Includes TREERANK_ISA_HEADER once per instruction set that kernels are compiled for. Deliberately
// without an include guard.
#include TREERANK_ISA_HEADER
#ifdef TREERANK_HAS_X86_KERNELS
#undef TREERANK_ISA
#define TREERANK_ISA avx2
#include TREERANK_ISA_HEADER
#undef TREERANK_ISA
#define TREERANK_ISA avx512
#include TREERANK_ISA_HEADER
#endif
