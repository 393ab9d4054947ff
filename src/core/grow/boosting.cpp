#include "core/grow/boosting.hpp"

#include <algorithm>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/grow/boosted_cell.hpp"
#include "core/grow/gradient_squares.hpp"
#include "core/grow/growing_boosted_tree.hpp"
#include "core/grow/part_segments.hpp"
#include "core/histogram/histogram_pool.hpp"
#include "core/split/newton_split.hpp"
#include "core/util/stretches.hpp"

namespace treerank {

namespace {

// Work that is worth calling the pool: rows to count, rows to move, bins to search.
constexpr std::size_t kCountForTeam = std::size_t{1} << 14;
constexpr std::size_t kRowsForTeam = std::size_t{1} << 15;
constexpr std::size_t kBinsForTeam = std::size_t{1} << 14;
constexpr std::size_t kRowsPerTask = 4096;
// Nodes that are grown together: several for each thread, as long as their histograms are no
// larger than this.
constexpr std::size_t kNodesPerThread = 4;
constexpr std::size_t kHistogramBytes = std::size_t{1} << 23;
constexpr std::size_t kTasksPerThread = 4;

// Nodes of one depth are grown together, so that their work fills the pool and its threads seldom
// wait for each other; the tree is then put together as if one had been grown after another.
template <class Code, bool Weighted>
class Grower : public BoostingRounds {
  public:
    Grower(const BoostingTable<Code>& table, ThreadPool& pool)
        : BoostingRounds(RowRecords(table.codes, pool)),
          table_(table),
          rows_(table.codes.rows),
          scratch_(table.codes.rows),
          growing_(table.features),
          trial_(table.features),
          counter_(rows, table.features, table.weights),
          histograms_(offsets_of(table.features.n_codes).back()),
          monotonic_(table.features.any_monotonic()) {}

    BoostedTree grow(const std::vector<std::uint32_t>* drawn,
                     const std::vector<std::int32_t>& chosen, const BoostingOptions& options,
                     ThreadPool& pool) override {
        pool_ = &pool;
        begin(drawn, chosen, options);
        Segment all{0, n_rows_, {}, {}};
        OwnHistogram histogram = new_histogram();
        counter_.count({{rows_.data(), n_rows_, histogram.get()}},
                       pool_for(n_rows_, kCountForTeam));
        for (std::int32_t code = 0; code < table_.features.n_codes[chosen_[0]]; ++code)
            all.sum += histogram[counter_.offset(chosen_[0]) + static_cast<std::size_t>(code)];
        std::vector<OpenCell> root(1);
        root[0] = {add_cell(all, 0), std::move(histogram)};
        grow_cells(std::move(root));
        keep_cells(growing_, cells_, steps_);
        return growing_.compile();
    }

    void add_to(double* scores, ThreadPool& pool) const override {
        std::vector<LeafStep> blocks;
        for (const LeafStep& step : steps_)
            for (std::size_t first = 0; first < step.n; first += kRowsPerTask)
                blocks.push_back({step.first + first, std::min(kRowsPerTask, step.n - first),
                                  step.depth, step.value});
        pool.run(blocks.size(), [&](std::size_t b) {
            const Row* first = rows_.data() + blocks[b].first;
            const double value = blocks[b].value;
            for (std::size_t i = 0; i < blocks[b].n; ++i) scores[row_id(first[i])] += value;
        });
    }

  private:
    struct GiveBack {
        HistogramPool<GradientSum>* pool;
        void operator()(GradientSum* histogram) const { pool->give_back(histogram); }
    };
    using OwnHistogram = std::unique_ptr<GradientSum[], GiveBack>;
    using CountedRows = std::conditional_t<Weighted, WeightedGradientRows, UnitRows>;
    // A node that may still be split, with a histogram of its own or that of its cell.
    struct OpenNode {
        std::int32_t cell, number;
        const GradientSum* histogram;
        OwnHistogram own;
    };
    struct OpenCell {
        std::int32_t number = -1;
        OwnHistogram histogram;
    };

    InnerNode& inner(const OpenNode& node) { return cells_[node.cell].nodes[node.number]; }

