#include "core/grow/driver.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "core/data/random.hpp"
#include "core/data/sampling.hpp"
#include "core/grow/cell_splitter.hpp"

namespace treerank {

namespace {

// Smaller cells are not worth the whole pool.
constexpr std::size_t kTeamCellRows = 16384;
// Smaller cells are grown to the end by one thread.
constexpr std::size_t kSharedCellRows = 4096;

// Grows one tree: finds candidates for open cells, has the winners chosen, opens the children. With
// two classes, the split of a cell does not depend on other cells, and cells are grown depth first.
// With more, the gain of a split depends on how the other cells are split, and all cells of a level
// are grown together (`descend`). Large cells are processed by the whole pool, the others by one
// thread each.
template <class Code, class Count>
class Driver {
  public:
    using Open = OpenCell<Code, Count>;
    using Splitter = CellSplitter<Code, Count>;

    // `total`: the class weights of the whole sample.
    Driver(const Table<Code>& table, const TreeRankOptions& options, RowBuffers& buffers,
           Weights total, ThreadPool* pool, ProgressMonitor& monitor)
        : options_(options),
          total_(std::move(total)),
          table_(table),
          buffers_(buffers),
          pool_(pool),
          monitor_(monitor),
          team_splitter_(table, options, buffers, monitor, pool) {}

    void grow_depth_first(Open root) {
        TaskQueue<Open> queue;
        bool is_empty = true;
        grow_below(std::move(root), team_splitter_, [&](Open& open) {
            if (!is_for_one_thread(open)) return false;
            queue.put(std::move(open));
            is_empty = false;
            return true;
        });
        if (!is_empty) each_thread([&](const auto& splitter) { grow_from(queue, splitter); });
    }

    void grow_level_wise(Open root) {
        Growing& cell = *root.cell;
        std::vector<Open> level;
        level.push_back(std::move(root));
        const auto stays_whole = [&](const Open& open) {
            monitor_.advance(static_cast<double>(open.size()));
        };
        const auto split_all = [&](std::vector<Open>& open) {
            std::vector<std::pair<Open, Open>> children(open.size());
            each(open, [&](std::size_t i, Splitter& s) { children[i] = s.partition(open[i]); });
            return children;
        };
        while (!level.empty()) {
            each(level, [&](std::size_t i, Splitter& s) { s.find_candidates(level[i]); });
            descend(cell, level, options_, stays_whole, split_all);
        }
    }

  private:
    // Grows a cell of two classes to the end, except for cells that `pass_on` takes.
    template <class PassOn>
    void grow_below(Open root, Splitter& splitter, const PassOn& pass_on) {
        std::vector<Open> stack;
        stack.push_back(std::move(root));
        while (!stack.empty()) {
            Open open = std::move(stack.back());
            stack.pop_back();
            if (pass_on(open)) continue;
            splitter.find_candidates(open);
            if (!choose_winner(open, total_, options_)) {
                monitor_.advance(static_cast<double>(open.size()));
                continue;
            }
            auto [better, worse] = splitter.partition(open);
            stack.push_back(std::move(worse));
            stack.push_back(std::move(better));
        }
    }

    // Whether a team leaves a cell, and everything below it, to one of its threads.
    bool is_for_one_thread(const Open& open) const {
        const std::size_t n = buffers_.rows.size();
        if (pool_ == nullptr || pool_->size() == 1 || n < 2 * kSharedCellRows) return false;
        return open.size() < std::max(kTeamCellRows, n / pool_->size());
    }

    // Calls job(splitter) in every thread of the pool, including threads that join later.
    // splitter() returns the thread's own splitter, which is created at the first call because it
    // may not be needed.
    template <class Job>
    void each_thread(const Job& job) {
        pool_->run(pool_->max_size(), [&](std::size_t) {
            Splitter* own = nullptr;
            job([&]() -> Splitter& {
                if (own == nullptr) own = &add_splitter();
                return *own;
            });
        });
    }

    Splitter& add_splitter() {
        std::lock_guard lock(mutex_);
        return thread_splitters_.emplace_back(table_, options_, buffers_, monitor_, nullptr);
    }

    // Grows the cells of a queue and adds large cells below them to it.
    template <class OwnSplitter>
    void grow_from(TaskQueue<Open>& queue, const OwnSplitter& splitter) {
        try {
            while (auto taken = queue.take()) {
                bool is_taken = true;
                grow_below(std::move(*taken), splitter(), [&](Open& open) {
                    if (std::exchange(is_taken, false) || open.size() < kSharedCellRows)
                        return false;
                    queue.put(std::move(open));
                    return true;
                });
                queue.finish();
            }
        } catch (...) {
            queue.fail();
            throw;
        }
    }

