#include "core/grow/boosting.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/data/partition.hpp"
#include "core/grow/growing_boosted_tree.hpp"
#include "core/histogram/histogram_pool.hpp"
#include "core/split/newton_split.hpp"

namespace treerank {

namespace {

// Work that is worth calling the pool: rows to count, rows to move, bins to search.
constexpr std::size_t kCountForTeam = std::size_t{1} << 14;
constexpr std::size_t kRowsForTeam = std::size_t{1} << 16;
constexpr std::size_t kBinsForTeam = std::size_t{1} << 14;
constexpr std::size_t kRowsPerTask = 16384;

// Rows [first, first + n) whose scores move by the same value.
struct Move {
    std::size_t first = 0;
    std::size_t n = 0;
    float value = 0;
};

// Sums of products of gradient and curvature.
struct Squares {
    std::int64_t gg = 0, gh = 0, hh = 0;

    Squares& operator+=(const Squares& other) {
        gg += other.gg;
        gh += other.gh;
        hh += other.hh;
        return *this;
    }
};

template <class Code, bool Weighted>
class Grower : public BoostingRounds {
  public:
    Grower(const BoostingTable<Code>& table, ThreadPool& pool)
        : BoostingRounds(RowRecords(table.codes, pool)),
          table_(table),
          rows_(table.codes.rows),
          scratch_(table.codes.rows),
          growing_(table.features),
          counter_(rows, table.features, table.weights),
          histograms_(offsets_of(table.features.n_codes).back()),
          monotonic_(table.features.any_monotonic()) {}

    BoostedTree grow(const std::vector<std::uint32_t>* drawn,
                     const std::vector<std::int32_t>& chosen, const BoostingOptions& options,
                     ThreadPool& pool) override {
        pool_ = &pool;
        begin(drawn, chosen, options);
        Segment all{0, n_rows_, {}, {}};
        OwnHistogram histogram = count(all);
        for (std::int32_t code = 0; code < table_.features.n_codes[chosen_[0]]; ++code)
            all.sum += histogram[counter_.offset(chosen_[0]) + static_cast<std::size_t>(code)];
        grow_cell(all, std::move(histogram), 0, -1, {});
        return growing_.compile();
    }

