// A LeafRank tree whose small nodes are grown by a thread each.
#include <algorithm>
#include <numeric>

#include "core/grow/leafrank.hpp"

namespace treerank {

namespace {
constexpr std::size_t kRowsToPassOn = 8192;  // fewer are not worth a team
}  // namespace

// Large nodes are searched by the team together. Rows that are laid side by side for the nodes
// below stay with one thread: nodes that are worth it are small enough to be passed on.
template <class Code, class Count>
std::size_t LeafRank<Code, Count>::rows_to_pass_on(const View<Code>& view, std::size_t n) const {
    const bool pays = pool_ != nullptr && n >= 2 * kRowsToPassOn;
    // Missing values that count as the cell's mean need the rows of the whole cell.
    if (!pays || features_.missing_by_cell_mean()) return 0;
    return std::max({kRowsToPassOn, n / pool_->size(), view.codes.rows / kScattered});
}

template <class Code, class Count>
void LeafRank<Code, Count>::grow_passed_on(ClassWeight cell) {
    std::vector<std::size_t> order(passed_on_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    // The largest first, so that no thread is left with a large one at the end.
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return passed_on_[a].size() > passed_on_[b].size();
    });
    std::vector<std::unique_ptr<LeafRank>> grown(passed_on_.size());
    pool_->run(order.size(), [&](std::size_t i) {
        const Open& open = passed_on_[order[i]];
        auto below = std::make_unique<LeafRank>(features_, options_, monitor_, nullptr);
        OpenNode root = open;
        root.node = 0;
        below->grow(*view_, rows_ + open.first, open.size(), scratch_rows_ + open.first, cell,
                    cell_features_, root, nodes[open.node].weight,
                    open.complete ? open.histogram : nullptr);
        grown[order[i]] = std::move(below);
    });
    graft(grown);
    for (const Open& open : passed_on_) release(open.histogram);
    passed_on_.clear();
}

// Numbers nodes, leaves and sets as growth depth first would have: the children of a node when it
// is its turn, then all that is below the left one.
template <class Code, class Count>
void LeafRank<Code, Count>::graft(const std::vector<std::unique_ptr<LeafRank>>& grown) {
    const std::vector<LeafRankNode> above = std::exchange(nodes, {});
    const std::vector<CategorySet> old_sets = std::exchange(category_sets, {});
    const std::vector<double> old_values = std::exchange(values, {});
    std::vector<LeafRows> rows_of(above.size());
    for (const LeafRows& leaf : std::exchange(leaves, {})) rows_of[leaf.node] = leaf;
    std::vector<std::int32_t> below(above.size(), -1);
    for (std::size_t i = 0; i < grown.size(); ++i)
        below[passed_on_[i].node] = static_cast<std::int32_t>(i);

    struct Place {
        std::int32_t old, number;
    };
    nodes.resize(1);
    std::vector<Place> stack{{0, 0}};
    while (!stack.empty()) {
        const auto [old, number] = stack.back();
        stack.pop_back();
        nodes[number] = above[old];
        if (monotonic_) {
            values.resize(nodes.size());
            values[number] =
                old_values.size() > static_cast<std::size_t>(old) ? old_values[old] : 0;
        }
        if (below[old] >= 0) {
            graft_below(number, passed_on_[below[old]].first, *grown[below[old]]);
        } else if (above[old].left < 0) {
            leaves.push_back({number, rows_of[old].first, rows_of[old].last});
        } else {
            const auto left = static_cast<std::int32_t>(nodes.size());
            nodes[number].left = left;
            nodes[number].right = left + 1;
            if (nodes[number].condition.categorical)
                keep_set(number, old_sets[above[old].condition.cut]);
            nodes.resize(nodes.size() + 2);
            stack.push_back({above[old].right, left + 1});
            stack.push_back({above[old].left, left});
        }
    }
    if (monotonic_) values.resize(nodes.size());
}

// Puts a tree that was grown on rows from `first` on in the place of a node.
template <class Code, class Count>
void LeafRank<Code, Count>::graft_below(std::int32_t number, std::size_t first,
                                        const LeafRank& tree) {
    const std::ptrdiff_t by = std::ssize(nodes) - 1, sets_by = std::ssize(category_sets);
    const auto place = [&](std::int32_t node) {
        return node == 0 ? number : node + static_cast<std::int32_t>(by);
    };
    nodes[number] = shifted(tree.nodes[0], by, sets_by);
    for (std::size_t i = 1; i < tree.nodes.size(); ++i)
        nodes.push_back(shifted(tree.nodes[i], by, sets_by));
    for (const LeafRows& leaf : tree.leaves)
        leaves.push_back({place(leaf.node), first + leaf.first, first + leaf.last});
    category_sets.insert(category_sets.end(), tree.category_sets.begin(), tree.category_sets.end());
    if (!monotonic_) return;
    values.resize(nodes.size());
    for (std::size_t i = 0; i < tree.values.size(); ++i)
        values[place(static_cast<std::int32_t>(i))] = tree.values[i];
}

#define TREERANK_FOR_COUNT(Code, Count)                                                         \
    template std::size_t LeafRank<Code, Count>::rows_to_pass_on(const View<Code>&, std::size_t) \
        const;                                                                                  \
    template void LeafRank<Code, Count>::grow_passed_on(ClassWeight);
TREERANK_FOR_COUNT(std::uint8_t, PackedCount)
TREERANK_FOR_COUNT(std::uint8_t, WideCount)
TREERANK_FOR_COUNT(std::uint16_t, PackedCount)
TREERANK_FOR_COUNT(std::uint16_t, WideCount)
#undef TREERANK_FOR_COUNT

}  // namespace treerank
