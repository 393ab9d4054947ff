// Pruning: the nested subtrees that maximise AUC - lambda * leaves, and the subtree that maximises
// AUC - penalty(leaves) for any penalty.
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

// Returns the nested subtrees of a tree. `left`, `right`: the children of each cell in preorder, -1
// for none; `gain`: what the split of the cell adds to the AUC.
PruningSequence cost_complexity(const std::int32_t* left, const std::int32_t* right,
                                const double* gain, std::size_t n_cells);

// The same with VUS in place of AUC. From four classes on, the gain of a split depends on how the
// other cells are split, so each subtree is evaluated as a whole: every step collapses the inner
// cell that loses the least VUS per leaf. `weight`: cells x classes. Takes O(leaves^2 K^2) time.
PruningSequence vus_complexity(const std::int32_t* left, const std::int32_t* right,
                               const double* weight, std::size_t n_cells, std::size_t n_classes);

struct PenalisedSubtree {
    std::vector<double> gain;         // [k - 1]: the largest gain of a subtree with k leaves
    std::vector<std::uint8_t> split;  // whether the best subtree splits the cell
};

// Maximises gain - penalty[leaves - 1] over all subtrees with at most n_penalties leaves; on ties
// the fewer leaves. Takes O(leaves * min(leaves, n_penalties)) time.
PenalisedSubtree penalised_subtree(const std::int32_t* left, const std::int32_t* right,
                                   const double* gain, std::size_t n_cells, const double* penalty,
                                   std::size_t n_penalties);

}  // namespace treerank
