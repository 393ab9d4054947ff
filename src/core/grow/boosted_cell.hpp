// A cell of a boosted tree with its finished inner tree (the LeafRank tree that splits it), and the
// two halves that result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/grow/growing_boosted_tree.hpp"
#include "core/split/newton_split.hpp"

namespace treerank {

// A node of the inner tree of a cell.
struct InnerNode {
    Segment at;
    std::int32_t depth = 0;
    NewtonCut cut{};
    bool is_partitioned = false;  // the positions of its children's rows are known
    std::int32_t left = -1;       // the right child follows the left; -1: a leaf
    std::int32_t half = -1;       // leaves only: the cell that it becomes part of
};

// A cell during growth. Cells are stored in the order in which they are created.
struct BoostedCell {
    Segment at;
    std::int32_t depth = 0;
    std::vector<InnerNode> nodes{};      // empty: the cell is a stratum
    std::int32_t left = -1, right = -1;  // the cells of its halves
};

// The halves of a cell, made of the leaves of its inner tree: the first `n_left` leaves and the
// others. If `n_left` is 0, the cell cannot be split.
struct Halves {
    std::int32_t first_test = -1;
    std::vector<BoostedLeaf> leaves{};
    std::size_t n_left = 0;
    Segment left{}, right{};
};

// The total gain of all tests of an inner tree from node `number` downwards, summed left branch
// first.
double gain_inside(const BoostedCell& cell, std::int32_t number = 0);

// Adds the inner tree of a cell to `to`, left branch first, and merges its leaves into halves.
Halves make_halves(GrowingBoostedTree& to, const BoostedCell& cell);

// The buffer with the rows of a cell; boosted_growth.hpp explains buffers.
inline std::int64_t buffer_of_cell(std::int32_t depth) { return depth % 2; }

// Rows [first, first + n) of a buffer, whose scores all change by the same value.
struct BoostedStep {
    std::int64_t first, n, buffer;
    double value;
};

// Adds the cells to `to` in preorder; cells[0] is the root. Appends to `steps` what the tree adds
// to the scores of its rows.
void keep_cells(GrowingBoostedTree& to, const std::vector<BoostedCell>& cells,
                std::vector<BoostedStep>& steps);

}  // namespace treerank
