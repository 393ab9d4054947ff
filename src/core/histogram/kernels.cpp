// Chooses among the compiled kernel tables, once.
#include "core/histogram/kernels.hpp"

#include <cstdlib>
#include <string>

#include "core/histogram/kernels_isa.hpp"
#ifdef TREERANK_HAS_X86_KERNELS
#include "core/histogram/x86_level.hpp"
#undef TREERANK_ISA
#define TREERANK_ISA avx2
#include "core/histogram/kernels_isa.hpp"
#undef TREERANK_ISA
#define TREERANK_ISA avx512
#include "core/histogram/kernels_isa.hpp"
#endif

namespace treerank {

namespace {

enum class Isa { kBase, kAvx2, kAvx512 };

Isa choose() {
#ifdef TREERANK_HAS_X86_KERNELS
    const char* wanted = std::getenv("TREERANK_ISA");
    const std::string name = wanted ? wanted : "avx512";
    const X86Level level = x86_level();
    if (name == "avx512" && level >= X86Level::kV4) return Isa::kAvx512;
    if (name != "base" && level >= X86Level::kV3) return Isa::kAvx2;
#endif
    return Isa::kBase;
}

const Isa chosen = choose();

}  // namespace

const char* instruction_set() {
    return chosen == Isa::kAvx512 ? "avx512" : chosen == Isa::kAvx2 ? "avx2" : "base";
}

#ifdef TREERANK_HAS_X86_KERNELS
#define TREERANK_CHOOSE(table) \
    chosen == Isa::kAvx512 ? avx512::table : chosen == Isa::kAvx2 ? avx2::table : base::table
#else
#define TREERANK_CHOOSE(table) base::table
#endif

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
