#include "core/grow/growing_cell.hpp"

#include <algorithm>
#include <limits>

#include "core/data/partition.hpp"

namespace treerank {

namespace {

// A cell is copied together when it holds less than a quarter of its view's rows
// and the view is too large for a core's own cache.
constexpr std::size_t kCompactShare = 4;
constexpr std::size_t kCacheBytes = 512 * 1024;
constexpr std::size_t kColumnsPerPass = 4;  // that are copied together

void append_tests(Growing& from, Cell& cell, RankTree& tree, bool take) {
    cell.first_test = static_cast<std::int32_t>(tree.tests.size());
    if (take && tree.tests.empty()) {
        tree.tests = std::move(from.tests);
        tree.test_weight = std::move(from.test_weight);
        tree.category_sets = std::move(from.category_sets);
        cell.last_test = static_cast<std::int32_t>(tree.tests.size());
        return;
    }
    const auto first_set = static_cast<std::int32_t>(tree.category_sets.size());
    for (const LeafRankNode& node : from.tests)
        tree.tests.push_back(shifted(node, cell.first_test, first_set));
    tree.test_weight.insert(tree.test_weight.end(), from.test_weight.begin(),
                            from.test_weight.end());
    tree.category_sets.insert(tree.category_sets.end(), from.category_sets.begin(),
                              from.category_sets.end());
    cell.last_test = static_cast<std::int32_t>(tree.tests.size());
}

// Rows with side 0 first; no branch to mispredict.
std::size_t partition_block(Row* rows, std::size_t n, const std::uint8_t* side, Row* scratch) {
    std::size_t left = 0, right = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const Row row = rows[i];
        const std::size_t goes_right = side[row_id(row)];
        rows[left] = row;
        scratch[right] = row;
        left += 1 - goes_right;
        right += goes_right;
    }
    std::copy_n(scratch, right, rows + left);
    return left;
}

// Copies some columns of the rows, from `first` on, to where the view has them.
template <std::size_t K, class Code>
void copy_columns(const CodeMatrix<Code>& codes, std::size_t first, const Row* rows, std::size_t n,
                  Code* view) {
    const Code* from[K];
    Code* to[K];
    for (std::size_t k = 0; k < K; ++k) {
        from[k] = codes.column(first + k);
        to[k] = view + (first + k) * n;
    }
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t row = row_id(rows[i]);
        for (std::size_t k = 0; k < K; ++k) to[k][i] = from[k][row];
    }
}

}  // namespace

RowBuffers::RowBuffers(std::vector<Row> sample)
    : rows(std::move(sample)),
      work(std::make_unique_for_overwrite<Row[]>(rows.size())),
      scratch(std::make_unique_for_overwrite<Row[]>(rows.size())) {}

RankTree to_preorder(Growing& root, std::size_t n_classes, bool take) {
    RankTree tree;
    tree.n_classes = static_cast<std::int32_t>(n_classes);
    struct Pending {
        Growing* from;
        std::int32_t parent;
        bool left;
    };
    std::vector<Pending> stack{{&root, -1, false}};
    while (!stack.empty()) {
        const Pending next = stack.back();
        stack.pop_back();
        const auto number = static_cast<std::int32_t>(tree.cells.size());
        if (next.parent >= 0)
            (next.left ? tree.cells[next.parent].left : tree.cells[next.parent].right) = number;
        next.from->number = number;
        Cell cell = next.from->cell;
        cell.parent = next.parent;
        cell.left = cell.right = cell.first_test = cell.last_test = -1;
        if (next.from->left != nullptr) {
            append_tests(*next.from, cell, tree, take);
            stack.push_back({next.from->right, number, false});
            stack.push_back({next.from->left, number, true});
        }
        tree.cells.push_back(cell);
        tree.cell_weight.insert(tree.cell_weight.end(), next.from->class_weight.begin(),
                                next.from->class_weight.end());
    }
    return tree;
}

void number_cells(Growing& root) {
    std::vector<Growing*> stack{&root};
    for (std::int32_t number = 0; !stack.empty(); ++number) {
        Growing* cell = stack.back();
        stack.pop_back();
        cell->number = number;
        if (cell->left == nullptr) continue;
        stack.push_back(cell->right);
        stack.push_back(cell->left);
    }
}

