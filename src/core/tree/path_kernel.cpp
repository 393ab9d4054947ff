// Chooses among the compiled kernels.
#include <string_view>

#include "core/histogram/kernels.hpp"
#include "core/tree/path_kernel_isa.hpp"
#ifdef TREERANK_HAS_X86_KERNELS
#undef TREERANK_ISA
#define TREERANK_ISA avx2
#include "core/tree/path_kernel_isa.hpp"
#undef TREERANK_ISA
#define TREERANK_ISA avx512
#include "core/tree/path_kernel_isa.hpp"
#endif

namespace treerank {

AttributeBlock attribute_block() {
#ifdef TREERANK_HAS_X86_KERNELS
    const std::string_view isa = instruction_set();
    if (isa == "avx512") return avx512::attribute_path_block;
    if (isa == "avx2") return avx2::attribute_path_block;
#endif
    return base::attribute_path_block;
}

template <>
UpdateValues<float> update_values() {
#ifdef TREERANK_HAS_X86_KERNELS
    const std::string_view isa = instruction_set();
    if (isa == "avx512") return avx512::update_singles;
    if (isa == "avx2") return avx2::update_singles;
#endif
    return base::update_singles;
}

template <>
UpdateValues<double> update_values() {
#ifdef TREERANK_HAS_X86_KERNELS
    const std::string_view isa = instruction_set();
    if (isa == "avx512") return avx512::update_doubles;
    if (isa == "avx2") return avx2::update_doubles;
#endif
    return base::update_doubles;
}

PathView view_of(const PathTree& tree) {
    return {tree.tests.data(), tree.tests.size(), tree.features.size(),
            tree.depth,        tree.n_points,     tree.numbers.data()};
}

std::size_t path_room(const PathTree& tree) {
    return 2 * (tree.depth + 1) * tree.n_points * kRowsAbreast;
}

}  // namespace treerank
