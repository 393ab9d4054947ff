// A cell of a boosted tree whose inner tree is known, and the halves that it makes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/grow/growing_boosted_tree.hpp"
#include "core/split/newton_split.hpp"

namespace treerank {

// A node of the tree inside a cell.
struct InnerNode {
    Segment at;
    NewtonCut cut{};
    std::size_t n_left = 0;
    std::int32_t left = -1;  // the right one comes next; -1: a leaf
};

// A cell as it is grown, whichever comes first.
struct BoostedCell {
    Segment at;
    std::int32_t depth = 0;
    std::vector<InnerNode> nodes{};      // none: it stays whole
    std::int32_t left = -1, right = -1;  // its halves
};

// The halves of a cell, made of the leaves of the tree inside it: the first `n_left` and the
// others. None on the left: the cell cannot be parted.
struct Halves {
    std::int32_t first_test = -1;
    std::vector<BoostedLeaf> leaves{};
    std::size_t n_left = 0;
    Segment left{}, right{};
};

// Adds the tree inside a cell to `to`, the left branch first, and merges its leaves; `moved` gets
// where their rows belong from now on.
Halves make_halves(GrowingBoostedTree& to, const BoostedCell& cell, std::vector<MovedRows>& moved);

// Adds a grown cell to `to`, and what is below it. It is made up of the given leaves of the cell
// above; `at_leaf(stratum, leaf)` is called for those of a cell that stays whole.
template <class AtLeaf>
void keep_cell(GrowingBoostedTree& to, const std::vector<BoostedCell>& cells, std::int32_t number,
               std::int32_t parent, const std::vector<BoostedLeaf>& made_of,
               const AtLeaf& at_leaf) {
    const BoostedCell& cell = cells[number];
    const std::int32_t kept = to.add_cell(cell.at, parent, cell.depth);
    if (cell.left < 0) {
        for (const BoostedLeaf& leaf : made_of) at_leaf(cell.at, leaf);
        return;
    }
    RankTree& tree = to.tree;
    std::vector<MovedRows> moved;  // long ago
    const Halves halves = make_halves(to, cell, moved);
    tree.cells[kept].first_test = halves.first_test;
    tree.cells[kept].last_test = static_cast<std::int32_t>(tree.tests.size());
    const auto middle = halves.leaves.begin() + static_cast<std::ptrdiff_t>(halves.n_left);
    tree.cells[kept].left = static_cast<std::int32_t>(tree.cells.size());
    keep_cell(to, cells, cell.left, kept, {halves.leaves.begin(), middle}, at_leaf);
    tree.cells[kept].right = static_cast<std::int32_t>(tree.cells.size());
    keep_cell(to, cells, cell.right, kept, {middle, halves.leaves.end()}, at_leaf);
}

}  // namespace treerank