void from_preorder(const RankTree& tree, std::int32_t number, Growing& cell, GrowingCells& grown) {
    const auto n_classes = static_cast<std::size_t>(tree.n_classes);
    const auto range = [&](const std::vector<double>& of, std::int32_t first, std::int32_t last) {
        return std::vector<double>(of.begin() + first * tree.n_classes,
                                   of.begin() + last * tree.n_classes);
    };
    std::vector<std::pair<std::int32_t, Growing*>> stack{{number, &cell}};
    while (!stack.empty()) {
        const auto [at, to] = stack.back();
        stack.pop_back();
        const Cell& from = to->cell = tree.cells[at];
        to->class_weight = range(tree.cell_weight, at, at + 1);
        to->number = at;
        if (from.left < 0) continue;
        std::int32_t first_set = std::numeric_limits<std::int32_t>::max(), last_set = 0;
        for (std::int32_t t = from.first_test; t < from.last_test; ++t) {
            const SplitCondition& condition = tree.tests[t].condition;
            if (tree.tests[t].left < 0 || !condition.categorical) continue;
            first_set = std::min(first_set, condition.cut);  // those of a cell lie side by side
            last_set = std::max(last_set, condition.cut + 1);
        }
        for (std::int32_t t = from.first_test; t < from.last_test; ++t)
            to->tests.push_back(shifted(tree.tests[t], -from.first_test, -first_set));
        if (first_set < last_set)
            to->category_sets.assign(tree.category_sets.begin() + first_set,
                                     tree.category_sets.begin() + last_set);
        if (n_classes > 2)
            to->test_weight = range(tree.test_weight, from.first_test, from.last_test);
        to->left = &grown.emplace_back();
        to->right = &grown.emplace_back();
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

template <class Code>
std::shared_ptr<View<Code>> compact_view(const View<Code>& old, Row* rows, std::size_t n,
                                         ThreadPool* pool) {
    const std::size_t p = old.codes.features;
    if (n * kCompactShare > old.codes.rows || old.codes.rows * p * sizeof(Code) < kCacheBytes)
        return nullptr;
    auto view = std::make_shared<View<Code>>();
    view->own_codes = std::make_unique_for_overwrite<Code[]>(n * p);
    view->side.resize(n);
    const std::size_t passes = p / kColumnsPerPass;
    run_in(pool, passes + p % kColumnsPerPass, [&](std::size_t pass) {
        const std::size_t first = std::min(pass, passes) * kColumnsPerPass;
        if (pass < passes)
            copy_columns<kColumnsPerPass>(old.codes, first, rows, n, view->own_codes.get());
        else
            copy_columns<1>(old.codes, first + pass - passes, rows, n, view->own_codes.get());
    });
    if (old.weights != nullptr) {
        view->own_weights.resize(n);
        for (std::size_t i = 0; i < n; ++i) view->own_weights[i] = old.weights[row_id(rows[i])];
        view->weights = view->own_weights.data();
    }
    if (old.classes != nullptr) {
        view->own_classes.resize(n);
        for (std::size_t i = 0; i < n; ++i) view->own_classes[i] = old.classes[row_id(rows[i])];
        view->classes = view->own_classes.data();
    }
    for (std::size_t i = 0; i < n; ++i)
        rows[i] = (static_cast<Row>(i) << kRowShift) | (rows[i] & (kLabelBit | kRepeatMask));
    view->codes = {view->own_codes.get(), n, p, n};
    return view;
}

std::size_t partition_by_side(const std::vector<LeafRows>& leaves,
                              const std::vector<std::uint8_t>& side_of, const Row* work,
                              std::uint8_t* side, Row* rows, std::size_t n, Row* scratch,
                              ThreadPool* pool) {
    run_in(pool, leaves.size(), [&](std::size_t i) {
        const std::uint8_t value = side_of[leaves[i].node];
        for (std::size_t j = leaves[i].first; j < leaves[i].last; ++j)
            side[row_id(work[j])] = value;
    });
    return partition_stably(rows, n, scratch, pool, [&](Row* block, std::size_t size, Row* room) {
        return partition_block(block, size, side, room);
    });
}

template std::shared_ptr<View<std::uint8_t>> compact_view(const View<std::uint8_t>&, Row*,
                                                          std::size_t, ThreadPool*);
template std::shared_ptr<View<std::uint16_t>> compact_view(const View<std::uint16_t>&, Row*,
                                                           std::size_t, ThreadPool*);

}  // namespace treerank
