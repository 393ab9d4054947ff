// Selects the kernel tables for the instruction set in use.
#include "core/histogram/kernels.hpp"

#include "core/util/instruction_set.hpp"

#define TREERANK_ISA_HEADER "core/histogram/kernels_isa.hpp"
#include "core/util/each_isa.hpp"

namespace treerank {

template <>
const Kernels<std::uint8_t, PackedCount>& kernels() {
    return TREERANK_CHOOSE(packed8);
}
template <>
const Kernels<std::uint8_t, WideCount>& kernels() {
    return TREERANK_CHOOSE(wide8);
}
template <>
const Kernels<std::uint16_t, PackedCount>& kernels() {
    return TREERANK_CHOOSE(packed16);
}
template <>
const Kernels<std::uint16_t, WideCount>& kernels() {
    return TREERANK_CHOOSE(wide16);
}

}  // namespace treerank
