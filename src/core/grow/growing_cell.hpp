// Cells while a ranking tree grows, and how the grown cells become a flat tree.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <numeric>
#include <vector>

#include "core/data/types.hpp"

namespace treerank {

using Weights = std::vector<double>;  // by class, worst class first, in units

// A cell while the tree grows, with the tests of its split; flattened at the end.
struct Growing : CellTests {
    Cell cell;
    std::uint64_t key = 0;  // what is drawn for its split is a function of it
    Weights class_weight;
    Growing* left = nullptr;
    Growing* right = nullptr;
    std::int32_t number = -1;  // in the flat tree
    // Weight from the best end of the cell to the end of what counts, as `Focus` counts it.
    double reach = std::numeric_limits<double>::infinity();

    double weight() const { return std::accumulate(class_weight.begin(), class_weight.end(), 0.0); }
};

// The ranking tree while it grows; a deque keeps addresses.
using GrowingCells = std::deque<Growing>;

// The root of a tree, or the cell further down where growth begins.
Growing root_cell(Weights weight, std::uint64_t key, const Focus& focus, std::int32_t depth = 0);

// Adds the two children of a cell, the better one being of weight `left`.
void add_children(Growing& cell, Weights left, const Focus& focus, GrowingCells& grown);

// All cells, which are numbered in this order; or those without children, best first.
std::vector<Growing*> preorder(Growing& root);
std::vector<Growing*> leaves_of(Growing& root);

// Lists the cells in preorder, whatever order they were grown in; takes their tests, or copies
// them.
RankTree to_preorder(Growing& root, std::size_t n_classes, bool take = true);

// The inverse: restores what is below a cell without children, which is the root of the tree.
void from_preorder(const RankTree& tree, const Focus& focus, Growing& root, GrowingCells& grown);

// Whether the numbers in a tree's records name cells, tests and sets that are there.
bool is_sound(const RankTree& tree, std::size_t n_features);

}  // namespace treerank
