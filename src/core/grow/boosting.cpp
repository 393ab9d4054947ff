#include "core/grow/boosting.hpp"

#include <algorithm>
#include <memory>
#include <type_traits>

#include "core/data/partition.hpp"
#include "core/grow/boosted_growth.hpp"
#include "core/grow/gradient_squares.hpp"
#include "core/split/newton_split.hpp"

namespace treerank {

namespace {

// The least work for which the pool pays: rows to count, rows to move, bins to search.
constexpr std::size_t kCountForTeam = std::size_t{1} << 12;
constexpr std::size_t kRowsForTeam = std::size_t{1} << 13;
constexpr std::size_t kBinsForTeam = std::size_t{1} << 13;
constexpr std::size_t kRowsPerTask = 1024;
// Nodes are grown together to fill the pool, so that threads seldom wait for each other: several
// per thread, as long as their histograms do not exceed this size.
constexpr std::size_t kNodesPerThread = 4;
constexpr std::size_t kHistogramBytes = std::size_t{1} << 23;
constexpr std::size_t kTasksPerThread = 4;

// Carries out the driver's requests for rows in memory.
template <class Code, bool Weighted>
class RowsInMemory : public BoostingRounds {
  public:
    RowsInMemory(const Table<Code>& table, ThreadPool& pool)
        : BoostingRounds(RowRecords(table.codes, pool)),
          table_(table),
          rows_(table.codes.rows),
          scratch_(table.codes.rows),
          growth_(table.features),
          counter_(rows, table.features, table.weights),
          histogram_size_(offsets_of(table.features.n_codes).back()) {}

    BoostedTree grow(const std::vector<std::uint32_t>* drawn,
                     const std::vector<std::int32_t>& chosen, const BoostingOptions& options,
                     ThreadPool& pool) override {
        pool_ = &pool;
        begin(drawn, chosen, options);
        growth_.start(options, static_cast<std::int64_t>(n_rows_), count_root(), max_open(),
                      pool_->size());
        while (true) {
            if (!growth_.partitions().empty()) {
                partition_rows();
                growth_.partitioned();
                continue;
            }
            restore_rows();
            move_rows();
            if (growth_.nodes().empty()) return growth_.finish();
            count();
            keep_rows();
            growth_.take(find_cuts(), {});
        }
    }

    // The rows of a leaf are mostly in ascending order. Each task takes one part of every leaf, so
    // that its rows are close together in the table and their scores stay in the cache.
    void add_to(double* scores, ThreadPool& pool) const override {
        const auto n_parts = static_cast<std::int64_t>(n_rows_ / kRowsPerTask + 1);
        pool.run_with_affinity(static_cast<std::size_t>(n_parts), [&](std::size_t task) {
            const auto part = static_cast<std::int64_t>(task);
            for (const BoostedStep& step : growth_.steps()) {
                const Row* first = rows_.data() + step.first;
                const std::int64_t last = (part + 1) * step.n / n_parts;
                for (std::int64_t i = part * step.n / n_parts; i < last; ++i)
                    scores[row_id(first[i])] += step.value;
            }
        });
    }

  private:
    using CountedRows = std::conditional_t<Weighted, WeightedGradientRows, UnitRows>;

    void begin(const std::vector<std::uint32_t>* drawn, const std::vector<std::int32_t>& chosen,
               const BoostingOptions& options) {
        n_rows_ = drawn != nullptr ? drawn->size() : table_.codes.rows;
        chosen_ = chosen;
        counter_.choose(chosen_);
        run_blocks(*pool_, n_rows_, kRowsPerTask, [&](std::size_t first, std::size_t last) {
            for (std::size_t i = first; i < last; ++i)
                rows_[i] = pack_row(drawn != nullptr ? (*drawn)[i] : static_cast<std::uint32_t>(i),
                                    false, 1);
        });
        many_levels_ = needs_row_variance(table_.features, chosen_);
        // Otherwise no cell stays whole after its rows have been partitioned.
        const bool may_stay_whole = table_.features.any_monotonic() || options.max_leaf_nodes > 0;
        kept_.resize(options.leafrank_depth > 1 && may_stay_whole ? table_.codes.rows : 0);
    }

    std::size_t max_open() const {
        const std::size_t fitting = kHistogramBytes / (counter_.size() * sizeof(GradientSum));
        const std::size_t wanted = pool_->size() > 1 ? kNodesPerThread * pool_->size() : 1;
        return std::clamp<std::size_t>(fitting, 1, wanted);
    }

