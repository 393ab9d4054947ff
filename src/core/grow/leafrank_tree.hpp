// A LeafRank tree while it grows: its nodes, and which may still be split, whoever counts
// the rows.
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
    double lower = 0;  // bounds of its share of positives, under monotone constraints
    double upper = 1;
};

// A node as it is where its tree, and the sets of it, start at another place of their lists.
inline LeafRankNode shifted(LeafRankNode node, std::ptrdiff_t by, std::ptrdiff_t sets_by) {
    if (node.left < 0) return node;
    node.left += static_cast<std::int32_t>(by);
    node.right += static_cast<std::int32_t>(by);
    if (node.condition.categorical) node.condition.cut += static_cast<std::int32_t>(sets_by);
    return node;
}

// Adds a tree's nodes and sets to lists that may have those of others.
inline void append_tree(const std::vector<LeafRankNode>& nodes,
                        const std::vector<CategorySet>& sets, std::vector<LeafRankNode>& to,
                        std::vector<CategorySet>& sets_to) {
    const auto first = std::ssize(to), first_set = std::ssize(sets_to);
    for (const LeafRankNode& node : nodes) to.push_back(shifted(node, first, first_set));
    sets_to.insert(sets_to.end(), sets.begin(), sets.end());
}

// Whether nodes [first, last) name each other, features and sets that are there.
bool fit_together(const std::vector<LeafRankNode>& nodes, std::ptrdiff_t first, std::ptrdiff_t last,
                  std::size_t n_features, std::size_t n_sets);

// The leaf in which a row ends that is at node `at`.
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

// Buffers for the draws of a node, used again for the next.
struct FeatureDraws {
    std::vector<std::int32_t> order;
    std::vector<std::int32_t> drawn;
    std::vector<std::uint64_t> words;  // a bit for each feature that is drawn

    // Lists order[first, first + k) in ascending order: setting bits is quicker than sorting.
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

// Which of the nodes that can be split comes first in best-first growth: the one whose split lowers
// the impurity of the cell most, on ties the one that was made first.
struct Priority {
    double gain;
    std::int32_t node;

    bool operator<(const Priority& other) const {
        return gain != other.gain ? gain < other.gain : node > other.node;
    }
};

// Of two children the smaller one is counted; the larger one is what it leaves of its parent.
template <class Child, class Size>
std::pair<Child&, Child&> smaller_first(Child& left, Child& right, const Size& size_of) {
    if (size_of(left) <= size_of(right)) return {left, right};
    return {right, left};
}

// A LeafRank tree as arrays.
struct LeafRankNodes {
    std::vector<LeafRankNode> nodes;
    std::vector<CategorySet> category_sets;
    // By node, under monotone constraints: the share of positives, kept within bounds.
    std::vector<double> values;
};

class LeafRankTree : public LeafRankNodes {
  public:
    LeafRankTree(const Features& features, const LeafRankOptions& options)
        : features_(features), options_(options), monotonic_(features.any_monotonic()) {}

    // Starts anew with one node, the cell.
    void reset(ClassWeight cell);
    bool may_split(const OpenNode& open) const;
    CutSearch search_of(const OpenNode& open) const;
    // Adds the two children of a node, the left one first. Where their tests are known already
    // nothing is drawn below, and they need no keys.
    std::pair<OpenNode, OpenNode> split(const OpenNode& open, const Split& split,
                                        bool draws = true);
    // Makes a node a test: the number of its left child, after which the right one comes.
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
    // The set of a categorical test.
    void keep_set(std::int32_t node, const CategorySet& set) {
        nodes[node].condition.cut = static_cast<std::int32_t>(category_sets.size());
        category_sets.push_back(set);
    }
    // Notes the bounded share of a node that is done with.
    void note_value(const OpenNode& open);
    Priority priority(const OpenNode& open, const Split& split) const;
    bool grows_best_first() const { return options_.max_leaf_nodes >= 0; }
    // Whether it has as many leaves as best-first growth may make.
    bool is_full() const {
        return grows_best_first() && std::ssize(nodes) / 2 + 1 >= options_.max_leaf_nodes;
    }
    bool uses_all_features() const { return options_.max_features < 0; }
    // Searches all features, or as many as are to be drawn and, if none of those has a cut, one
    // after another. `best_of` searches a sorted list of them.
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
    // Gives nodes their new numbers (-1: it goes); sets are listed in the order in which the nodes
    // that stay are visited. A node whose children go becomes a leaf.
    void renumber(const std::vector<std::int32_t>& visited,
                  const std::vector<std::int32_t>& number);
    // Puts a tree that was grown elsewhere in the place of a leaf: its root gets the leaf's number,
    // its other nodes come after those that are there.
    void graft(std::int32_t leaf, const LeafRankNodes& below);
    // Numbers the nodes as depth-first growth does, and returns the new number of each: children
    // when their parent is split, the left branch before the right. On ties the number decides.
    std::vector<std::int32_t> number_depth_first();

  protected:
    const Features& features_;
    const LeafRankOptions options_;
    const bool monotonic_;
    ClassWeight cell_;  // whose classes weigh the same
};

}  // namespace treerank
