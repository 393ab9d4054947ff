// Declares the kernel of the path-dependent attributions for one instruction set, named by
// TREERANK_ISA.
#include "core/tree/path_tree.hpp"

#ifndef TREERANK_ISA
#define TREERANK_ISA base
#endif

namespace treerank::TREERANK_ISA {
void attribute_path_block(const PathView& tree, const PathBlock& block);
}  // namespace treerank::TREERANK_ISA
