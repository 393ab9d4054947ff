// Pruning: the nested subtrees that maximise AUC - lambda * leaves, and the one
// that maximises AUC - penalty(leaves) for any penalty.
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

// The same with VUS in place of AUC. From four classes on what a split adds depends on how
// the other cells are cut, so each subtree is judged as a whole: at every step the inner cell
// whose collapse loses least VUS a leaf goes. `weight`: cells x classes. Time O(leaves^2 K^2).
PruningSequence vus_complexity(const std::int32_t* left, const std::int32_t* right,
                               const double* weight, std::size_t n_cells, std::size_t n_classes);

struct PenalisedSubtree {
    std::vector<double> gain;         // [k - 1]: the most that a subtree of k leaves gains
    std::vector<std::uint8_t> split;  // whether the best subtree splits the cell
};

// Maximises gain - penalty[leaves - 1] over all subtrees of at most n_penalties
// leaves; on ties the fewer leaves. Time O(leaves * min(leaves, n_penalties)).
PenalisedSubtree penalised_subtree(const std::int32_t* left, const std::int32_t* right,
                                   const double* gain, std::size_t n_cells, const double* penalty,
                                   std::size_t n_penalties);

}  // namespace treerank
