// Selects the kernels for the instruction set in use.
#include "core/util/instruction_set.hpp"

#define TREERANK_ISA_HEADER "core/tree/path_kernel_isa.hpp"
#include "core/util/each_isa.hpp"

namespace treerank {

AttributeBlock attribute_block() { return TREERANK_CHOOSE(attribute_path_block); }

template <>
UpdateValues<float> update_values() {
    return TREERANK_CHOOSE(update_singles);
}

template <>
UpdateValues<double> update_values() {
    return TREERANK_CHOOSE(update_doubles);
}

PathView view_of(const PathTree& tree) {
    return {tree.tests.data(), tree.tests.size(), tree.features.size(),
            tree.depth,        tree.n_points,     tree.numbers.data()};
}

std::size_t scratch_size(const PathTree& tree) {
    return 2 * (tree.depth + 1) * tree.n_points * kRowsAbreast;
}

}  // namespace treerank
