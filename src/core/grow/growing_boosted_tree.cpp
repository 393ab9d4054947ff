#include "core/grow/growing_boosted_tree.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace treerank {

namespace {

// Calls visit(node, number, left) for the nodes of an inner tree in preorder. They are numbered as
// in every LeafRank tree: children when their parent is visited. `left` is the number of the left
// child.
template <class Visit>
void visit_inner(const BoostedCell& cell, const Visit& visit) {
    std::vector<std::pair<std::int32_t, std::int32_t>> stack{{0, 0}};
    for (std::int32_t next = 1; !stack.empty();) {
        const auto [node, number] = stack.back();
        stack.pop_back();
        visit(node, number, next);
        const std::int32_t left = cell.nodes[node].left;
        if (left < 0) continue;
        stack.push_back({left + 1, next + 1});
        stack.push_back({left, next});
        next += 2;
    }
}

// The cells and inner trees of a tree that is finished, in the order of a RankTree.
class Assembly {
  public:
    Assembly(const GrowingBoostedTree& from, std::size_t n_features,
             std::vector<BoostedStep>& steps)
        : importance(n_features), from_(from), steps_(steps) {
        add_cell(0, -1);
    }

    RankTree tree;
    std::vector<const Segment*> cells;  // by cell of `tree`
    std::vector<const Segment*> nodes;  // by test of `tree`
    std::vector<double> importance;

  private:
    std::int32_t add_cell(std::int32_t number, std::int32_t parent) {
        const BoostedCell& cell = from_.cells[number];
        const auto added = static_cast<std::int32_t>(cells.size());
        cells.push_back(&cell.at);
        tree.cells.push_back({parent, -1, -1, cell.depth});
        if (cell.nodes.empty()) return added;
        tree.cells[added].first_test = static_cast<std::int32_t>(nodes.size());
        add_inner_tree(cell);
        tree.cells[added].last_test = static_cast<std::int32_t>(nodes.size());
        const std::int32_t left = add_cell(cell.left, added), right = add_cell(cell.right, added);
        tree.cells[added].left = left;
        tree.cells[added].right = right;
        return added;
    }

    void add_inner_tree(const BoostedCell& cell) {
        const std::size_t first = nodes.size();
        tree.tests.resize(first + cell.nodes.size());
        nodes.resize(first + cell.nodes.size());
        visit_inner(cell, [&](std::int32_t i, std::int32_t number, std::int32_t left) {
            const InnerNode& node = cell.nodes[i];
            LeafRankNode& test = tree.tests[first + number];
            nodes[first + number] = &node.at;
            // By these, compile_tree only chooses which side comes next in memory. The weights of
            // the rows would say which is heavier, but boosted trees are walked as fast in any
            // order.
            test.weight = {from_.options.scale.gradient(node.at.sum),
                           from_.options.scale.hessian(node.at.sum)};
            if (node.left < 0) return add_leaf(node, cell, test);
            importance[node.cut.feature] += node.cut.gain;
            test.condition = node.cut.condition();
            test.left = static_cast<std::int32_t>(first) + left;
            test.right = test.left + 1;
            if (!node.cut.categorical) return;
            test.condition.cut = static_cast<std::int32_t>(tree.category_sets.size());
            tree.category_sets.push_back(node.cut.set);
        });
    }

    void add_leaf(const InnerNode& leaf, const BoostedCell& cell, LeafRankNode& test) {
        test.side = leaf.half == cell.left ? 0 : 1;
        const BoostedCell& half = from_.cells[leaf.half];
        if (half.nodes.empty())
            steps_.push_back({leaf.at.first, leaf.at.n, buffer_of_cell(half.depth),
                              from_.step_of(half.at, leaf.at)});
    }

    const GrowingBoostedTree& from_;
    std::vector<BoostedStep>& steps_;
};

}  // namespace

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

// On ties, the leaf with the lower number comes first. (The order of `nodes` depends on how many of
// them were searched together.)
std::vector<std::int32_t> GrowingBoostedTree::leaves_by_value(const BoostedCell& cell) const {
    std::vector<std::int32_t> node_of(cell.nodes.size());
    visit_inner(cell,
                [&](std::int32_t i, std::int32_t number, std::int32_t) { node_of[number] = i; });
    std::vector<std::pair<double, std::int32_t>> leaves;  // minus the value, number
    for (std::size_t number = 0; number < node_of.size(); ++number) {
        const InnerNode& node = cell.nodes[node_of[number]];
        if (node.left < 0) leaves.emplace_back(-value(node.at), static_cast<std::int32_t>(number));
    }
    std::sort(leaves.begin(), leaves.end());
    std::vector<std::int32_t> nodes;
    for (const auto& [_, number] : leaves) nodes.push_back(node_of[number]);
    return nodes;
}

Halves GrowingBoostedTree::halves_of(const BoostedCell& cell) const {
    const bool constrained = std::any_of(
        cell.nodes.begin(), cell.nodes.end(),
        [&](const InnerNode& node) { return node.left >= 0 && sign_of(node.cut.feature) != 0; });
    Halves halves;
    halves.leaves = leaves_by_value(cell);
    const auto leaf = [&](std::size_t i) -> const Segment& {
        return cell.nodes[halves.leaves[i]].at;
    };
    halves.left = halves.right = {cell.at.first, 0, {}, cell.at.bounds};
    double best = -std::numeric_limits<double>::infinity();
    Segment left = halves.left;
    for (std::size_t i = 0; i + 1 < halves.leaves.size(); ++i) {
        left.n += leaf(i).n;
        left.sum += leaf(i).sum;
        if (constrained && value(leaf(i)) == value(leaf(i + 1))) continue;
        const double gain = options.scale.gain(left.sum, cell.at.bounds) +
                            options.scale.gain(cell.at.sum - left.sum, cell.at.bounds);
        if (gain > best) {
            best = gain;
            halves.n_left = i + 1;
            halves.left = left;
        }
    }
    halves.right.first += halves.left.n;
    halves.right.n = cell.at.n - halves.left.n;
    halves.right.sum = cell.at.sum - halves.left.sum;
    if (constrained) keep_apart(halves.left, halves.right);
    return halves;
}

float GrowingBoostedTree::step_of(const Segment& stratum, const Segment& leaf) const {
    const double step = options.by_stratum ? value(stratum) : stratum.bounds.clip(value(leaf));
    return static_cast<float>(options.learning_rate * step);
}

BoostedTree GrowingBoostedTree::compile(std::vector<BoostedStep>& steps) const {
    steps.clear();
    Assembly kept(*this, features_.size(), steps);
    BoostedTree grown;
    std::vector<std::int32_t> arrival;
    grown.flat = compile_tree(kept.tree, nullptr, options.by_stratum ? nullptr : &arrival);
    const FlatTree& flat = grown.flat;
    for (std::uint32_t s = 0; s < flat.slots.size(); ++s) {
        float share = 0, value = 0;
        if (flat.slots[s].next == s) {
            const Segment& stratum = *kept.cells[flat.target[s]];
            const std::int32_t leaf = options.by_stratum ? -1 : arrival[s];
            value = step_of(stratum, leaf < 0 ? stratum : *kept.nodes[leaf]);
        } else {
            const LeafRankNode& test = kept.tree.tests[flat.test[s]];
            share = static_cast<float>(static_cast<double>(kept.nodes[test.left]->sum.weight) /
                                       static_cast<double>(kept.nodes[flat.test[s]]->sum.weight));
        }
        grown.value.push_back(value);
        grown.left_share.push_back(share);
    }
    grown.importance = std::move(kept.importance);
    return grown;
}

}  // namespace treerank
