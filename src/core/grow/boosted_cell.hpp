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
    std::int32_t depth = 0;
    NewtonCut cut{};
    bool is_partitioned = false;  // its rows, so that those of its children are known
    std::int32_t left = -1;       // the right one comes next; -1: a leaf
    std::int32_t half = -1;       // of a leaf: the cell that it is merged into
};

// A cell as it is grown, whichever comes first.
struct BoostedCell {
    Segment at;
    std::int32_t depth = 0;
    std::vector<InnerNode> nodes{};      // none: it is a stratum
    std::int32_t left = -1, right = -1;  // its halves
};

// The halves of a cell, made of the leaves of the tree inside it: the first `n_left` and the
// others. None on the left: the cell cannot be split.
struct Halves {
    std::int32_t first_test = -1;
    std::vector<BoostedLeaf> leaves{};
    std::size_t n_left = 0;
    Segment left{}, right{};
};

// Of all tests of the tree inside a cell, the left branch first.
double gain_inside(const BoostedCell& cell, std::int32_t number = 0);

// Adds the tree inside a cell to `to`, the left branch first, and merges its leaves.
Halves make_halves(GrowingBoostedTree& to, const BoostedCell& cell);

// Of the rows of a cell; what buffers are BoostedGrowth says.
inline std::int64_t buffer_of_cell(std::int32_t depth) { return depth % 2; }

// Rows [first, first + n) of a buffer, whose scores move by the same value.
struct BoostedStep {
    std::int64_t first, n, buffer;
    double value;
};

// Adds the cells, of which the first is the root, to `to`, each before what is below it; `steps`
// gets what the tree adds to the scores of its rows.
void keep_cells(GrowingBoostedTree& to, const std::vector<BoostedCell>& cells,
                std::vector<BoostedStep>& steps);

}  // namespace treerank