    void begin(const std::vector<std::uint32_t>* drawn, const std::vector<std::int32_t>& chosen,
               const BoostingOptions& options) {
        n_rows_ = drawn != nullptr ? drawn->size() : table_.codes.rows;
        chosen_ = chosen;
        growing_.reset(options);
        cells_.clear();
        steps_.clear();
        counter_.choose(chosen_);
        const std::size_t fitting = kHistogramBytes / (counter_.size() * sizeof(GradientSum));
        const std::size_t wanted = pool_->size() > 1 ? kNodesPerThread * pool_->size() : 1;
        most_open_ = std::clamp<std::size_t>(fitting, 1, wanted);
        pool_->run((n_rows_ + kRowsPerTask - 1) / kRowsPerTask, [&](std::size_t task) {
            const std::size_t last = std::min(n_rows_, (task + 1) * kRowsPerTask);
            for (std::size_t i = task * kRowsPerTask; i < last; ++i)
                rows_[i] = pack_row(drawn != nullptr ? (*drawn)[i] : static_cast<std::uint32_t>(i),
                                    false, 1);
        });
        many_levels_ = std::any_of(chosen_.begin(), chosen_.end(), [&](std::int32_t feature) {
            return table_.features.categorical[feature] != 0 &&
                   table_.features.n_codes[feature] > kFreeLevels + 1;
        });
        auto weight = static_cast<std::int64_t>(n_rows_);
        if constexpr (Weighted)
            weight = sum_over(0, n_rows_, [&](Row row) { return table_.weights[row_id(row)]; });
        square_shift_ = GradientSquares::shift_for(weight);
    }

    ThreadPool* pool_for(std::size_t n, std::size_t least) const {
        return pool_->size() > 1 && n >= least ? pool_ : nullptr;
    }

    // The sum of what rows [first, first + n) give: whole numbers, in any order.
    template <class Of>
    auto sum_over(std::size_t first, std::size_t n, const Of& of) const {
        using Sum = decltype(of(Row{}));
        std::vector<Sum> sums((n + kRowsPerTask - 1) / kRowsPerTask);
        run_in(pool_for(n, kRowsForTeam), sums.size(), [&](std::size_t task) {
            Sum sum{};
            const std::size_t last = std::min(n, (task + 1) * kRowsPerTask);
            for (std::size_t i = task * kRowsPerTask; i < last; ++i) sum += of(rows_[first + i]);
            sums[task] = sum;
        });
        Sum total{};
        for (const Sum& sum : sums) total += sum;
        return total;
    }

    OwnHistogram new_histogram() { return {histograms_.take(), GiveBack{&histograms_}}; }

    // The histograms of the two parts of a node: the smaller is to be counted, the other is
    // what is left of the node's, and takes its place if that is `own`.
    std::pair<OwnHistogram, OwnHistogram> plan_parts(const Segment& a, const Segment& b,
                                                     const GradientSum* whole, OwnHistogram own,
                                                     std::vector<HistogramJob>& jobs) {
        const bool a_is_smaller = a.n <= b.n;
        const Segment& counted = a_is_smaller ? a : b;
        OwnHistogram small = new_histogram();
        OwnHistogram large = own ? std::move(own) : new_histogram();
        jobs.push_back({rows_.data() + counted.first, counted.n, small.get(), whole, large.get()});
        if (a_is_smaller) return {std::move(small), std::move(large)};
        return {std::move(large), std::move(small)};
    }

    void count(const std::vector<HistogramJob>& jobs) {
        std::size_t n = 0;
        for (const HistogramJob& job : jobs) n += job.n;
        counter_.count(jobs, pool_for(n, kCountForTeam));
    }

    // How much the gradients of rows vary about the node's mean, where levels are judged by it.
    double row_variance(const Segment& at) const {
        if (!many_levels_) return 0;
        const auto squares = sum_over(at.first, at.n, [&](Row at_row) {
            const std::uint32_t row = row_id(at_row);
            return GradientSquares::of_row(rows.gradient(row), Weighted ? table_.weights[row] : 1,
                                           square_shift_);
        });
        return squares.variance(at.sum, growing_.scale, growing_.options.independent_weight,
                                square_shift_);
    }