    // Counts all rows and returns their sum.
    GradientSum count_root() {
        GradientSum* histogram = histogram_of(0);
        counter_.count({{rows_.data(), n_rows_, histogram}}, pool_for(n_rows_, kCountForTeam));
        counter_.complete(0, 0, 1);
        return total_of(histogram + counter_.offset(chosen_[0]),
                        table_.features.n_codes[chosen_[0]]);
    }

    // Returns the histogram with this number, null for -1. Histograms are kept for the next tree.
    GradientSum* histogram_of(std::int64_t number) {
        if (number < 0) return nullptr;
        while (std::ssize(histograms_) <= number)
            histograms_.push_back(std::make_unique_for_overwrite<GradientSum[]>(histogram_size_));
        return histograms_[number].get();
    }

    ThreadPool* pool_for(std::size_t n, std::size_t least) const {
        return pool_->size() > 1 && n >= least ? pool_ : nullptr;
    }

    void count() {
        std::vector<HistogramJob> jobs;
        std::size_t n = 0;
        for (const BoostedCount& wanted : growth_.counts()) {
            const auto n_counted = static_cast<std::size_t>(wanted.n);
            jobs.push_back({rows_.data() + wanted.first, n_counted, histogram_of(wanted.counted),
                            histogram_of(wanted.whole), histogram_of(wanted.rest)});
            n += n_counted;
        }
        if (!jobs.empty()) counter_.count(std::move(jobs), pool_for(n, kCountForTeam));
    }

    // The variance of the rows' gradients about the node's mean, by which levels of categories are
    // judged; 0 if it is not needed.
    double row_variance(const BoostedOpenNode& node) const {
        if (!many_levels_) return 0;
        const int shift = growth_.square_shift();
        const auto n = static_cast<std::size_t>(node.n);
        std::vector<GradientSquares> squares((n + kRowsPerTask - 1) / kRowsPerTask);
        run_in(pool_for(n, kRowsForTeam), squares.size(), [&](std::size_t task) {
            GradientSquares sum;
            const std::size_t last = std::min(n, (task + 1) * kRowsPerTask);
            for (std::size_t i = task * kRowsPerTask; i < last; ++i) {
                const std::uint32_t row = row_id(rows_[node.first + i]);
                sum += GradientSquares::of_row(rows.gradient(row),
                                               Weighted ? table_.weights[row] : 1, shift);
            }
            squares[task] = sum;
        });
        GradientSquares total;
        for (const GradientSquares& sum : squares) total += sum;
        return growth_.row_variance(node, total);
    }

    // Returns the open nodes by the job that counted their histograms; nodes whose histograms were
    // complete before come last, one by one.
    std::vector<std::vector<std::size_t>> nodes_by_job() {
        const std::vector<HistogramJob>& jobs = counter_.jobs();
        std::vector<std::vector<std::size_t>> nodes(jobs.size());
        for (std::size_t i = 0; i < growth_.nodes().size(); ++i) {
            const GradientSum* histogram = histogram_of(growth_.nodes()[i].histogram);
            const auto job = std::find_if(jobs.begin(), jobs.end(), [&](const HistogramJob& one) {
                return one.histogram == histogram || one.rest == histogram;
            });
            if (job != jobs.end())
                nodes[job - jobs.begin()].push_back(i);
            else
                nodes.push_back({i});
        }
        return nodes;
    }

