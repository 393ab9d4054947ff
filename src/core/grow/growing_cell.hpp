// The cells of a ranking tree during growth, and their conversion to a flat tree.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <numeric>
#include <vector>

#include "core/data/types.hpp"

namespace treerank {

using Weights = std::vector<double>;  // by class, worst class first, in units

// A cell during growth, with the tests of its split.
struct Growing : CellTests {
    Cell cell;
    std::uint64_t key = 0;  // all draws for its split are functions of it
    Weights class_weight;
    Growing* left = nullptr;
    Growing* right = nullptr;
    std::int32_t number = -1;  // index in the flat tree
    // The weight from the top of the cell down to the end of what counts, as measured by `Focus`.
    // Not positive if the cell is below that.
    double reach = std::numeric_limits<double>::infinity();

    double weight() const { return std::accumulate(class_weight.begin(), class_weight.end(), 0.0); }
};

// The cells of a growing tree; a deque keeps their addresses stable.
using GrowingCells = std::deque<Growing>;

// Returns the root of a tree, or a cell further down where growth starts.
Growing root_cell(Weights weight, std::uint64_t key, const Focus& focus, std::int32_t depth = 0);

// Adds the two children of a cell; `left` is the weight of the better one.
void add_children(Growing& cell, Weights left, const Focus& focus, GrowingCells& grown);

// preorder() returns all cells and numbers them in this order; leaves_of() returns those without
// children, best first.
std::vector<Growing*> preorder(Growing& root);
std::vector<Growing*> leaves_of(Growing& root);

// Lists the cells in preorder, in whatever order they were grown. With `take`, tests may be moved
// instead of copied.
RankTree to_preorder(Growing& root, std::size_t n_classes, bool take = true);

// The inverse of to_preorder(): restores the cells below `root`, which must have no children yet.
// `root` is the root of the tree.
void from_preorder(const RankTree& tree, const Focus& focus, Growing& root, GrowingCells& grown);

// Whether all indices in a tree's records are valid.
bool is_sound(const RankTree& tree, std::size_t n_features);

}  // namespace treerank