    void add_to(double* scores, ThreadPool& pool) const override {
        std::vector<Move> blocks;
        for (const Move& move : moves_)
            for (std::size_t first = 0; first < move.n; first += kRowsPerTask)
                blocks.push_back(
                    {move.first + first, std::min(kRowsPerTask, move.n - first), move.value});
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

    void begin(const std::vector<std::uint32_t>* drawn, const std::vector<std::int32_t>& chosen,
               const BoostingOptions& options) {
        n_rows_ = drawn != nullptr ? drawn->size() : table_.codes.rows;
        chosen_ = chosen;
        growing_.reset(options);
        moves_.clear();
        counter_.choose(chosen_);
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
        const int room = 62 - std::bit_width(static_cast<std::uint64_t>(weight));
        square_shift_ = std::max(0, kGradientBits + 1 - room / 2);  // with the sign
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

    OwnHistogram count(const Segment& at) {
        OwnHistogram histogram = new_histogram();
        counter_.count(rows_.data() + at.first, at.n, histogram.get(),
                       pool_for(at.n, kCountForTeam));
        return histogram;
    }

    // The histograms of the two parts of a node: the smaller is counted, the other is what
    // is left of the node's, and takes its place if that is `own`.
    std::pair<OwnHistogram, OwnHistogram> count_parts(const Segment& a, const Segment& b,
                                                      const GradientSum* whole, OwnHistogram own) {
        const bool a_is_smaller = a.n <= b.n;
        OwnHistogram small = count(a_is_smaller ? a : b);
        OwnHistogram large = own ? std::move(own) : new_histogram();
        subtract(large.get(), whole, small.get(), counter_.size());
        if (a_is_smaller) return {std::move(small), std::move(large)};
        return {std::move(large), std::move(small)};
    }

    // How much the gradients of rows vary about the node's mean, where levels are judged by it.
    // In whole numbers of as many digits as their squares can be summed in.
    double row_variance(const Segment& at) const {
        if (!many_levels_) return 0;
        const auto short_of = [&](std::int32_t number) {
            return (std::int64_t{number} + (std::int64_t{1} << square_shift_ >> 1)) >>
                   square_shift_;
        };
        const Squares squares = sum_over(at.first, at.n, [&](Row at_row) {
            const std::uint32_t row = row_id(at_row);
            const std::int64_t weight = Weighted ? table_.weights[row] : 1;
            const RowGradient gradient = rows.gradient(row);
            const std::int64_t g = short_of(gradient.gradient);
            const std::int64_t h = short_of(gradient.hessian);
            return Squares{weight * g * g, weight * g * h, weight * h * h};
        });
        const double mean = growing_.scale.gradient(at.sum) /
                            std::max(growing_.scale.hessian(at.sum), kLeastHessian);
        const double short_unit = std::ldexp(growing_.options.independent_weight, square_shift_);
        const double g_unit = growing_.scale.gradient_unit * short_unit;
        const double h_unit = mean * growing_.scale.hessian_unit * short_unit;
        const double sum = g_unit * g_unit * static_cast<double>(squares.gg) -
                           2 * g_unit * h_unit * static_cast<double>(squares.gh) +
                           h_unit * h_unit * static_cast<double>(squares.hh);
        return sum / static_cast<double>(at.sum.weight);
    }

    NewtonCut best_cut(const Segment& at, const GradientSum* histogram) const {
        const NewtonSearch search(at.sum, at.bounds, growing_.scale,
                                  growing_.options.min_weight_leaf,
                                  growing_.options.independent_weight, row_variance(at));
        std::vector<NewtonCut> cuts(chosen_.size());
        // Two threads would hardly save the time to call the second.
        const bool pays = counter_.size() * (pool_->size() - 1) >= kBinsForTeam;
        ThreadPool* pool = pays ? pool_ : nullptr;
        run_in(pool, chosen_.size(), [&](std::size_t i) {
            const std::int32_t feature = chosen_[i];
            cuts[i] = search.best(
                histogram + counter_.offset(feature), table_.features.n_codes[feature],
                table_.features.categorical[feature] != 0, table_.features.monotonic[feature]);
        });
        NewtonCut best;
        for (std::size_t i = 0; i < cuts.size(); ++i) {
            if (cuts[i].feature < 0) continue;
            const bool better =
                cuts[i].gain > best.gain ||
                (cuts[i].gain == best.gain && best.feature >= 0 && chosen_[i] < best.feature);
            if (!better) continue;
            best = cuts[i];
            best.feature = chosen_[i];
        }
        return best;
    }

    std::size_t partition(const Segment& at, const NewtonCut& cut) {
        return partition_by_condition<Code, PackedCount>(
            cut.condition(), cut.set, table_.codes, rows_.data() + at.first, at.n,
            scratch_.data() + at.first, pool_for(at.n, kRowsForTeam));
    }

    // Grows the tree inside a cell below one node, whose histogram is `own`, or for the first
    // node that of the cell, which is needed once more when the cell has been parted.
    void grow_node(std::int32_t node, const GradientSum* cell, OwnHistogram own, std::int32_t depth,
                   std::vector<BoostedLeaf>& leaves) {
        const Segment at = growing_.nodes[node];
        const GradientSum* histogram = own ? own.get() : cell;
        NewtonCut cut;
        if (depth < growing_.options.leafrank_depth) cut = best_cut(at, histogram);
        if (cut.feature < 0) {
            leaves.push_back({node, at});
            return;
        }
        const auto [left, right] = growing_.split_node(node, cut, partition(at, cut));
        OwnHistogram of_left, of_right;
        if (depth + 1 < growing_.options.leafrank_depth)
            std::tie(of_left, of_right) =
                count_parts(growing_.nodes[left], growing_.nodes[right], histogram, std::move(own));
        grow_node(left, nullptr, std::move(of_left), depth + 1, leaves);
        grow_node(right, nullptr, std::move(of_right), depth + 1, leaves);
    }

    // Puts the rows of leaves where they belong from now on.
    void move_rows(const std::vector<MovedRows>& moved, std::size_t n) {
        ThreadPool* pool = pool_for(n, kRowsForTeam);
        run_in(pool, moved.size(), [&](std::size_t i) {
            std::copy_n(rows_.data() + moved[i].from, moved[i].n, scratch_.data() + moved[i].to);
        });
        run_in(pool, moved.size(), [&](std::size_t i) {
            std::copy_n(scratch_.data() + moved[i].to, moved[i].n, rows_.data() + moved[i].to);
        });
    }

    // Grows a cell, which is made up of the given leaves of the cell above.
    void grow_cell(const Segment& at, OwnHistogram histogram, std::int32_t depth,
                   std::int32_t parent, const std::vector<BoostedLeaf>& made_of) {
        const std::int32_t number = growing_.add_cell(at, parent, depth);
        if (depth >= growing_.options.max_depth || !split_cell(number, at, std::move(histogram)))
            for (const BoostedLeaf& leaf : made_of)
                moves_.push_back({leaf.rows.first, leaf.rows.n, growing_.step_of(at, leaf.node)});
    }

    // Grows the tree inside a cell and what is below; false where the cell stays whole.
    bool split_cell(std::int32_t number, const Segment& at, OwnHistogram histogram) {
        RankTree& tree = growing_.tree;
        const std::vector<double> importance = growing_.importance;
        const std::size_t n_sets = tree.category_sets.size();
        const std::int32_t depth = tree.cells[number].depth, first_test = growing_.add_node(at);
        std::vector<Row> before;
        if (monotonic_)  // only then a cell may stay whole after its rows were parted
            before.assign(rows_.data() + at.first, rows_.data() + at.first + at.n);
        std::vector<BoostedLeaf> leaves;
        grow_node(first_test, histogram.get(), nullptr, 0, leaves);
        const bool constrained = growing_.is_constrained(first_test);
        const std::size_t n_left = growing_.order_leaves(leaves, at, constrained);
        if (n_left == 0) {
            std::copy(before.begin(), before.end(), rows_.data() + at.first);
            growing_.importance = importance;
            tree.category_sets.resize(n_sets);
            tree.tests.resize(first_test);
            growing_.nodes.resize(first_test);
            return false;
        }
        tree.cells[number].first_test = first_test;
        tree.cells[number].last_test = static_cast<std::int32_t>(tree.tests.size());
        std::vector<MovedRows> moved;
        const auto [left, right] = growing_.merge(leaves, n_left, at, constrained, moved);
        move_rows(moved, at.n);
        OwnHistogram of_left, of_right;
        const GradientSum* whole = histogram.get();
        if (depth + 1 < growing_.options.max_depth)
            std::tie(of_left, of_right) = count_parts(left, right, whole, std::move(histogram));
        const auto middle = leaves.begin() + static_cast<std::ptrdiff_t>(n_left);
        tree.cells[number].left = static_cast<std::int32_t>(tree.cells.size());
        grow_cell(left, std::move(of_left), depth + 1, number, {leaves.begin(), middle});
        tree.cells[number].right = static_cast<std::int32_t>(tree.cells.size());
        grow_cell(right, std::move(of_right), depth + 1, number, {middle, leaves.end()});
        return true;
    }

    const BoostingTable<Code>& table_;
    std::vector<Row> rows_;  // of the tree: those of a node are a stretch of them
    std::vector<Row> scratch_;
    GrowingBoostedTree growing_;
    GradientCounter<Code, CountedRows> counter_;
    HistogramPool<GradientSum> histograms_;
    const bool monotonic_;  // some feature is constrained
    // The round at hand.
    ThreadPool* pool_ = nullptr;
    std::size_t n_rows_ = 0;
    std::vector<std::int32_t> chosen_;
    bool many_levels_ = false;  // of some chosen feature
    int square_shift_ = 0;      // digits of gradients that squares leave out
    std::vector<Move> moves_;
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
