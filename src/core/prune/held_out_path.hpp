// Evaluates all nested subtrees of a tree on held-out rows, in one pass along the sequence.
//
// From one subtree to the next, a few cells collapse: two leaves are replaced by one. So AUC is
// updated in O(log leaves) time per collapse, VUS in O(log leaves K^3), and the Brier score in
// O(1), whereas scoring every subtree from scratch would take O(leaves) each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/data/types.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

// A tree with its nested subtrees (see PruningSequence) and the held-out weights of its cells.
struct HeldOutTree {
    const std::int32_t* left = nullptr;  // children of each cell in preorder, -1 for none
    const std::int32_t* right = nullptr;
    const std::int32_t* collapsed_at = nullptr;
    const double* weight = nullptr;  // cells x classes; every class must occur
    std::size_t n_cells = 0;
    std::size_t n_classes = 0;
    std::size_t n_steps = 0;  // the number of subtrees, from the whole tree to the root
};

// The quality of each subtree, for each of several ways to score the cells (ways x steps).
struct PathWorth {
    // AUC; local or partial AUC with a focus; VUS with more than two classes. Cells of equal value
    // are tied.
    std::vector<double> auc;
    std::vector<double> brier;  // empty without shares
};

// `value`: ways x cells, higher is better. `share`: ways x cells x (classes - 1), the probability
// that a cell assigns to the classes above the first, above the second, ...; null if no Brier
// scores are needed. With more than two classes, Brier scores are summed over the ways to divide
// the classes in two.
struct CellScores {
    const double* value = nullptr;
    const double* share = nullptr;
    std::size_t n_ways = 0;
};

// Returns one result per tree. Weights are summed as integers (in fixed point if they have a
// fraction, with a total below 2^52), so that neither the pool nor the order of the steps matters.
std::vector<PathWorth> held_out_paths(const std::vector<HeldOutTree>& trees,
                                      const std::vector<CellScores>& scores, const Focus& focus,
                                      ThreadPool& pool);

}  // namespace treerank
