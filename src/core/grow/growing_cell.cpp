#include "core/grow/growing_cell.hpp"

#include <algorithm>
#include <utility>

#include "core/data/random.hpp"
#include "core/grow/leafrank_tree.hpp"

namespace treerank {

namespace {

// The branches of a cell's key for the keys of its children.
constexpr std::uint64_t kLeftBranch = 0, kRightBranch = 1;

void append(Weights& to, const Weights& from) { to.insert(to.end(), from.begin(), from.end()); }

void append_tests(Growing& from, Cell& cell, RankTree& tree, bool take) {
    cell.first_test = static_cast<std::int32_t>(tree.tests.size());
    if (take && tree.tests.empty()) {
        static_cast<CellTests&>(tree) = std::move(from);
    } else {
        append_tree(from.tests, from.category_sets, tree.tests, tree.category_sets);
        append(tree.test_weight, from.test_weight);
    }
    cell.last_test = static_cast<std::int32_t>(tree.tests.size());
}

Weights weights_of(const std::vector<double>& all, std::int32_t first, std::int32_t last,
                   std::ptrdiff_t n_classes) {
    return {all.begin() + first * n_classes, all.begin() + last * n_classes};
}

void restore_tests(const RankTree& tree, const Cell& from, Growing& to) {
    std::int32_t first_set = std::numeric_limits<std::int32_t>::max(), last_set = 0;
    for (std::int32_t t = from.first_test; t < from.last_test; ++t) {
        const SplitCondition& condition = tree.tests[t].condition;
        if (tree.tests[t].left < 0 || !condition.categorical) continue;
        first_set = std::min(first_set, condition.cut);  // the sets of a cell are contiguous
        last_set = std::max(last_set, condition.cut + 1);
    }
    for (std::int32_t t = from.first_test; t < from.last_test; ++t)
        to.tests.push_back(shifted(tree.tests[t], -from.first_test, -first_set));
    if (first_set < last_set)
        to.category_sets.assign(tree.category_sets.begin() + first_set,
                                tree.category_sets.begin() + last_set);
    if (tree.n_classes > 2)
        to.test_weight =
            weights_of(tree.test_weight, from.first_test, from.last_test, tree.n_classes);
}

}  // namespace

Growing root_cell(Weights weight, std::uint64_t key, const Focus& focus, std::int32_t depth) {
    Growing root;
    root.cell.depth = depth;
    root.key = key;
    root.class_weight = std::move(weight);
    if (focus.of != Focus::Of::kAll)
        root.reach = focus.high * focus.counted(root.class_weight.data());
    return root;
}

void add_children(Growing& cell, Weights left, const Focus& focus, GrowingCells& grown) {
    const auto child = [&](std::uint64_t branch) {
        Growing& added = grown.emplace_back();
        added.cell.depth = cell.cell.depth + 1;
        added.key = key_of(cell.key, branch);
        added.reach = cell.reach;
        return &added;
    };
    cell.left = child(kLeftBranch);
    cell.right = child(kRightBranch);
    cell.right->reach -= focus.counted(left.data());
    cell.right->class_weight = cell.class_weight;
    for (std::size_t k = 0; k < left.size(); ++k) cell.right->class_weight[k] -= left[k];
    cell.left->class_weight = std::move(left);
}

std::vector<Growing*> preorder(Growing& root) {
    std::vector<Growing*> cells, stack{&root};
    while (!stack.empty()) {
        Growing* cell = stack.back();
        stack.pop_back();
        cell->number = static_cast<std::int32_t>(cells.size());
        cells.push_back(cell);
        if (cell->left == nullptr) continue;
        stack.push_back(cell->right);
        stack.push_back(cell->left);
    }
    return cells;
}

std::vector<Growing*> leaves_of(Growing& root) {
    std::vector<Growing*> cells = preorder(root);
    std::erase_if(cells, [](const Growing* cell) { return cell->left != nullptr; });
    return cells;
}

RankTree to_preorder(Growing& root, std::size_t n_classes, bool take) {
    RankTree tree;
    tree.n_classes = static_cast<std::int32_t>(n_classes);
    for (Growing* from : preorder(root)) {
        Cell cell = from->cell;
        cell.left = cell.right = cell.first_test = cell.last_test = -1;
        if (from->left != nullptr) {
            append_tests(*from, cell, tree, take);
            cell.left = from->left->number;
            cell.right = from->right->number;
            from->left->cell.parent = from->right->cell.parent = from->number;
        }
        tree.cells.push_back(cell);
        append(tree.cell_weight, from->class_weight);
    }
    return tree;
}

void from_preorder(const RankTree& tree, const Focus& focus, Growing& root, GrowingCells& grown) {
    std::vector<std::pair<std::int32_t, Growing*>> stack{{0, &root}};
    while (!stack.empty()) {
        const auto [at, to] = stack.back();
        stack.pop_back();
        const Cell& from = to->cell = tree.cells[at];
        to->class_weight = weights_of(tree.cell_weight, at, at + 1, tree.n_classes);
        if (from.left < 0) continue;
        restore_tests(tree, from, *to);
        add_children(*to, weights_of(tree.cell_weight, from.left, from.left + 1, tree.n_classes),
                     focus, grown);
        stack.push_back({from.right, to->right});
        stack.push_back({from.left, to->left});
    }
}

bool is_sound(const RankTree& tree, std::size_t n_features) {
    const auto n = std::ssize(tree.cells), n_tests = std::ssize(tree.tests);
    const std::ptrdiff_t n_classes = tree.n_classes;
    bool sound = n > 0 && std::ssize(tree.cell_weight) == n * n_classes &&
                 (n_classes == 2 || std::ssize(tree.test_weight) == n_tests * n_classes);
    for (std::ptrdiff_t c = 0; sound && c < n; ++c) {
        const Cell& cell = tree.cells[c];
        if (cell.left < 0) continue;
        sound = cell.left > c && cell.left < n && cell.right > c && cell.right < n &&
                cell.first_test >= 0 && cell.first_test < cell.last_test &&
                cell.last_test <= n_tests && cell.worse_class >= 0 &&
                cell.worse_class < n_classes && cell.better_class >= 0 &&
                cell.better_class < n_classes &&
                fit_together(tree.tests, cell.first_test, cell.last_test, n_features,
                             tree.category_sets.size());
    }
    return sound;
}

}  // namespace treerank
