// What all nested subtrees of a tree are worth on held-out rows, in one pass along the sequence.
//
// From one subtree to the next a few cells collapse: two leaves go and one comes. So AUC is kept
// up to date in O(log leaves) a collapse, VUS in O(log leaves K^3), and the Brier score in O(1),
// where scoring every subtree anew would take O(leaves) each.
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
    const double* weight = nullptr;  // cells x classes; every class occurs
    std::size_t n_cells = 0;
    std::size_t n_classes = 0;
    std::size_t n_steps = 0;  // subtrees, from the whole tree to the root
};

// For each of several ways to score the cells, what each subtree is worth (ways x steps).
struct PathWorth {
    // Local or partial AUC with a focus, VUS beyond two classes; cells of equal value count as one.
    std::vector<double> auc;
    std::vector<double> brier;  // empty without shares
};

// `value`: ways x cells, higher is better. `share`: ways x cells x (classes - 1), the probability
// that each cell gives to the classes above the first, the second, ...; null where no Brier
// scores are wanted. Beyond two classes these are summed over the ways to cut the classes in two.
struct CellScores {
    const double* value = nullptr;
    const double* share = nullptr;
    std::size_t n_ways = 0;
};

// One result a tree. Weights are summed as whole numbers (fixed point where they have a fraction,
// all of them together below 2^52), so that neither the pool nor the order of the steps matters.
std::vector<PathWorth> held_out_paths(const std::vector<HeldOutTree>& trees,
                                      const std::vector<CellScores>& scores, const Focus& focus,
                                      ThreadPool& pool);

}  // namespace treerank
