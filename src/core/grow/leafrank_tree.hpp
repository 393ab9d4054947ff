// A LeafRank tree during growth: its nodes and which of them may still be split, regardless of how
// rows are counted.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/data/random.hpp"
#include "core/data/types.hpp"
#include "core/split/split_search.hpp"

namespace treerank {

// A node that may still be split.
struct OpenNode {
    std::int32_t node = 0;
    std::int32_t depth = 0;
    std::uint64_t key = 0;
    double lower = 0;  // bounds on its share of positives (monotone constraints)
    double upper = 1;
};

// Returns the node with shifted indices, for lists in which its tree and category sets start
// elsewhere.
inline LeafRankNode shifted(LeafRankNode node, std::ptrdiff_t by, std::ptrdiff_t sets_by) {
    if (node.left < 0) return node;
    node.left += static_cast<std::int32_t>(by);
    node.right += static_cast<std::int32_t>(by);
    if (node.condition.categorical) node.condition.cut += static_cast<std::int32_t>(sets_by);
    return node;
}

// Appends the nodes and category sets of a tree to lists that may already have those of other
// trees.
inline void append_tree(const std::vector<LeafRankNode>& nodes,
                        const std::vector<CategorySet>& sets, std::vector<LeafRankNode>& to,
                        std::vector<CategorySet>& sets_to) {
    const auto first = std::ssize(to), first_set = std::ssize(sets_to);
    for (const LeafRankNode& node : nodes) to.push_back(shifted(node, first, first_set));
    sets_to.insert(sets_to.end(), sets.begin(), sets.end());
}

// Whether all indices in nodes [first, last) are valid: children, features and category sets.
bool fit_together(const std::vector<LeafRankNode>& nodes, std::ptrdiff_t first, std::ptrdiff_t last,
                  std::size_t n_features, std::size_t n_sets);

// Returns the leaf reached by a row that is at node `at`.
template <class Code>
std::int32_t leaf_of(std::int32_t at, const std::vector<LeafRankNode>& nodes,
                     const std::vector<CategorySet>& sets, const CodeMatrix<Code>& codes,
                     std::size_t row) {
    while (nodes[at].left >= 0) {
        const SplitCondition& test = nodes[at].condition;
        const bool left = goes_left(test, codes.column(test.feature)[row], sets);
        at = left ? nodes[at].left : nodes[at].right;
    }
    return at;
}

// Buffers for the feature draws of a node, reused for the next.
struct FeatureDraws {
    std::vector<std::int32_t> order;
    std::vector<std::int32_t> drawn;
    std::vector<std::uint64_t> words;  // one bit per feature: whether it is drawn

    // Lists order[first, first + k) in ascending order; setting bits is faster than sorting.
    void list(std::size_t first, std::size_t k, std::size_t n_features) {
        words.assign((n_features + 63) / 64, 0);
        for (std::size_t i = first; i < first + k; ++i)
            words[order[i] / 64] |= std::uint64_t{1} << order[i] % 64;
        drawn.clear();
        for (std::size_t w = 0; w < words.size(); ++w)
            for (std::uint64_t word = words[w]; word != 0; word &= word - 1)
                drawn.push_back(static_cast<std::int32_t>(64 * w) + std::countr_zero(word));
    }
};

// The order of nodes in best-first growth: the node whose split reduces the impurity of the cell
// most comes first, on ties the one created first.
struct Priority {
    double gain;
    std::int32_t node;

    bool operator<(const Priority& other) const {
        return gain != other.gain ? gain < other.gain : node > other.node;
    }
};

// Orders two children by size: the smaller one is counted, the larger one is the parent minus the
// smaller.
template <class Child, class Size>
std::pair<Child&, Child&> smaller_first(Child& left, Child& right, const Size& size_of) {
    if (size_of(left) <= size_of(right)) return {left, right};
    return {right, left};
}

// A LeafRank tree as arrays.
struct LeafRankNodes {
    std::vector<LeafRankNode> nodes;
    std::vector<CategorySet> category_sets;
    // Only under monotone constraints, by node: the share of positives, clipped to its bounds.
    std::vector<double> values;
};

class LeafRankTree : public LeafRankNodes {
  public:
    LeafRankTree(const Features& features, const LeafRankOptions& options)
        : features_(features), options_(options), monotonic_(features.any_monotonic()) {}

    // Starts over with one node, the cell.
    void reset(ClassWeight cell);
    bool may_split(const OpenNode& open) const;
    CutSearch search_of(const OpenNode& open) const;
    // Adds the two children of a node, the left one first.
    std::pair<OpenNode, OpenNode> split(const OpenNode& open, const Split& split);
    // Turns a node into a test. Returns the index of its left child; the right child follows it.
    std::int32_t add_children(std::int32_t node, const SplitCondition& condition,
                              ClassWeight left_weight) {
        const auto left = static_cast<std::int32_t>(nodes.size());
        LeafRankNode child;
        child.weight = nodes[node].weight - left_weight;
        nodes[node].condition = condition;
        nodes[node].left = left;
        nodes[node].right = left + 1;
        nodes.push_back({SplitCondition{}, -1, -1, -1, left_weight});
        nodes.push_back(child);
        return left;
    }
    // Stores the category set of a test.
    void add_category_set(std::int32_t node, const CategorySet& set) {
        nodes[node].condition.cut = static_cast<std::int32_t>(category_sets.size());
        category_sets.push_back(set);
    }
    // Stores the bounded share of positives of a node that is finished.
    void store_value(const OpenNode& open);
    Priority priority(const OpenNode& open, const Split& split) const;
    bool grows_best_first() const { return options_.max_leaf_nodes >= 0; }
    // Whether the tree has as many leaves as best-first growth may create.
    bool is_full() const {
        return grows_best_first() && std::ssize(nodes) / 2 + 1 >= options_.max_leaf_nodes;
    }
    bool uses_all_features() const { return options_.max_features < 0; }
    // Searches all features; or draws as many as configured and then, as long as no split is found,
    // one more at a time. `best_of` searches a sorted list of features.
    template <class BestOf>
    Split best_split(const std::vector<std::int32_t>& features, std::uint64_t key,
                     FeatureDraws& draws, const BestOf& best_of) const {
        const auto wanted = static_cast<std::size_t>(options_.max_features);
        if (uses_all_features() || wanted >= features.size()) return best_of(features);
        Split best;
        draws.order = features;
        for (std::size_t first = 0; first < features.size() && best.gain <= 0;) {
            const std::size_t k = first == 0 ? wanted : 1;
            draw_to_front(draws.order, first, k, key);
            draws.list(first, k, features_.size());
            best = best_of(draws.drawn);
            first += k;
        }
        return best;
    }
    // Gives nodes new indices (-1: removed). Category sets are listed in the order in which the
    // remaining nodes are visited. A node whose children are removed becomes a leaf.
    void renumber(const std::vector<std::int32_t>& visited,
                  const std::vector<std::int32_t>& number);
    // Replaces a leaf by a tree that was grown elsewhere: its root gets the index of the leaf, its
    // other nodes are appended.
    void graft(std::int32_t leaf, const LeafRankNodes& below);
    // Numbers the nodes as depth-first growth does, and returns the new index of each: children get
    // their indices when their parent is split, the left branch before the right. Indices break
    // ties.
    std::vector<std::int32_t> number_depth_first();

  protected:
    const Features& features_;
    const LeafRankOptions options_;
    const bool monotonic_;
    ClassWeight cell_;  // its two classes are given equal weight
};

}  // namespace treerank
