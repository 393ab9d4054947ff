#include "core/grow/leafrank_tree.hpp"

namespace treerank {

void LeafRankTree::plant(ClassMass cell) {
    cell_ = cell;
    nodes.assign(1, LeafRankNode{});
    nodes[0].mass = cell;
    category_sets.clear();
    values.clear();
}

bool LeafRankTree::may_split(const OpenNode& open) const {
    const ClassMass mass = nodes[open.node].mass;
    const bool deep = options_.max_depth >= 0 && open.depth >= options_.max_depth;
    return !deep && !mass.pure() && mass.total() >= options_.min_mass_split &&
           mass.total() >= 2 * options_.min_mass_leaf;
}

CutSearch LeafRankTree::search_of(const OpenNode& open) const {
    CutSearch search;
    search.criterion = options_.criterion;
    search.node = nodes[open.node].mass;
    search.positive_cost = cell_.negative;
    search.negative_cost = cell_.positive;
    search.min_mass_leaf = options_.min_mass_leaf;
    search.independent_mass = options_.independent_mass;
    search.lower = open.lower;
    search.upper = open.upper;
    return search;
}

std::pair<OpenNode, OpenNode> LeafRankTree::split(const OpenNode& open, const Split& split) {
    const auto left_node = static_cast<std::int32_t>(nodes.size());
    const ClassMass mass = nodes[open.node].mass;
    nodes.resize(nodes.size() + 2);
    nodes[left_node].mass = split.left;
    nodes[left_node + 1].mass = mass - split.left;
    LeafRankNode& node = nodes[open.node];
    node.test = split.test;
    node.left = left_node;
    node.right = left_node + 1;
    if (split.test.categorical) {
        node.test.cut = static_cast<std::int32_t>(category_sets.size());
        category_sets.push_back(split.set);
    }
    OpenNode left{left_node, open.depth + 1, key_of(open.key, 0), open.lower, open.upper};
    OpenNode right{left_node + 1, open.depth + 1, key_of(open.key, 1), open.lower, open.upper};
    const std::int8_t sign = features_.monotonic[split.test.feature];
    if (sign != 0) {
        const CutSearch search = search_of(open);
        const double mid =
            (bounded_value(search, split.left) + bounded_value(search, mass - split.left)) / 2;
        (sign > 0 ? left : right).upper = mid;
        (sign > 0 ? right : left).lower = mid;
    }
    note_value(open);
    return {left, right};
}

void LeafRankTree::note_value(const OpenNode& open) {
    if (!monotonic_) return;
    values.resize(nodes.size());
    values[open.node] = bounded_value(search_of(open), nodes[open.node].mass);
}

double LeafRankTree::priority(const OpenNode& open, const Split& split) const {
    if (options_.criterion != Criterion::kGini) return split.gain;
    return split.gain / search_of(open).cost(nodes[open.node].mass);
}

}  // namespace treerank
