#include "core/treerank.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>

#include "core/partition.hpp"
#include "core/random.hpp"

namespace treerank {

namespace {

// A cell is copied together when it holds less than a quarter of its view's rows
// and the view is too large for a core's own cache.
constexpr std::size_t kCompactShare = 4;
constexpr std::size_t kCacheBytes = 512 * 1024;
// The whole team works on a cell only from this size on ...
constexpr std::size_t kTeamCellRows = 16384;
// ... and below this a cell and all that it is cut into are grown by one thread.
constexpr std::size_t kSharedCellRows = 4096;

constexpr std::size_t kManyTests = 1024;

// A cell while the tree grows; flattened at the end.
struct Growing {
    Cell cell;
    ClassMass mass;
    std::vector<LeafRankNode> tests;
    std::vector<CategorySet> category_sets;
    Growing* left = nullptr;
    Growing* right = nullptr;
};

template <class Code, class Count>
struct Task {
    Growing* cell;
    std::shared_ptr<View<Code>> view;
    std::size_t first;
    std::size_t last;
    std::uint64_t key;
    std::shared_ptr<Count[]> histogram;  // of the cell, when it was cheap to have

    std::size_t size() const { return last - first; }
};

void run_in(Team* team, std::size_t n, const std::function<void(std::size_t)>& job) {
    if (team != nullptr) return team->run(n, job);
    for (std::size_t i = 0; i < n; ++i) job(i);
}

// Rows with side 0 first; no branch to mispredict.
std::size_t part_by_side(Row* rows, std::size_t n, const std::uint8_t* side, Row* scratch) {
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

struct RowBuffers {
    std::vector<Row> rows;           // cells are stretches of this, each in ascending order
    std::unique_ptr<Row[]> work;     // LeafRank's copy, permuted into its leaves
    std::unique_ptr<Row[]> scratch;  // room for stable partitions
};

template <class Code, class Count>
class CellGrower {
  public:
    using CellTask = Task<Code, Count>;

    CellGrower(const Features& features, const TreeRankOptions& options, ClassMass total,
               RowBuffers& buffers, Watch& watch, Team* team)
        : features_(features),
          options_(options),
          total_(total),
          buffers_(buffers),
          watch_(watch),
          leafrank_(features, options.leafrank, watch, team) {}

    std::deque<Growing> grown;  // a deque keeps addresses

    // Splits a cell; nothing when it stays whole.
    std::optional<std::pair<CellTask, CellTask>> split(CellTask task) {
        auto children = try_split(task);
        if (!children) watch_.advance(static_cast<double>(task.size()));
        return children;
    }

    void grow_below(CellTask task) {
        std::vector<CellTask> stack;
        stack.push_back(std::move(task));
        while (!stack.empty()) {
            CellTask next = std::move(stack.back());
            stack.pop_back();
            auto children = split(std::move(next));
            if (!children) continue;
            stack.push_back(std::move(children->second));
            stack.push_back(std::move(children->first));
        }
    }

    void grow_from(TaskPool<CellTask>& pool) {
        const auto share = [&](CellTask&& task) {
            if (task.size() < kSharedCellRows)
                grow_below(std::move(task));
            else
                pool.put(std::move(task));
        };
        try {
            while (auto task = pool.take()) {
                if (auto children = split(std::move(*task))) {
                    share(std::move(children->first));
                    share(std::move(children->second));
                }
                pool.finish();
            }
        } catch (...) {
            pool.fail();
            throw;
        }
    }

  private:
    bool may_split(const Growing& cell) const {
        const bool deep = options_.max_depth >= 0 && cell.cell.depth >= options_.max_depth;
        return !deep && !cell.mass.pure() && cell.mass.total() >= options_.min_mass_split &&
               cell.mass.total() >= 2 * options_.min_mass_leaf;
    }

    std::vector<std::int32_t> draw_features(std::uint64_t key) const {
        std::vector<std::int32_t> drawn(features_.size());
        std::iota(drawn.begin(), drawn.end(), 0);
        if (options_.max_features >= 0) {
            const auto wanted =
                std::min(drawn.size(), static_cast<std::size_t>(options_.max_features));
            draw_to_front(drawn, 0, wanted, key_of(key, 2));
            drawn.resize(wanted);
            std::sort(drawn.begin(), drawn.end());
        }
        return drawn;
    }

    std::optional<std::pair<CellTask, CellTask>> try_split(CellTask& task) {
        if (!may_split(*task.cell)) return std::nullopt;
        watch_.check();
        compact(task);
        Row* rows = buffers_.rows.data() + task.first;
        Row* work = buffers_.work.get() + task.first;
        Row* scratch = buffers_.scratch.get() + task.first;
        std::copy_n(rows, task.size(), work);
        const auto features = draw_features(task.key);
        const bool share = shares_histograms(task.size());
        if (share && !task.histogram) {
            task.histogram = new_histogram();
            leafrank_.count(*task.view, rows, task.size(), features, task.histogram.get());
        }
        std::shared_ptr<Count[]> mine = task.histogram;
        if (share) {  // LeafRank overwrites what it is given; the children need the original
            mine = new_histogram();
            std::copy_n(task.histogram.get(), features_.histogram_size(), mine.get());
        }
        const ClassMass cell = task.cell->mass;
        leafrank_.grow(*task.view, work, task.size(), scratch, cell, features, key_of(task.key, 3),
                       mine.get());
        const LeafOrder order = leafrank_.cut(cell, options_.min_mass_leaf);
        const double delta =
            order.left.positive * cell.negative - order.left.negative * cell.positive;
        const double gain = delta / (2 * total_.negative * total_.positive);
        if (order.n_left == 0 || !(gain > options_.min_auc_gain)) return std::nullopt;
        keep_tests(*task.cell, order, gain);
        const bool last = task.cell->cell.depth + 1 == options_.max_depth;
        const std::size_t n_left = last ? task.size() / 2 : part_rows(task, order);
        auto children = make_children(task, order.left, n_left);
        if (share) share_histogram(task, features, children.first, children.second);
        return children;
    }

    bool shares_histograms(std::size_t n) const {
        return leafrank_.uses_all_features() && options_.max_features < 0 &&
               n >= 2 * features_.histogram_size() / features_.size();
    }

    std::shared_ptr<Count[]> new_histogram() const {
        return std::make_shared_for_overwrite<Count[]>(features_.histogram_size());
    }

    // Gives a small cell a view of its own: rows are numbered anew, from 0.
    void compact(CellTask& task) {
        const View<Code>& old = *task.view;
        const std::size_t n = task.size(), p = features_.size();
        if (n * kCompactShare > old.codes.rows || old.codes.rows * p * sizeof(Code) < kCacheBytes)
            return;
        auto view = std::make_shared<View<Code>>();
        view->own_codes.resize(n * p);
        view->side.resize(n);
        Row* rows = buffers_.rows.data() + task.first;
        run_in(leafrank_.team_for(n), p, [&](std::size_t f) {
            const Code* from = old.codes.column(f);
            Code* to = view->own_codes.data() + f * n;
            for (std::size_t i = 0; i < n; ++i) to[i] = from[row_id(rows[i])];
        });
        if (old.weights != nullptr) {
            view->own_weights.resize(n);
            for (std::size_t i = 0; i < n; ++i) view->own_weights[i] = old.weights[row_id(rows[i])];
            view->weights = view->own_weights.data();
        }
        for (std::size_t i = 0; i < n; ++i)
            rows[i] = (static_cast<Row>(i) << kRowShift) | (rows[i] & (kLabelBit | kRepeatMask));
        view->codes = {view->own_codes.data(), n, p, n};
        task.view = std::move(view);
    }

    void keep_tests(Growing& cell, const LeafOrder& order, double gain) {
        cell.cell.auc_gain = gain;
        if (leafrank_.nodes.size() < kManyTests)
            cell.tests = leafrank_.nodes;
        else  // too many to copy; else LeafRank keeps its room
            cell.tests = std::move(leafrank_.nodes);
        cell.category_sets = leafrank_.category_sets;
        for (std::size_t i = 0; i < order.leaves.size(); ++i)
            cell.tests[order.leaves[i]].side = i < order.n_left ? 0 : 1;
    }

    // Parts the cell's rows by side, each side in ascending order: LeafRank's
    // leaves are scattered, and sorted rows make every later pass over the codes
    // run forward.
    std::size_t part_rows(CellTask& task, const LeafOrder& order) {
        std::uint8_t* side = task.view->side.data();
        const Row* work = buffers_.work.get() + task.first;
        std::vector<std::uint8_t> side_of(task.cell->tests.size());
        for (std::size_t i = order.n_left; i < order.leaves.size(); ++i)
            side_of[order.leaves[i]] = 1;
        Team* team = leafrank_.team_for(task.size());
        run_in(team, leafrank_.leaves.size(), [&](std::size_t i) {
            const auto& leaf = leafrank_.leaves[i];
            const std::uint8_t value = side_of[leaf.node];
            for (std::size_t j = leaf.first; j < leaf.last; ++j) side[row_id(work[j])] = value;
        });
        return part_stably(buffers_.rows.data() + task.first, task.size(),
                           buffers_.scratch.get() + task.first, team,
                           [&](Row* rows, std::size_t n, Row* scratch) {
                               return part_by_side(rows, n, side, scratch);
                           });
    }

    std::pair<CellTask, CellTask> make_children(const CellTask& task, ClassMass left,
                                                std::size_t n_left) {
        const auto child = [&](ClassMass mass) {
            Growing& cell = grown.emplace_back();
            cell.mass = mass;
            cell.cell.depth = task.cell->cell.depth + 1;
            return &cell;
        };
        task.cell->left = child(left);
        task.cell->right = child(task.cell->mass - left);
        const std::size_t middle = task.first + n_left;
        return {CellTask{task.cell->left, task.view, task.first, middle, key_of(task.key, 0), {}},
                CellTask{task.cell->right, task.view, middle, task.last, key_of(task.key, 1), {}}};
    }

    // Counts the smaller child and subtracts it from the cell: a cell's histogram
    // is the root histogram of its LeafRank tree.
    void share_histogram(const CellTask& task, const std::vector<std::int32_t>& features,
                         CellTask& left, CellTask& right) {
        CellTask& small = left.size() <= right.size() ? left : right;
        CellTask& large = left.size() <= right.size() ? right : left;
        if (!may_split(*large.cell) || !shares_histograms(large.size())) return;
        small.histogram = new_histogram();
        leafrank_.count(*task.view, buffers_.rows.data() + small.first, small.size(), features,
                        small.histogram.get());
        large.histogram = task.histogram;
        kernels<Code, Count>().subtract(large.histogram.get(), task.histogram.get(),
                                        small.histogram.get(), features_.histogram_size());
        if (!may_split(*small.cell) || !shares_histograms(small.size())) small.histogram.reset();
    }

    const Features& features_;
    const TreeRankOptions& options_;
    const ClassMass total_;
    RowBuffers& buffers_;
    Watch& watch_;
    LeafRank<Code, Count> leafrank_;
};

void flatten_tests(Growing& from, Cell& cell, RankTree& tree) {
    cell.first_test = static_cast<std::int32_t>(tree.tests.size());
    if (tree.tests.empty()) {
        tree.tests = std::move(from.tests);
        tree.category_sets = std::move(from.category_sets);
        cell.last_test = static_cast<std::int32_t>(tree.tests.size());
        return;
    }
    const auto first_set = static_cast<std::int32_t>(tree.category_sets.size());
    for (LeafRankNode node : from.tests) {
        if (node.left >= 0) {
            node.left += cell.first_test;
            node.right += cell.first_test;
        }
        if (node.test.categorical) node.test.cut += first_set;
        tree.tests.push_back(node);
    }
    tree.category_sets.insert(tree.category_sets.end(), from.category_sets.begin(),
                              from.category_sets.end());
    cell.last_test = static_cast<std::int32_t>(tree.tests.size());
}

// Numbers the cells in preorder, whatever order they were grown in.
RankTree flatten(Growing& root) {
    RankTree tree;
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
        Cell cell = next.from->cell;
        cell.parent = next.parent;
        if (next.from->left != nullptr) {
            flatten_tests(*next.from, cell, tree);
            stack.push_back({next.from->right, number, false});
            stack.push_back({next.from->left, number, true});
        }
        tree.cells.push_back(cell);
        tree.cell_mass.push_back(next.from->mass.negative);
        tree.cell_mass.push_back(next.from->mass.positive);
    }
    return tree;
}

ClassMass total_mass(const std::vector<Row>& rows, const std::int64_t* weights) {
    std::int64_t mass[2] = {0, 0};
    for (const Row row : rows) {
        const std::int64_t weight = weights != nullptr
                                        ? weights[row_id(row)]
                                        : static_cast<std::int64_t>(row & kRepeatMask);
        mass[(row & kLabelBit) != 0] += weight;
    }
    return {static_cast<double>(mass[0]), static_cast<double>(mass[1])};
}

template <class Code, class Count>
RankTree grow_counting(const Table<Code>& table, std::vector<Row> sample, std::uint64_t key,
                       const TreeRankOptions& options, Team* team, Watch& watch) {
    RowBuffers buffers;
    buffers.rows = std::move(sample);
    buffers.work = std::make_unique_for_overwrite<Row[]>(buffers.rows.size());
    buffers.scratch = std::make_unique_for_overwrite<Row[]>(buffers.rows.size());
    const ClassMass total = total_mass(buffers.rows, table.weights);
    const std::size_t n = buffers.rows.size();

    auto view = std::make_shared<View<Code>>();
    view->codes = table.codes;
    view->by_row = table.by_row;
    view->weights = table.weights;
    view->side.resize(table.codes.rows);

    CellGrower<Code, Count> together(table.features, options, total, buffers, watch, team);
    Growing& root = together.grown.emplace_back();
    root.mass = total;
    Task<Code, Count> task{&root, view, 0, n, key, {}};
    view.reset();
    if (team == nullptr || team->size() == 1) {
        together.grow_below(std::move(task));
        return flatten(root);
    }
    // Large cells first, the whole team on each; then the others, a thread each.
    const std::size_t large = std::max(kTeamCellRows, n / team->size());
    std::vector<Task<Code, Count>> stack;
    TaskPool<Task<Code, Count>> pool;
    stack.push_back(std::move(task));
    while (!stack.empty()) {
        Task<Code, Count> next = std::move(stack.back());
        stack.pop_back();
        if (next.size() < large) {
            pool.put(std::move(next));
        } else if (auto children = together.split(std::move(next))) {
            stack.push_back(std::move(children->second));
            stack.push_back(std::move(children->first));
        }
    }
    std::deque<CellGrower<Code, Count>> growers;  // they own the cells until the tree is flat
    for (std::size_t i = 0; i < team->size(); ++i)
        growers.emplace_back(table.features, options, total, buffers, watch, nullptr);
    team->run(growers.size(), [&](std::size_t i) { growers[i].grow_from(pool); });
    return flatten(root);
}

}  // namespace

template <class Code>
RankTree grow_tree(const Table<Code>& table, std::vector<Row> sample, std::uint64_t key,
                   const TreeRankOptions& options, Team* team, Watch& watch) {
    return table.weights == nullptr ? grow_counting<Code, PackedCount>(table, std::move(sample),
                                                                       key, options, team, watch)
                                    : grow_counting<Code, WideCount>(table, std::move(sample), key,
                                                                     options, team, watch);
}

template <class Code>
std::vector<RankTree> grow_trees(const Table<Code>& table, std::size_t n_trees,
                                 const SampleOf& sample, const TreeRankOptions& options, Team& team,
                                 Watch& watch) {
    std::vector<RankTree> trees(n_trees);
    const auto grow = [&](std::size_t t, Team* helpers) {
        const std::uint64_t key = key_of(options.seed, options.first_tree + t);
        trees[t] = grow_tree(table, sample(t), key, options, helpers, watch);
    };
    watch.expect(static_cast<double>(n_trees) * static_cast<double>(table.codes.rows));
    if (n_trees >= team.size() && n_trees > 1)
        team.run(n_trees, [&](std::size_t t) { grow(t, nullptr); });
    else
        for (std::size_t t = 0; t < n_trees; ++t) grow(t, &team);
    return trees;
}

template RankTree grow_tree(const Table<std::uint8_t>&, std::vector<Row>, std::uint64_t,
                            const TreeRankOptions&, Team*, Watch&);
template RankTree grow_tree(const Table<std::uint16_t>&, std::vector<Row>, std::uint64_t,
                            const TreeRankOptions&, Team*, Watch&);
template std::vector<RankTree> grow_trees(const Table<std::uint8_t>&, std::size_t, const SampleOf&,
                                          const TreeRankOptions&, Team&, Watch&);
template std::vector<RankTree> grow_trees(const Table<std::uint16_t>&, std::size_t, const SampleOf&,
                                          const TreeRankOptions&, Team&, Watch&);

}  // namespace treerank
