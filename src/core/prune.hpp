// Cost-complexity pruning: the nested subtrees that maximise AUC - lambda * leaves.
#pragma once

#include <cstdint>
#include <vector>

namespace treerank {

// Subtree k (0: the whole tree) is optimal for lambda in [lambdas[k], lambdas[k+1]).
// A cell is split in subtree k if and only if collapsed_at[cell] > k; cells that
// the tree itself does not split have 0.
struct PruningSequence {
    std::vector<double> lambdas;
    std::vector<std::int32_t> collapsed_at;
};

// `left`, `right`: children of each cell in preorder, -1 for none; `gain`: what the
// cell's split adds to the AUC.
PruningSequence cost_complexity(const std::int32_t* left, const std::int32_t* right,
                                const double* gain, std::size_t n_cells);

}  // namespace treerank