    void find_cuts(const std::vector<OpenNode>& open) {
        std::vector<NewtonSearch> searches;
        for (const OpenNode& node : open) {
            const Segment& at = inner(node).at;
            searches.emplace_back(at.sum, at.bounds, growing_.scale,
                                  growing_.options.min_weight_leaf,
                                  growing_.options.independent_weight, row_variance(at));
        }
        const std::size_t p = chosen_.size(), n = open.size() * p;
        std::vector<NewtonCut> cuts(n);
        // Two threads would hardly save the time to call the second for a single node.
        const bool pays = open.size() * counter_.size() * (pool_->size() - 1) >= kBinsForTeam;
        const std::size_t n_tasks = pays ? std::min(n, kTasksPerThread * pool_->size()) : 1;
        run_in(pays ? pool_ : nullptr, n_tasks, [&](std::size_t task) {
            for (std::size_t i = task * n / n_tasks; i < (task + 1) * n / n_tasks; ++i) {
                const std::int32_t feature = chosen_[i % p];
                cuts[i] = searches[i / p].best(open[i / p].histogram + counter_.offset(feature),
                                               table_.features.n_codes[feature],
                                               table_.features.categorical[feature] != 0,
                                               table_.features.monotonic[feature]);
            }
        });
        for (std::size_t i = 0; i < open.size(); ++i)
            inner(open[i]).cut = best_of(cuts.data() + i * p, chosen_);
    }

    // Parts the rows of nodes that have a cut.
    void part_rows(const std::vector<OpenNode>& open) {
        std::vector<PartedSegment> segments;
        std::size_t n = 0;
        for (const OpenNode& node : open) {
            const InnerNode& parted = inner(node);
            segments.push_back({parted.at.first, parted.at.n, parted.cut.condition(),
                                parted.cut.set, right_is_first(parted)});
            n += parted.at.n;
        }
        part_segments(table_.codes, rows_.data(), scratch_.data(), segments,
                      pool_for(n, kRowsForTeam));
        for (std::size_t i = 0; i < open.size(); ++i)
            inner(open[i]).n_left =
                segments[i].passing_last ? segments[i].n - segments[i].n_left : segments[i].n_left;
    }

    // Whether the right side of a node's cut is to lie before the left one: so it will where both
    // are the halves of a cell, of which the better comes first, and no row has to be moved again.
    bool right_is_first(const InnerNode& node) const {
        if (growing_.options.leafrank_depth != 1) return false;
        const auto [left, right] = growing_.sides_of(node.at, node.cut, 0);
        return growing_.value(right) > growing_.value(left);
    }

    std::vector<OpenNode> open_children(std::vector<OpenNode>& open, bool counted) {
        std::vector<OpenNode> below;
        std::vector<HistogramJob> jobs;
        for (OpenNode& node : open) {
            std::vector<InnerNode>& nodes = cells_[node.cell].nodes;
            const auto left = static_cast<std::int32_t>(nodes.size());
            nodes[node.number].left = left;
            auto [a, b] = growing_.sides_of(nodes[node.number].at, nodes[node.number].cut,
                                            nodes[node.number].n_left);
            if (right_is_first(nodes[node.number])) {
                b.first = a.first;
                a.first += b.n;
            }
            nodes.push_back({a});
            nodes.push_back({b});
            if (!counted) continue;
            auto [of_a, of_b] = plan_parts(a, b, node.histogram, std::move(node.own), jobs);
            const GradientSum *in_a = of_a.get(), *in_b = of_b.get();
            below.push_back({node.cell, left, in_a, std::move(of_a)});
            below.push_back({node.cell, left + 1, in_b, std::move(of_b)});
        }
        if (counted) count(jobs);
        return below;
    }

    // Grows the trees inside cells below some nodes of the same depth.
    void grow_nodes(std::vector<OpenNode> open, std::int32_t depth) {
        if (open.empty()) return;
        if (open.size() > most_open_)
            return in_stretches(open, most_open_, [&](std::vector<OpenNode> some) {
                grow_nodes(std::move(some), depth);
            });
        find_cuts(open);
        std::erase_if(open, [&](const OpenNode& node) { return inner(node).cut.feature < 0; });
        part_rows(open);
        const bool goes_on = depth + 1 < growing_.options.leafrank_depth;
        std::vector<OpenNode> below = open_children(open, goes_on);
        open.clear();
        grow_nodes(std::move(below), depth + 1);
    }

    // Puts the rows of leaves where they belong from now on.
    void move_rows(const std::vector<MovedRows>& moved) {
        std::vector<MovedRows> blocks;
        std::size_t n = 0;
        for (const MovedRows& leaf : moved) {
            if (leaf.from == leaf.to) continue;
            n += leaf.n;
            for (std::size_t i = 0; i < leaf.n; i += kRowsPerTask)
                blocks.push_back({leaf.from + i, leaf.to + i, std::min(kRowsPerTask, leaf.n - i)});
        }
        ThreadPool* pool = pool_for(n, kRowsForTeam);
        run_in(pool, blocks.size(), [&](std::size_t b) {
            std::copy_n(rows_.data() + blocks[b].from, blocks[b].n, scratch_.data() + blocks[b].to);
        });
        run_in(pool, blocks.size(), [&](std::size_t b) {
            std::copy_n(scratch_.data() + blocks[b].to, blocks[b].n, rows_.data() + blocks[b].to);
        });
    }

