#include "core/tree/cell_values.hpp"

#include <algorithm>

namespace treerank {

void sum_children(const std::int32_t* left, const std::int32_t* right, std::size_t n_cells,
                  std::size_t n_classes, double* counts) {
    for (std::size_t cell = n_cells; cell-- > 0;) {
        if (left[cell] < 0) continue;
        const double* better = counts + static_cast<std::size_t>(left[cell]) * n_classes;
        const double* worse = counts + static_cast<std::size_t>(right[cell]) * n_classes;
        for (std::size_t k = 0; k < n_classes; ++k)
            counts[cell * n_classes + k] = better[k] + worse[k];
    }
}

void shrink_along_paths(const CellShares& cells, const double* shrinkages, std::size_t n_shrinkages,
                        double* values) {
    const std::size_t n_cuts = cells.n_cuts;
    for (std::size_t s = 0; s < n_shrinkages; ++s, values += cells.n_cells * n_cuts) {
        std::copy_n(cells.share, n_cuts, values);
        for (std::size_t cell = 1; cell < cells.n_cells; ++cell) {
            const auto up = static_cast<std::size_t>(cells.parent[cell]);
            const double step = 1.0 / (1.0 + shrinkages[s] / cells.weight[up]);
            for (std::size_t k = 0; k < n_cuts; ++k) {
                const double change =
                    (cells.share[cell * n_cuts + k] - cells.share[up * n_cuts + k]) * step;
                values[cell * n_cuts + k] = values[up * n_cuts + k] + change;
            }
        }
    }
}

}  // namespace treerank
