#include "core/grow/leafrank_tree.hpp"

#include <utility>

namespace treerank {

void LeafRankTree::reset(ClassWeight cell) {
    cell_ = cell;
    nodes.assign(1, LeafRankNode{});
    nodes[0].weight = cell;
    category_sets.clear();
    values.clear();
}

bool LeafRankTree::may_split(const OpenNode& open) const {
    const ClassWeight weight = nodes[open.node].weight;
    const bool deep = options_.max_depth >= 0 && open.depth >= options_.max_depth;
    return !deep && !is_full() && !weight.pure() && weight.total() >= options_.min_weight_split &&
           weight.total() >= 2 * options_.min_weight_leaf;
}

CutSearch LeafRankTree::search_of(const OpenNode& open) const {
    CutSearch search;
    search.criterion = options_.criterion;
    search.node = nodes[open.node].weight;
    search.positive_cost = cell_.negative;
    search.negative_cost = cell_.positive;
    search.min_weight_leaf = options_.min_weight_leaf;
    search.independent_weight = options_.independent_weight;
    search.lower = open.lower;
    search.upper = open.upper;
    return search;
}

std::pair<OpenNode, OpenNode> LeafRankTree::split(const OpenNode& open, const Split& split) {
    const ClassWeight weight = nodes[open.node].weight;
    const std::int32_t left_node = add_children(open.node, split.condition, split.left);
    if (split.condition.categorical) add_category_set(open.node, split.set);
    OpenNode left{left_node, open.depth + 1, key_of(open.key, 0), open.lower, open.upper};
    OpenNode right{left_node + 1, open.depth + 1, key_of(open.key, 1), open.lower, open.upper};
    const std::int8_t sign = features_.monotonic[split.condition.feature];
    if (sign != 0) {
        const CutSearch search = search_of(open);
        const double mid =
            (bounded_value(search, split.left) + bounded_value(search, weight - split.left)) / 2;
        (sign > 0 ? left : right).upper = mid;
        (sign > 0 ? right : left).lower = mid;
    }
    store_value(open);
    return {left, right};
}

void LeafRankTree::store_value(const OpenNode& open) {
    if (!monotonic_) return;
    values.resize(nodes.size());
    values[open.node] = bounded_value(search_of(open), nodes[open.node].weight);
}

void LeafRankTree::renumber(const std::vector<std::int32_t>& visited,
                            const std::vector<std::int32_t>& number) {
    const std::vector<LeafRankNode> old_nodes = std::move(nodes);
    const std::vector<CategorySet> old_sets = std::move(category_sets);
    const std::vector<double> old_values = std::move(values);
    nodes.assign(visited.size(), {});
    category_sets.clear();
    values.assign(old_values.empty() ? 0 : visited.size(), 0.0);
    for (const std::int32_t old : visited) {
        LeafRankNode node = old_nodes[old];
        if (node.left < 0 || number[node.left] < 0) {
            node = {SplitCondition{}, -1, -1, -1, node.weight};
        } else {
            node.left = number[node.left];
            node.right = number[node.right];
        }
        if (node.condition.categorical) {
            category_sets.push_back(old_sets[node.condition.cut]);
            node.condition.cut = static_cast<std::int32_t>(category_sets.size()) - 1;
        }
        nodes[number[old]] = node;
        if (!values.empty()) values[number[old]] = old_values[old];
    }
}

void LeafRankTree::graft(std::int32_t leaf, const LeafRankNodes& below) {
    const auto by = std::ssize(nodes) - 1, sets_by = std::ssize(category_sets);
    nodes.resize(nodes.size() + below.nodes.size() - 1);
    if (monotonic_) values.resize(nodes.size());
    for (std::size_t i = 0; i < below.nodes.size(); ++i) {
        const std::size_t to = i == 0 ? leaf : by + i;
        nodes[to] = shifted(below.nodes[i], by, sets_by);
        if (!below.values.empty()) values[to] = below.values[i];
    }
    category_sets.insert(category_sets.end(), below.category_sets.begin(),
                         below.category_sets.end());
}

std::vector<std::int32_t> LeafRankTree::number_depth_first() {
    std::vector<std::int32_t> visited, number(nodes.size(), 0), stack{0};
    std::int32_t next = 1;
    while (!stack.empty()) {
        const std::int32_t old = stack.back();
        stack.pop_back();
        visited.push_back(old);
        const LeafRankNode& node = nodes[old];
        if (node.left < 0) continue;
        stack.push_back(node.right);
        stack.push_back(node.left);
        number[node.left] = next++;
        number[node.right] = next++;
    }
    renumber(visited, number);
    return number;
}

bool fit_together(const std::vector<LeafRankNode>& nodes, std::ptrdiff_t first, std::ptrdiff_t last,
                  std::size_t n_features, std::size_t n_sets) {
    const auto is_below = [](std::int32_t number, std::size_t n) {
        return number >= 0 && static_cast<std::size_t>(number) < n;
    };
    for (std::ptrdiff_t i = first; i < last; ++i) {
        const LeafRankNode& node = nodes[i];
        if (node.left < 0) continue;
        if (node.left <= i || node.left >= last || node.right <= i || node.right >= last ||
            !is_below(node.condition.feature, n_features) ||
            (node.condition.categorical && !is_below(node.condition.cut, n_sets)))
            return false;
    }
    return true;
}

Priority LeafRankTree::priority(const OpenNode& open, const Split& split) const {
    if (options_.criterion != Criterion::kGini) return {split.gain, open.node};
    return {split.gain / search_of(open).cost(nodes[open.node].weight), open.node};
}

}  // namespace treerank