    std::int32_t add_cell(const Segment& at, std::int32_t depth) {
        cells_.push_back({at, depth});
        return static_cast<std::int32_t>(cells_.size()) - 1;
    }

    // Grows the trees inside cells of the same depth; their halves, which may be grown in turn.
    std::vector<OpenCell> part_cells(std::vector<OpenCell>& level) {
        std::vector<OpenNode> open;
        std::vector<std::vector<Row>> before(level.size());
        for (std::size_t i = 0; i < level.size(); ++i) {
            BoostedCell& cell = cells_[level[i].number];
            cell.nodes.push_back({cell.at});
            open.push_back({level[i].number, 0, level[i].histogram.get(), nullptr});
            const Row* first = rows_.data() + cell.at.first;
            if (monotonic_)  // only then a cell may stay whole after its rows were parted
                before[i].assign(first, first + cell.at.n);
        }
        if (growing_.options.leafrank_depth > 0) grow_nodes(std::move(open), 0);
        std::vector<OpenCell> below;
        std::vector<MovedRows> moved;
        for (std::size_t i = 0; i < level.size(); ++i) {
            const std::int32_t number = level[i].number;
            trial_.reset(growing_.options);
            const Halves halves = make_halves(trial_, cells_[number], moved);
            if (halves.n_left == 0) {
                std::copy(before[i].begin(), before[i].end(),
                          rows_.data() + cells_[number].at.first);
                cells_[number].nodes.clear();
                continue;
            }
            const std::int32_t depth = cells_[number].depth + 1;
            const std::int32_t left = add_cell(halves.left, depth);
            cells_[number].left = left;
            cells_[number].right = add_cell(halves.right, depth);
            if (depth >= growing_.options.max_depth) continue;
            below.push_back({left, nullptr});
            below.push_back({left + 1, std::move(level[i].histogram)});  // the whole's as yet
        }
        move_rows(moved);
        return below;
    }

    void grow_cells(std::vector<OpenCell> level) {
        std::erase_if(level, [&](const OpenCell& open) {
            return cells_[open.number].depth >= growing_.options.max_depth;
        });
        if (level.empty()) return;
        if (level.size() > most_open_)
            return in_stretches(level, most_open_,
                                [&](std::vector<OpenCell> some) { grow_cells(std::move(some)); });
        std::vector<OpenCell> below = part_cells(level);
        level.clear();
        std::vector<HistogramJob> jobs;
        for (std::size_t i = 0; i < below.size(); i += 2) {
            OpenCell &a = below[i], &b = below[i + 1];
            const GradientSum* whole = b.histogram.get();
            std::tie(a.histogram, b.histogram) = plan_parts(
                cells_[a.number].at, cells_[b.number].at, whole, std::move(b.histogram), jobs);
        }
        count(jobs);
        grow_cells(std::move(below));
    }

    const BoostingTable<Code>& table_;
    std::vector<Row> rows_;  // of the tree: those of a node are a stretch of them
    std::vector<Row> scratch_;
    GrowingBoostedTree growing_, trial_;
    GradientCounter<Code, CountedRows> counter_;
    HistogramPool<GradientSum> histograms_;
    const bool monotonic_;  // some feature is constrained
    // The round at hand.
    ThreadPool* pool_ = nullptr;
    std::size_t n_rows_ = 0;
    std::vector<std::int32_t> chosen_;
    bool many_levels_ = false;   // of some chosen feature
    int square_shift_ = 0;       // digits of gradients that squares leave out
    std::size_t most_open_ = 1;  // nodes grown together
    std::vector<BoostedCell> cells_;
    std::vector<LeafStep> steps_;
};

}  // namespace

template <class Code>
std::unique_ptr<BoostingRounds> make_rounds(const BoostingTable<Code>& table, ThreadPool& pool) {
    if (table.weights != nullptr) return std::make_unique<Grower<Code, true>>(table, pool);
    return std::make_unique<Grower<Code, false>>(table, pool);
}

template std::unique_ptr<BoostingRounds> make_rounds(const BoostingTable<std::uint8_t>&,
                                                     ThreadPool&);
template std::unique_ptr<BoostingRounds> make_rounds(const BoostingTable<std::uint16_t>&,
                                                     ThreadPool&);

}  // namespace treerank
