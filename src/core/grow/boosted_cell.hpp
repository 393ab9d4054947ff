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

// Rows [first, first + n) whose scores move by the same value, of a stratum at some depth.
struct LeafStep {
    std::size_t first = 0;
    std::size_t n = 0;
    std::int32_t depth = 0;
    float value = 0;
};

// Adds the cells, of which the first is the root, to `to`, each before what is below it; `steps`
// gets what the tree adds to the scores of its rows.
void keep_cells(GrowingBoostedTree& to, const std::vector<BoostedCell>& cells,
                std::vector<LeafStep>& steps);

}  // namespace treerank
