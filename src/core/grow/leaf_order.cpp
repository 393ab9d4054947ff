#include "core/grow/leaf_order.hpp"

#include <algorithm>
#include <utility>

namespace treerank {

namespace {

// beta - alpha is additive over leaves, so the best left side consists of all leaves where it is
// not negative. No sorting is needed, unless this leaves too little weight on one side (n_left 0).
template <class Size>
LeafOrder partition_leaves(const std::vector<LeafRankNode>& nodes,
                           const std::vector<std::int32_t>& leaves, ClassWeight cell,
                           double min_weight, const Size& size_of) {
    LeafOrder order;
    order.leaves.resize(leaves.size());
    std::size_t n_left = 0, n_right = 0;
    double left_size = 0, right_size = 0;
    for (const std::int32_t leaf : leaves) {
        const ClassWeight weight = nodes[leaf].weight;
        const bool better = weight.positive * cell.negative >= weight.negative * cell.positive;
        order.leaves[better ? n_left++ : leaves.size() - ++n_right] = leaf;
        (better ? left_size : right_size) += size_of(leaf);
        if (better) order.left = order.left + weight;
    }
    if (left_size >= min_weight && right_size >= min_weight && n_right > 0) order.n_left = n_left;
    return order;
}

}  // namespace

LeafOrder order_leaves(const LeafRankNodes& tree, ClassWeight cell, double min_weight,
                       const std::vector<double>& size) {
    const std::vector<LeafRankNode>& nodes = tree.nodes;
    const std::vector<double>& value = tree.values;
    const bool by_value = !value.empty();
    std::vector<std::int32_t> leaves;
    for (std::size_t i = 0; i < nodes.size(); ++i)
        if (nodes[i].left < 0) leaves.push_back(static_cast<std::int32_t>(i));
    const auto size_of = [&](std::int32_t leaf) {
        return size.empty() ? nodes[leaf].weight.total() : size[leaf];
    };
    if (!by_value) {
        LeafOrder split = partition_leaves(nodes, leaves, cell, min_weight, size_of);
        if (split.n_left > 0) return split;
    }
    double whole = 0, left_size = 0;
    for (const std::int32_t leaf : leaves) whole += size_of(leaf);
    LeafOrder order;
    order.leaves = std::move(leaves);
    std::sort(order.leaves.begin(), order.leaves.end(), [&](std::int32_t a, std::int32_t b) {
        if (by_value) return value[a] != value[b] ? value[a] > value[b] : a < b;
        const ClassWeight x = nodes[a].weight, y = nodes[b].weight;
        const double one = x.positive * y.negative, other = y.positive * x.negative;
        return one != other ? one > other : a < b;
    });
    double best = 0;
    ClassWeight left;
    for (std::size_t i = 0; i + 1 < order.leaves.size(); ++i) {
        left = left + nodes[order.leaves[i]].weight;
        left_size += size_of(order.leaves[i]);
        if (by_value && value[order.leaves[i]] == value[order.leaves[i + 1]]) continue;
        if (left_size < min_weight || whole - left_size < min_weight) continue;
        const double delta = left.positive * cell.negative - left.negative * cell.positive;
        if (delta > 0 && delta >= best) {
            best = delta;
            order.n_left = i + 1;
            order.left = left;
        }
    }
    return order;
}

}  // namespace treerank