    template <class Job>
    void each(const std::vector<Open>& level, const Job& job) {
        std::vector<std::size_t> small;
        for (std::size_t i = 0; i < level.size(); ++i) {
            if (is_for_one_thread(level[i]))
                small.push_back(i);
            else
                job(i, team_splitter_);
        }
        if (small.empty()) return;
        std::atomic<std::size_t> next{0};
        each_thread([&](const auto& splitter) {
            for (std::size_t i = next++; i < small.size(); i = next++) job(small[i], splitter());
        });
    }

    const TreeRankOptions& options_;
    const Weights total_;
    const Table<Code>& table_;
    RowBuffers& buffers_;
    ThreadPool* pool_;
    ProgressMonitor& monitor_;
    Splitter team_splitter_;
    std::mutex mutex_;
    std::deque<Splitter> thread_splitters_;  // one per thread
};

// The rows whose soft labels have any weight.
template <class Code>
std::vector<Row> soft_rows(const Table<Code>& table) {
    std::vector<Row> rows;
    for (std::size_t i = 0; i < table.codes.rows; ++i) {
        const std::uint32_t* units = table.soft + i * table.n_classes;
        if (std::any_of(units, units + table.n_classes, [](std::uint32_t u) { return u != 0; }))
            rows.push_back(pack_row(static_cast<std::uint32_t>(i), table.labels[i] != 0, 1));
    }
    return rows;
}

template <class Code, class Count>
RankTree grow_counting(const Table<Code>& table, std::vector<Row> sample, const GrowthStart& start,
                       const TreeRankOptions& options, ThreadPool* pool, ProgressMonitor& monitor) {
    RowBuffers buffers(std::move(sample));
    auto view = std::make_shared<View<Code>>(view_of(table));
    view->side.resize(table.codes.rows);
    const Row* rows = buffers.rows.data();
    Growing root =
        root_cell(class_weights(rows, rows + buffers.rows.size(), *view, table.n_classes),
                  start.key, options.focus, start.depth);
    Weights total = root.class_weight;
    if (start.total) total = {start.total->negative, start.total->positive};
    Driver<Code, Count> driver(table, options, buffers, std::move(total), pool, monitor);
    OpenCell<Code, Count> open{OpenSplit{&root}, std::move(view), 0, buffers.rows.size(), {}};
    if (table.n_classes > 2)
        driver.grow_level_wise(std::move(open));
    else
        driver.grow_depth_first(std::move(open));
    return to_preorder(root, table.n_classes);
}

}  // namespace

template <class Code>
RankTree grow_tree(const Table<Code>& table, std::vector<Row> sample, const GrowthStart& start,
                   const TreeRankOptions& options, ThreadPool* pool, ProgressMonitor& monitor) {
    return table.weights == nullptr ? grow_counting<Code, PackedCount>(
                                          table, std::move(sample), start, options, pool, monitor)
                                    : grow_counting<Code, WideCount>(table, std::move(sample),
                                                                     start, options, pool, monitor);
}

template <class Code>
std::vector<RankTree> grow_trees(const Table<Code>& table, std::size_t n_trees,
                                 const std::uint8_t* repeats, const TreeRankOptions& options,
                                 ThreadPool& pool, ProgressMonitor& monitor) {
    const std::size_t n = table.codes.rows;
    std::vector<RankTree> trees(n_trees);
    monitor.expect(static_cast<double>(n_trees) * static_cast<double>(n));
    run_in_teams(pool, n_trees, [&](std::size_t t, ThreadPool* helpers) {
        const std::uint64_t key = key_of(options.seed, options.first_tree + t);
        Table<Code> own = table;
        if (own.soft != nullptr) own.soft += t * n * own.n_classes;
        std::vector<Row> rows =
            own.soft != nullptr
                ? soft_rows(own)
                : rows_that_count(n, own.labels, repeats != nullptr ? repeats + t * n : nullptr,
                                  own.weights);
        trees[t] = grow_tree(own, std::move(rows), {key}, options, helpers, monitor);
    });
    return trees;
}

#define TREERANK_INSTANTIATE(Code)                                                         \
    template RankTree grow_tree(const Table<Code>&, std::vector<Row>, const GrowthStart&,  \
                                const TreeRankOptions&, ThreadPool*, ProgressMonitor&);    \
    template std::vector<RankTree> grow_trees(const Table<Code>&, std::size_t,             \
                                              const std::uint8_t*, const TreeRankOptions&, \
                                              ThreadPool&, ProgressMonitor&);
TREERANK_INSTANTIATE(std::uint8_t)
TREERANK_INSTANTIATE(std::uint16_t)
#undef TREERANK_INSTANTIATE

}  // namespace treerank
