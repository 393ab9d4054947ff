// Declares the kernels of the path-dependent attributions for one instruction set, named by
// TREERANK_ISA.
#include "core/tree/feature_sets.hpp"
#include "core/tree/path_tree.hpp"

#ifndef TREERANK_ISA
#define TREERANK_ISA base
#endif

namespace treerank::TREERANK_ISA {
void attribute_path_block(const PathView& tree, const PathBlock& block);
void update_singles(const SetView<float>& view, const std::uint32_t* tests, std::size_t n);
void update_doubles(const SetView<double>& view, const std::uint32_t* tests, std::size_t n);
}  // namespace treerank::TREERANK_ISA
