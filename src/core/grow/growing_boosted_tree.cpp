#include "core/grow/growing_boosted_tree.hpp"

#include <algorithm>
#include <limits>

namespace treerank {

GrowingBoostedTree::GrowingBoostedTree(const Features& features) : features_(features) {}

void GrowingBoostedTree::reset(const BoostingOptions& given) {
    options = given;
    scale = {options.gradient_unit, options.hessian_unit, options.l2};
    tree = {};
    nodes.clear();
    cells_.clear();
    importance.assign(features_.size(), 0.0);
}

std::int32_t GrowingBoostedTree::add_cell(const Segment& at, std::int32_t parent,
                                          std::int32_t depth) {
    Cell cell;
    cell.parent = parent;
    cell.depth = depth;
    tree.cells.push_back(cell);
    cells_.push_back(at);
    return static_cast<std::int32_t>(tree.cells.size()) - 1;
}

std::int32_t GrowingBoostedTree::add_node(const Segment& at) {
    LeafRankNode node;
    node.weight = {scale.gradient(at.sum), scale.hessian(at.sum)};
    tree.tests.push_back(node);
    nodes.push_back(at);
    return static_cast<std::int32_t>(tree.tests.size()) - 1;
}

std::pair<std::int32_t, std::int32_t> GrowingBoostedTree::split_node(std::int32_t node,
                                                                     const NewtonCut& cut) {
    importance[cut.feature] += cut.gain;
    SplitCondition condition = cut.condition();
    if (cut.categorical) {
        condition.cut = static_cast<std::int32_t>(tree.category_sets.size());
        tree.category_sets.push_back(cut.set);
    }
    const auto [left, right] = sides_of(nodes[node], cut);
    const std::int32_t left_node = add_node(left), right_node = add_node(right);
    tree.tests[node].condition = condition;
    tree.tests[node].left = left_node;
    tree.tests[node].right = right_node;
    return {left_node, right_node};
}

std::pair<Segment, Segment> GrowingBoostedTree::sides_of(const Segment& at,
                                                         const NewtonCut& cut) const {
    Segment left{0, 0, cut.left, at.bounds};
    Segment right{0, 0, at.sum - cut.left, at.bounds};
    const std::int8_t sign = sign_of(cut.feature);
    if (sign > 0) keep_apart(right, left);
    if (sign < 0) keep_apart(left, right);
    return {left, right};
}

void GrowingBoostedTree::keep_apart(Segment& better, Segment& worse) const {
    const double middle = (value(better) + value(worse)) / 2;
    better.bounds.lower = worse.bounds.upper = middle;
}

bool GrowingBoostedTree::is_constrained(std::int32_t first_test) const {
    return std::any_of(tree.tests.begin() + first_test, tree.tests.end(),
                       [&](const LeafRankNode& node) {
                           return node.left >= 0 && sign_of(node.condition.feature) != 0;
                       });
}

std::size_t GrowingBoostedTree::order_leaves(std::vector<BoostedLeaf>& leaves, const Segment& cell,
                                             bool constrained) const {
    std::sort(leaves.begin(), leaves.end(), [&](const BoostedLeaf& a, const BoostedLeaf& b) {
        const double x = value(a.rows), y = value(b.rows);
        return x != y ? x > y : a.node < b.node;
    });
    double best = -std::numeric_limits<double>::infinity();
    std::size_t n_left = 0;
    GradientSum left;
    for (std::size_t i = 0; i + 1 < leaves.size(); ++i) {
        left += leaves[i].rows.sum;
        if (constrained && value(leaves[i].rows) == value(leaves[i + 1].rows)) continue;
        const double gain =
            scale.gain(left, cell.bounds) + scale.gain(cell.sum - left, cell.bounds);
        if (gain > best) {
            best = gain;
            n_left = i + 1;
        }
    }
    return n_left;
}

std::pair<Segment, Segment> GrowingBoostedTree::merge(std::vector<BoostedLeaf>& leaves,
                                                      std::size_t n_left, const Segment& cell,
                                                      bool constrained) {
    Segment half[2] = {{cell.first, 0, {}, cell.bounds}, {cell.first, 0, {}, cell.bounds}};
    std::int64_t to = cell.first;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        const int side = i < n_left ? 0 : 1;
        Segment& leaf = leaves[i].rows;
        tree.tests[leaves[i].node].side = side;
        half[side].n += leaf.n;
        half[side].sum += leaf.sum;
        leaf.first = to;
        to += leaf.n;
    }
    half[1].first += half[0].n;
    if (constrained) keep_apart(half[0], half[1]);
    return {half[0], half[1]};
}

float GrowingBoostedTree::step_of(const Segment& stratum, std::int32_t leaf) const {
    const bool by_leaf = !options.by_stratum && leaf >= 0;
    const double step = by_leaf ? stratum.bounds.clip(value(nodes[leaf])) : value(stratum);
    return static_cast<float>(options.learning_rate * step);
}

float GrowingBoostedTree::left_share(std::int32_t test) const {
    if (test < 0) return 0;
    const auto left = static_cast<double>(nodes[tree.tests[test].left].sum.weight);
    return static_cast<float>(left / static_cast<double>(nodes[test].sum.weight));
}

BoostedTree GrowingBoostedTree::compile() {
    std::vector<std::uint8_t> is_split;
    for (const Cell& cell : tree.cells) is_split.push_back(cell.left >= 0);
    BoostedTree grown;
    std::vector<std::int32_t> arrival;
    grown.flat = compile_tree(tree, is_split.data(), options.by_stratum ? nullptr : &arrival);
    const auto& flat = grown.flat;
    for (std::uint32_t s = 0; s < flat.slots.size(); ++s) {
        grown.left_share.push_back(left_share(flat.test[s]));
        const bool is_end = flat.slots[s].next == s;
        const std::int32_t leaf = options.by_stratum ? -1 : arrival[s];
        grown.value.push_back(is_end ? step_of(cells_[flat.target[s]], leaf) : 0);
    }
    grown.importance = std::move(importance);
    return grown;
}

}  // namespace treerank
