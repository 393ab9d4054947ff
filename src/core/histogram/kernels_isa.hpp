// Declares the kernel tables of one instruction set, named by TREERANK_ISA.
#include "core/histogram/kernels.hpp"

#ifndef TREERANK_ISA
#define TREERANK_ISA base
#endif

namespace treerank::TREERANK_ISA {
extern const Kernels<std::uint8_t, PackedCount> packed8;
extern const Kernels<std::uint8_t, WideCount> wide8;
extern const Kernels<std::uint16_t, PackedCount> packed16;
extern const Kernels<std::uint16_t, WideCount> wide16;
}  // namespace treerank::TREERANK_ISA
