// Distances to the decision boundary of a tree of random tests.
#include "core/geometric/geometric.hpp"
#include "digest.hpp"
#include "random_table.hpp"

namespace treerank {

namespace {

// A full tree of the given depth; leaves are numbered from 0.
void add_below(AxisTree& tree, std::uint64_t key, int depth, std::int32_t& n_leaves) {
    const std::size_t at = tree.nodes.size();
    tree.nodes.emplace_back();
    if (depth == 0) {
        tree.nodes[at].leaf = n_leaves++;
        return;
    }
    const std::uint64_t bits = key_of(key, 2);
    tree.nodes[at].feature = static_cast<std::int32_t>(bits % RandomTable::kNumbers);
    tree.nodes[at].threshold = static_cast<double>(bits >> 54) / 1024 - 0.5;
    tree.nodes[at].missing_left = (bits >> 8) & 1;
    tree.nodes[at].left = static_cast<std::int32_t>(tree.nodes.size());
    add_below(tree, key_of(key, 0), depth - 1, n_leaves);
    tree.nodes[at].right = static_cast<std::int32_t>(tree.nodes.size());
    add_below(tree, key_of(key, 1), depth - 1, n_leaves);
}

}  // namespace

void add_geometry(Results& results) {
    const RandomTable table;
    AxisTree graph;
    std::int32_t n_leaves = 0;
    add_below(graph, 17, 6, n_leaves);
    const AxisTree tree = expand(graph, std::vector<std::int32_t>(RandomTable::kNumbers), 1 << 16);
    std::vector<std::uint8_t> side(n_leaves);
    for (std::size_t i = 0; i < side.size(); ++i) side[i] = key_of(19, i) & 1;
    std::vector<double> rows(RandomTable::kRows * RandomTable::kNumbers);
    for (std::size_t i = 0; i < RandomTable::kRows; ++i)
        for (std::size_t f = 0; f < RandomTable::kNumbers; ++f)
            rows[i * RandomTable::kNumbers + f] = table.matrix().at(i, f);
    const std::vector<double> scale{1, 0.5, 2, 0.1, 3, 0.7};
    results.add("geometric", [&](ThreadPool& pool) {
        const Boundary found = find_boundary(
            tree, side, {rows.data(), RandomTable::kRows, RandomTable::kNumbers}, scale, pool);
        Digest digest;
        digest.add(tree.nodes);
        digest.add(found.leaf);
        digest.add(found.distance);
        digest.add(found.nearest);
        return digest;
    });
}

}  // namespace treerank
