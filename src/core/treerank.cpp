#include "core/treerank.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>

#include "core/cells.hpp"
#include "core/leafrank_prune.hpp"
#include "core/random.hpp"
#include "core/tournament.hpp"

namespace treerank {

namespace {

// Below this a cell and all that it is cut into are grown by one thread.
constexpr std::size_t kSharedCellRows = 4096;

// LeafRank keeps the room of its nodes from cell to cell, unless there are too many to copy.
constexpr std::size_t kManyTests = 1024;

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
          leafrank_(features, options.leafrank, watch, team) {
        if (options.leafrank.pruning) pruner_.emplace(features, options.leafrank, watch, team);
    }

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

    std::optional<std::pair<CellTask, CellTask>> try_split(CellTask& task) {
        if (!may_split(*task.cell)) return std::nullopt;
        watch_.check();
        Row* rows = buffers_.rows.data() + task.first;
        if (auto view = compact_view(*task.view, rows, task.size(), team_for(task.size())))
            task.view = std::move(view);
        Row* work = buffers_.work.get() + task.first;
        Row* scratch = buffers_.scratch.get() + task.first;
        std::copy_n(rows, task.size(), work);
        const auto features =
            draw_cell_features(features_.size(), options_.max_features, key_of(task.key, 2));
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
        const std::uint64_t key = key_of(task.key, 3);
        leafrank_.grow(*task.view, work, task.size(), scratch, cell, features, key, mine.get());
        if (pruner_)
            pruner_->prune(leafrank_, {*task.view, rows, task.size(), cell, features, key},
                           scratch);
        const LeafOrder order = leafrank_.cut(cell, options_.min_mass_leaf);
        const double delta =
            order.left.positive * cell.negative - order.left.negative * cell.positive;
        const double gain = delta / (2 * total_.negative * total_.positive);
        if (order.n_left == 0 || !(gain > options_.min_auc_gain)) return std::nullopt;
        keep_tests(*task.cell, order, gain);
        // Cells that will not be split need their masses, not their rows.
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
        return std::shared_ptr<Count[]>(new Count[features_.histogram_size()]);
    }

    void keep_tests(Growing& cell, const LeafOrder& order, double gain) {
        cell.cell.auc_gain = gain;
        cell.cell.worse_class = 0;
        cell.cell.better_class = 1;
        if (leafrank_.nodes.size() < kManyTests)
            cell.tests = leafrank_.nodes;
        else
            cell.tests = std::move(leafrank_.nodes);
        cell.category_sets = leafrank_.category_sets;
        for (std::size_t i = 0; i < order.leaves.size(); ++i)
            cell.tests[order.leaves[i]].side = i < order.n_left ? 0 : 1;
    }

    Team* team_for(std::size_t n) const { return leafrank_.team_for(n); }

    std::size_t part_rows(CellTask& task, const LeafOrder& order) {
        std::vector<std::uint8_t> side_of(task.cell->tests.size());
        for (std::size_t i = order.n_left; i < order.leaves.size(); ++i)
            side_of[order.leaves[i]] = 1;
        return part_by_side(leafrank_.leaves, side_of, buffers_.work.get() + task.first,
                            task.view->side.data(), buffers_.rows.data() + task.first, task.size(),
                            buffers_.scratch.get() + task.first, team_for(task.size()));
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
    std::optional<LeafRankPruner<Code, Count>> pruner_;
};

ClassMass total_mass(const std::vector<Row>& rows, const std::int64_t* weights) {
    std::int64_t mass[2] = {0, 0};
    for (const Row row : rows) {
        mass[(row & kLabelBit) != 0] += units_of(row, weights);
    }
    return {static_cast<double>(mass[0]), static_cast<double>(mass[1])};
}

// Where growth begins: at the root, or at a cell further down.
struct Start {
    std::uint64_t key;
    std::int32_t depth = 0;
    std::optional<ClassMass> total = std::nullopt;  // of the whole sample, if that is larger
};

template <class Code, class Count>
RankTree grow_counting(const Table<Code>& table, std::vector<Row> sample, const Start& start,
                       const TreeRankOptions& options, Team* team, Watch& watch) {
    RowBuffers buffers(std::move(sample));
    const ClassMass mass = total_mass(buffers.rows, table.weights);
    const ClassMass total = start.total.value_or(mass);
    const std::size_t n = buffers.rows.size();

    auto view = std::make_shared<View<Code>>();
    view->codes = table.codes;
    view->by_row = table.by_row;
    view->weights = table.weights;
    view->side.resize(table.codes.rows);

    CellGrower<Code, Count> together(table.features, options, total, buffers, watch, team);
    Growing& root = together.grown.emplace_back();
    root.mass = mass;
    root.cell.depth = start.depth;
    Task<Code, Count> task{&root, view, 0, n, start.key, {}};
    view.reset();
    if (team == nullptr || team->size() == 1) {
        together.grow_below(std::move(task));
        return flatten(root, 2);
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
    return flatten(root, 2);
}

}  // namespace

template <class Code>
RankTree grow_tree(const Table<Code>& table, std::vector<Row> sample, std::uint64_t key,
                   const TreeRankOptions& options, Team* team, Watch& watch) {
    if (table.n_classes > 2 || options.by_level)
        return grow_tournament(table, std::move(sample), key, options, team, watch);
    return table.weights == nullptr ? grow_counting<Code, PackedCount>(table, std::move(sample),
                                                                       {key}, options, team, watch)
                                    : grow_counting<Code, WideCount>(table, std::move(sample),
                                                                     {key}, options, team, watch);
}

template <class Code>
RankTree grow_cell(const Table<Code>& table, std::vector<Row> rows, std::uint64_t key,
                   std::int32_t depth, ClassMass total, const TreeRankOptions& options,
                   Watch& watch) {
    const Start start{key, depth, total};
    return table.weights == nullptr ? grow_counting<Code, PackedCount>(
                                          table, std::move(rows), start, options, nullptr, watch)
                                    : grow_counting<Code, WideCount>(table, std::move(rows), start,
                                                                     options, nullptr, watch);
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
template RankTree grow_cell(const Table<std::uint8_t>&, std::vector<Row>, std::uint64_t,
                            std::int32_t, ClassMass, const TreeRankOptions&, Watch&);
template RankTree grow_cell(const Table<std::uint16_t>&, std::vector<Row>, std::uint64_t,
                            std::int32_t, ClassMass, const TreeRankOptions&, Watch&);
template std::vector<RankTree> grow_trees(const Table<std::uint8_t>&, std::size_t, const SampleOf&,
                                          const TreeRankOptions&, Team&, Watch&);
template std::vector<RankTree> grow_trees(const Table<std::uint16_t>&, std::size_t, const SampleOf&,
                                          const TreeRankOptions&, Team&, Watch&);

}  // namespace treerank