    // Completes the histograms that have just been counted and searches all open nodes.
    std::vector<NewtonCut> find_cuts() {
        const std::vector<BoostedOpenNode>& open = growth_.nodes();
        std::vector<NewtonSearch> searches;
        std::vector<const GradientSum*> histograms;
        for (const BoostedOpenNode& node : open) {
            searches.push_back(growth_.search(node, row_variance(node)));
            histograms.push_back(histogram_of(node.histogram));
        }
        const std::vector<std::vector<std::size_t>> groups = nodes_by_job();
        const std::size_t p = chosen_.size(), n = groups.size() * p;
        std::vector<NewtonCut> cuts(open.size() * p), best;
        // Features [first, last) of the nodes of a group.
        const auto search = [&](std::size_t group, std::size_t first, std::size_t last,
                                std::vector<double>& to_beat) {
            if (group < counter_.jobs().size()) counter_.complete(group, first, last);
            for (const std::size_t node : groups[group]) {
                for (std::size_t f = first; f < last; ++f) {
                    const GradientSum* sums = histograms[node] + counter_.offset(chosen_[f]);
                    NewtonCut& cut = cuts[node * p + f];
                    cut = searches[node].best(sums, table_.features, chosen_[f], to_beat[node]);
                    to_beat[node] = std::max(to_beat[node], cut.gain);
                }
            }
        };
        const std::size_t most = counter_.n_completed_together();
        // For a single node, two threads would hardly save the time it takes to wake the second.
        const bool pays = open.size() * counter_.size() * (pool_->size() - 1) >= kBinsForTeam;
        const std::size_t n_tasks = pays ? std::min(n, kTasksPerThread * pool_->size()) : 1;
        run_in(pays ? pool_ : nullptr, n_tasks, [&](std::size_t task) {
            const std::size_t last = (task + 1) * n / n_tasks;
            std::vector<double> to_beat(open.size());
            for (std::size_t i = task * n / n_tasks; i < last;) {
                const std::size_t group = i / p;
                const std::size_t end = std::min({last, (group + 1) * p, i + most});
                search(group, i - group * p, end - group * p, to_beat);
                i = end;
            }
        });
        counter_.finish();
        for (std::size_t i = 0; i < open.size(); ++i)
            best.push_back(best_of(cuts.data() + i * p, chosen_));
        return best;
    }

    void partition_rows() {
        std::size_t n = 0;
        for (const NodePartition& node : growth_.partitions()) n += node.n;
        partition_segments(growth_.partitions(), rows_.data(), scratch_.data(),
                           pool_for(n, kRowsForTeam),
                           [&](const NodePartition& node, const Row* block, std::size_t size,
                               Row* left, Row* right) {
                               return split_by_condition<Code, PackedCount>(
                                   node.condition, node.set, table_.codes, block, size, left, right,
                                   node.passing_last);
                           });
    }

    void move_rows() {
        std::vector<BoostedRowMove> blocks;
        std::size_t n = 0;
        for (const BoostedRowMove& leaf : growth_.moves()) {
            if (leaf.from == leaf.to) continue;
            n += static_cast<std::size_t>(leaf.n);
            const std::int64_t size = kRowsPerTask;
            for (std::int64_t i = 0; i < leaf.n; i += size)
                blocks.push_back({leaf.from + i, leaf.to + i, std::min(size, leaf.n - i), 0, 0});
        }
        ThreadPool* pool = pool_for(n, kRowsForTeam);
        run_in(pool, blocks.size(), [&](std::size_t b) {
            std::copy_n(rows_.data() + blocks[b].from, blocks[b].n, scratch_.data() + blocks[b].to);
        });
        run_in(pool, blocks.size(), [&](std::size_t b) {
            std::copy_n(scratch_.data() + blocks[b].to, blocks[b].n, rows_.data() + blocks[b].to);
        });
    }

    // Rows are partitioned in place, so the rows of cells that may stay whole are saved first.
    void keep_rows() {
        if (kept_.empty()) return;
        for (const BoostedOpenNode& node : growth_.nodes())
            if (node.is_cell())
                std::copy_n(rows_.data() + node.first, node.n, kept_.data() + node.first);
    }

    void restore_rows() {
        for (const Segment& cell : growth_.restored())
            std::copy_n(kept_.data() + cell.first, cell.n, rows_.data() + cell.first);
    }

    const Table<Code>& table_;
    std::vector<Row> rows_;  // the rows of the tree; each node is a range of them
    std::vector<Row> scratch_, kept_;
    BoostedGrowth growth_;
    GradientCounter<Code, CountedRows> counter_;
    const std::size_t histogram_size_;
    std::vector<std::unique_ptr<GradientSum[]>> histograms_;
    // State of the current round.
    ThreadPool* pool_ = nullptr;
    std::size_t n_rows_ = 0;
    std::vector<std::int32_t> chosen_;
    bool many_levels_ = false;  // some chosen feature has many levels
};

}  // namespace

template <class Code>
std::unique_ptr<BoostingRounds> make_rounds(const Table<Code>& table, ThreadPool& pool) {
    if (table.weights != nullptr) return std::make_unique<RowsInMemory<Code, true>>(table, pool);
    return std::make_unique<RowsInMemory<Code, false>>(table, pool);
}

template std::unique_ptr<BoostingRounds> make_rounds(const Table<std::uint8_t>&, ThreadPool&);
template std::unique_ptr<BoostingRounds> make_rounds(const Table<std::uint16_t>&, ThreadPool&);

}  // namespace treerank
