#include "core/grow/boosted_cell.hpp"

#include <tuple>

namespace treerank {

namespace {

// Adds what is below a node of the tree inside a cell to a node of `to`.
void add_nodes(GrowingBoostedTree& to, std::int32_t node, const BoostedCell& cell,
               std::int32_t number, std::vector<BoostedLeaf>& leaves) {
    const InnerNode& from = cell.nodes[number];
    if (from.left < 0) {
        leaves.push_back({node, from.at});
        return;
    }
    const auto [left, right] = to.split_node(node, from.cut, from.n_left);
    add_nodes(to, left, cell, from.left, leaves);
    add_nodes(to, right, cell, from.left + 1, leaves);
}

}  // namespace

Halves make_halves(GrowingBoostedTree& to, const BoostedCell& cell, std::vector<MovedRows>& moved) {
    Halves halves;
    halves.first_test = to.add_node(cell.at);
    add_nodes(to, halves.first_test, cell, 0, halves.leaves);
    const bool constrained = to.is_constrained(halves.first_test);
    halves.n_left = to.order_leaves(halves.leaves, cell.at, constrained);
    if (halves.n_left > 0)
        std::tie(halves.left, halves.right) =
            to.merge(halves.leaves, halves.n_left, cell.at, constrained, moved);
    return halves;
}

}  // namespace treerank
