#include "core/grow/boosted_cell.hpp"

#include <tuple>

namespace treerank {

namespace {

// Adds the nodes below node `number` of a cell's inner tree below node `node` of `to`, and collects
// the leaves.
void add_nodes(GrowingBoostedTree& to, std::int32_t node, const BoostedCell& cell,
               std::int32_t number, std::vector<BoostedLeaf>& leaves) {
    const InnerNode& from = cell.nodes[number];
    if (from.left < 0) {
        leaves.push_back({node, number, from.at, from.at.first});
        return;
    }
    const auto [left, right] = to.split_node(node, from.cut);
    add_nodes(to, left, cell, from.left, leaves);
    add_nodes(to, right, cell, from.left + 1, leaves);
}

// Adds a cell, which consists of the given leaves of its parent's inner tree, and all cells below
// it.
void keep_cell(GrowingBoostedTree& to, const std::vector<BoostedCell>& cells, std::int32_t number,
               std::int32_t parent, const std::vector<BoostedLeaf>& made_of,
               std::vector<BoostedStep>& steps) {
    const BoostedCell& cell = cells[number];
    const std::int32_t kept = to.add_cell(cell.at, parent, cell.depth);
    if (cell.nodes.empty()) {
        for (const BoostedLeaf& leaf : made_of)
            steps.push_back({leaf.rows.first, leaf.rows.n, buffer_of_cell(cell.depth),
                             to.step_of(cell.at, leaf.node)});
        return;
    }
    const Halves halves = make_halves(to, cell);
    to.tree.cells[kept].first_test = halves.first_test;
    to.tree.cells[kept].last_test = static_cast<std::int32_t>(to.tree.tests.size());
    const auto middle = halves.leaves.begin() + static_cast<std::ptrdiff_t>(halves.n_left);
    to.tree.cells[kept].left = static_cast<std::int32_t>(to.tree.cells.size());
    keep_cell(to, cells, cell.left, kept, {halves.leaves.begin(), middle}, steps);
    to.tree.cells[kept].right = static_cast<std::int32_t>(to.tree.cells.size());
    keep_cell(to, cells, cell.right, kept, {middle, halves.leaves.end()}, steps);
}

}  // namespace

void keep_cells(GrowingBoostedTree& to, const std::vector<BoostedCell>& cells,
                std::vector<BoostedStep>& steps) {
    keep_cell(to, cells, 0, -1, {}, steps);
}

double gain_inside(const BoostedCell& cell, std::int32_t number) {
    const InnerNode& node = cell.nodes[number];
    if (node.left < 0) return 0;
    return node.cut.gain + gain_inside(cell, node.left) + gain_inside(cell, node.left + 1);
}

Halves make_halves(GrowingBoostedTree& to, const BoostedCell& cell) {
    Halves halves;
    halves.first_test = to.add_node(cell.at);
    add_nodes(to, halves.first_test, cell, 0, halves.leaves);
    const bool constrained = to.is_constrained(halves.first_test);
    halves.n_left = to.order_leaves(halves.leaves, cell.at, constrained);
    if (halves.n_left > 0)
        std::tie(halves.left, halves.right) =
            to.merge(halves.leaves, halves.n_left, cell.at, constrained);
    return halves;
}

}  // namespace treerank
