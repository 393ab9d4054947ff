// Values of the cells of a ranking tree. Cells are in preorder: a parent comes before its children.
#pragma once

#include <cstddef>
#include <cstdint>

namespace treerank {

// Fills in the class counts of inner cells (cells x classes) from those of the leaf cells.
void sum_children(const std::int32_t* left, const std::int32_t* right, std::size_t n_cells,
                  std::size_t n_classes, double* counts);

// Shares of the cells (cells x cuts), shrunk along the path from the root: the change at a child of
// a parent of weight n is multiplied by 1 / (1 + shrinkage / n) (hierarchical shrinkage, Agarwal et
// al. 2022). Writes n_shrinkages x cells x cuts values.
struct CellShares {
    const std::int32_t* parent;
    const double* weight;
    const double* share;
    std::size_t n_cells, n_cuts;
};
void shrink_along_paths(const CellShares& cells, const double* shrinkages, std::size_t n_shrinkages,
                        double* values);

}  // namespace treerank
