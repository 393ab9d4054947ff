// What a tree that is grown from sums takes from elsewhere: its own beginning, from arrays, and
// subtrees whose rows were gathered.
#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "core/data/random.hpp"
#include "core/grow/level_growth.hpp"

namespace treerank {

namespace {
void check(bool sound, const char* what) {
    if (!sound) throw std::invalid_argument(what);
}
}  // namespace

// ---- The tree so far, from its arrays ----

void LevelGrowth::restore(const RankTree& tree, std::int32_t number, Growing& cell) {
    const Cell& from = tree.cells[number];
    cell.cell = from;
    const auto weight = tree.cell_weight.begin() + static_cast<std::ptrdiff_t>(number * n_classes_);
    cell.class_weight.assign(weight, weight + static_cast<std::ptrdiff_t>(n_classes_));
    if (from.left < 0) return;
    std::int32_t first_set = std::numeric_limits<std::int32_t>::max(), last_set = 0;
    for (std::int32_t t = from.first_test; t < from.last_test; ++t) {
        const SplitCondition& condition = tree.tests[t].condition;
        if (tree.tests[t].left < 0 || !condition.categorical) continue;
        first_set = std::min(first_set, condition.cut);  // those of a cell lie side by side
        last_set = std::max(last_set, condition.cut + 1);
    }
    for (std::int32_t t = from.first_test; t < from.last_test; ++t) {
        LeafRankNode node = tree.tests[t];
        if (node.left >= 0) {
            node.left -= from.first_test;
            node.right -= from.first_test;
            if (node.condition.categorical) node.condition.cut -= first_set;
        }
        cell.tests.push_back(node);
    }
    if (first_set < last_set)
        cell.category_sets.assign(tree.category_sets.begin() + first_set,
                                  tree.category_sets.begin() + last_set);
    if (n_classes_ > 2) {
        const auto first = tree.test_weight.begin();
        const auto at = [&](std::int32_t t) {
            return first + static_cast<std::ptrdiff_t>(t * n_classes_);
        };
        cell.test_weight.assign(at(from.first_test), at(from.last_test));
    }
    cell.left = &grown_.emplace_back();
    cell.right = &grown_.emplace_back();
}

void LevelGrowth::resume(const RankTree& tree, std::int32_t depth,
                         const std::vector<std::int32_t>& gathered) {
    grown_.clear();
    level_.clear();
    gathered_cells_.clear();
    struct Pending {
        std::int32_t number;
        Growing* cell;
        std::uint64_t key;
    };
    std::vector<Pending> stack{{0, &grown_.emplace_back(), key_}};
    while (!stack.empty()) {  // preorder: the level comes out best first
        const Pending next = stack.back();
        stack.pop_back();
        restore(tree, next.number, *next.cell);
        if (next.cell->left == nullptr) {
            if (std::find(gathered.begin(), gathered.end(), next.number) != gathered.end())
                gathered_cells_.push_back({next.cell, next.key, {}, {}});
            else if (next.cell->cell.depth == depth)
                level_.push_back({next.cell, next.key, {}, {}});
            continue;
        }
        const Cell& cell = tree.cells[next.number];
        stack.push_back({cell.right, next.cell->right, key_of(next.key, 1)});
        stack.push_back({cell.left, next.cell->left, key_of(next.key, 0)});
    }
    selector_.emplace(grown_.front(), options_);
    selector_->update_to_leaves();
    depth_ = depth;
}

// Puts a subtree that was grown elsewhere in the place of a node.
void LevelGrowth::graft_node(const GatheredNode& at, const std::vector<LeafRankNode>& nodes,
                             const std::vector<CategorySet>& sets,
                             const std::vector<double>& values) {
    check(at.trial >= 0 && at.trial < std::ssize(trials_), "graft_node: no such trial");
    LeafRankTree& tree = trials_[at.trial].tree;
    check(at.node >= 0 && at.node < std::ssize(tree.nodes) && !nodes.empty(),
          "graft_node: no such node");
    for (std::ptrdiff_t i = 0; i < std::ssize(nodes); ++i) {
        const LeafRankNode& node = nodes[i];
        if (node.left < 0) continue;
        check(node.left > i && node.left < std::ssize(nodes) && node.right > i &&
                  node.right < std::ssize(nodes) && node.condition.feature >= 0 &&
                  node.condition.feature < static_cast<std::int64_t>(features_.size()) &&
                  (!node.condition.categorical ||
                   (node.condition.cut >= 0 && node.condition.cut < std::ssize(sets))),
              "graft_node: nodes that do not fit together");
    }
    const auto first = static_cast<std::int32_t>(tree.nodes.size()) - 1;  // of node 1
    const auto first_set = static_cast<std::int32_t>(tree.category_sets.size());
    tree.nodes.resize(tree.nodes.size() + nodes.size() - 1);
    if (!values.empty()) tree.values.resize(tree.nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        LeafRankNode node = nodes[i];
        if (node.left >= 0) {
            node.left += first;
            node.right += first;
            if (node.condition.categorical) node.condition.cut += first_set;
        }
        const std::size_t to = i == 0 ? at.node : first + i;
        tree.nodes[to] = node;
        if (!values.empty()) tree.values[to] = values[i];
    }
    tree.category_sets.insert(tree.category_sets.end(), sets.begin(), sets.end());
}

// ---- Cells that are grown elsewhere ----

std::vector<GatheredCell> LevelGrowth::gathered_cells() {
    tree();  // numbers the cells
    std::vector<GatheredCell> cells;
    for (const Open& open : gathered_cells_)
        cells.push_back({open.cell->number, open.cell->cell.depth, open.key});
    return cells;
}

void LevelGrowth::graft_cell(std::size_t gathered, const RankTree& grown) {
    check(gathered < gathered_cells_.size() && !grown.cells.empty(), "graft_cell: no such cell");
    struct Pending {
        std::int32_t number;
        Growing* cell;
    };
    std::vector<Pending> stack{{0, gathered_cells_[gathered].cell}};
    while (!stack.empty()) {
        const auto [number, cell] = stack.back();
        stack.pop_back();
        restore(grown, number, *cell);
        if (cell->left == nullptr) continue;
        stack.push_back({grown.cells[number].right, cell->right});
        stack.push_back({grown.cells[number].left, cell->left});
    }
}

}  // namespace treerank
