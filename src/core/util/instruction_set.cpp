#include "core/util/instruction_set.hpp"

#include <cstdlib>
#include <string>

#ifdef TREERANK_HAS_X86_KERNELS
#include "core/util/x86_level.hpp"
#endif

namespace treerank {

namespace {

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

}  // namespace

const Isa kChosenIsa = choose();

const char* instruction_set() {
    return kChosenIsa == Isa::kAvx512 ? "avx512" : kChosenIsa == Isa::kAvx2 ? "avx2" : "base";
}

}  // namespace treerank
