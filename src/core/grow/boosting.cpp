#include "core/grow/boosting.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/data/partition.hpp"
#include "core/histogram/histogram_pool.hpp"
#include "core/split/newton_split.hpp"

namespace treerank {

namespace {

// Work that is worth calling the pool: rows to count, rows to move, bins to search.
constexpr std::size_t kCountForTeam = std::size_t{1} << 14;
constexpr std::size_t kRowsForTeam = std::size_t{1} << 16;
constexpr std::size_t kBinsForTeam = std::size_t{1} << 14;
constexpr std::size_t kRowsPerTask = 16384;

// Rows [first, first + n) of the grower, which all reach the same place.
struct Segment {
    std::size_t first = 0;
    std::size_t n = 0;
    GradientSum sum;
    Bounds bounds;
};

// Rows [first, first + n) whose scores move by the same value.
struct Move {
    std::size_t first = 0;
    std::size_t n = 0;
    float value = 0;
};

template <class Code, bool Weighted>
class Grower : public BoostingRounds {
  public:
    Grower(const BoostingTable<Code>& table, ThreadPool& pool)
        : BoostingRounds(RowRecords(table.codes, pool)),
          table_(table),
          rows_(table.codes.rows),
          scratch_(table.codes.rows),
          counter_(rows, table.features, table.weights),
          histograms_(offsets_of(table.features.n_codes).back()) {
        for (std::size_t f = 0; f < table.features.size(); ++f)
            monotonic_ = monotonic_ || table.features.monotonic[f] != 0;
    }

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
        return compile_with_values();
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
        options_ = options;
        scale_ = {options.gradient_unit, options.hessian_unit, options.l2};
        tree_ = {};
        nodes_.clear();
        cells_.clear();
        moves_.clear();
        importance_.assign(table_.features.size(), 0.0);
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
        std::int64_t weight = static_cast<std::int64_t>(n_rows_);
        if constexpr (Weighted) {
            weight = 0;
            for (std::size_t i = 0; i < n_rows_; ++i) weight += table_.weights[row_id(rows_[i])];
        }
        const int room = 62 - std::bit_width(static_cast<std::uint64_t>(weight));
        square_shift_ = std::max(0, kGradientBits + 1 - room / 2);  // with the sign
    }

    std::int8_t sign_of(std::int32_t feature) const { return table_.features.monotonic[feature]; }
    double value(const Segment& at) const { return at.bounds.clip(scale_.value(at.sum)); }

    ThreadPool* pool_for(std::size_t n, std::size_t least) const {
        return pool_->size() > 1 && n >= least ? pool_ : nullptr;
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
        std::int64_t gg = 0, gh = 0, hh = 0;
        for (std::size_t i = at.first; i < at.first + at.n; ++i) {
            const std::uint32_t row = row_id(rows_[i]);
            const std::int64_t weight = Weighted ? table_.weights[row] : 1;
            const RowGradient gradient = rows.gradient(row);
            const std::int64_t g = short_of(gradient.gradient);
            const std::int64_t h = short_of(gradient.hessian);
            gg += weight * g * g;
            gh += weight * g * h;
            hh += weight * h * h;
        }
        const double mean =
            scale_.gradient(at.sum) / std::max(scale_.hessian(at.sum), kLeastHessian);
        const double short_unit = std::ldexp(options_.independent_weight, square_shift_);
        const double g_unit = scale_.gradient_unit * short_unit;
        const double h_unit = mean * scale_.hessian_unit * short_unit;
        const double sum = g_unit * g_unit * static_cast<double>(gg) -
                           2 * g_unit * h_unit * static_cast<double>(gh) +
                           h_unit * h_unit * static_cast<double>(hh);
        return sum / static_cast<double>(at.sum.weight);
    }

    NewtonCut best_cut(const Segment& at, const GradientSum* histogram) const {
        const NewtonSearch search(at.sum, at.bounds, scale_, options_.min_weight_leaf,
                                  options_.independent_weight, row_variance(at));
        std::vector<NewtonCut> cuts(chosen_.size());
        // Two threads would hardly save the time to call the second.
        const bool pays = counter_.size() * (pool_->size() - 1) >= kBinsForTeam;
        ThreadPool* pool = pays ? pool_ : nullptr;
        run_in(pool, chosen_.size(), [&](std::size_t i) {
            const std::int32_t feature = chosen_[i];
            cuts[i] =
                search.best(histogram + counter_.offset(feature), table_.features.n_codes[feature],
                            table_.features.categorical[feature] != 0, sign_of(feature));
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

    std::size_t partition(const Segment& at, const SplitCondition& condition,
                          const CategorySet& set) {
        return partition_by_condition<Code, PackedCount>(
            condition, set, table_.codes, rows_.data() + at.first, at.n, scratch_.data() + at.first,
            pool_for(at.n, kRowsForTeam));
    }

    // A leaf of the LeafRank tree that is being grown.
    struct Leaf {
        std::int32_t node;
        Segment rows;
    };

    std::int32_t add_node(const Segment& at) {
        LeafRankNode node;
        node.weight = {scale_.gradient(at.sum), scale_.hessian(at.sum)};
        tree_.tests.push_back(node);
        nodes_.push_back(at);
        return static_cast<std::int32_t>(tree_.tests.size()) - 1;
    }

    // Grows the tree inside a cell below one node, whose histogram is `own`, or for the first
    // node that of the cell, which is needed once more when the cell has been parted.
    void grow_node(std::int32_t node, const Segment& at, const GradientSum* cell, OwnHistogram own,
                   std::int32_t depth, std::vector<Leaf>& leaves) {
        const GradientSum* histogram = own ? own.get() : cell;
        NewtonCut cut;
        if (depth < options_.leafrank_depth) cut = best_cut(at, histogram);
        if (cut.feature < 0) {
            leaves.push_back({node, at});
            return;
        }
        importance_[cut.feature] += cut.gain;
        SplitCondition condition;
        condition.feature = cut.feature;
        condition.categorical = cut.categorical;
        condition.missing_left = cut.missing_left;
        condition.cut = cut.cut;
        if (cut.categorical) {
            condition.cut = static_cast<std::int32_t>(tree_.category_sets.size());
            tree_.category_sets.push_back(cut.set);
        }
        const std::size_t n_left = partition(at, condition, cut.set);
        Segment left{at.first, n_left, cut.left, at.bounds};
        Segment right{at.first + n_left, at.n - n_left, at.sum - cut.left, at.bounds};
        const std::int8_t sign = sign_of(cut.feature);
        if (sign > 0) keep_apart(right, left);
        if (sign < 0) keep_apart(left, right);
        tree_.tests[node].condition = condition;
        tree_.tests[node].left = add_node(left);
        tree_.tests[node].right = add_node(right);
        const std::int32_t left_node = tree_.tests[node].left;
        OwnHistogram of_left, of_right;
        if (depth + 1 < options_.leafrank_depth)
            std::tie(of_left, of_right) = count_parts(left, right, histogram, std::move(own));
        grow_node(left_node, left, nullptr, std::move(of_left), depth + 1, leaves);
        grow_node(left_node + 1, right, nullptr, std::move(of_right), depth + 1, leaves);
    }

    // No value of the one will be below any of the other.
    void keep_apart(Segment& better, Segment& worse) const {
        const double middle = (value(better) + value(worse)) / 2;
        better.bounds.lower = worse.bounds.upper = middle;
    }

    // Whether the tree inside a cell tests a constrained feature.
    bool is_constrained(std::int32_t first_test) const {
        return std::any_of(tree_.tests.begin() + first_test, tree_.tests.end(),
                           [&](const LeafRankNode& node) {
                               return node.left >= 0 && sign_of(node.condition.feature) != 0;
                           });
    }

    // Leaves by falling value; the first so many that part the cell best go left. Rows that
    // differ in a constrained feature come to leaves whose values are in order: where these are
    // equal both must go the same way. 0: all are.
    std::size_t order_leaves(std::vector<Leaf>& leaves, const Segment& cell,
                             bool constrained) const {
        std::sort(leaves.begin(), leaves.end(), [&](const Leaf& a, const Leaf& b) {
            const double x = value(a.rows), y = value(b.rows);
            return x != y ? x > y : a.node < b.node;
        });
        double best = -std::numeric_limits<double>::infinity();
        std::size_t n_left = 0;
        GradientSum left;
        for (std::size_t i = 0; i + 1 < leaves.size(); ++i) {
            left = left + leaves[i].rows.sum;
            if (constrained && value(leaves[i].rows) == value(leaves[i + 1].rows)) continue;
            const double gain =
                scale_.gain(left, cell.bounds) + scale_.gain(cell.sum - left, cell.bounds);
            if (gain > best) {
                best = gain;
                n_left = i + 1;
            }
        }
        return n_left;
    }

    // Puts the rows of the left leaves first; returns the two halves of the cell, and sets where
    // the leaves lie from now on.
    std::pair<Segment, Segment> merge(std::vector<Leaf>& leaves, std::size_t n_left,
                                      const Segment& cell, bool constrained) {
        Segment half[2] = {{cell.first, 0, {}, cell.bounds}, {cell.first, 0, {}, cell.bounds}};
        std::vector<std::size_t> from;
        std::size_t to = cell.first;
        for (std::size_t i = 0; i < leaves.size(); ++i) {
            const int side = i < n_left ? 0 : 1;
            Segment& leaf = leaves[i].rows;
            tree_.tests[leaves[i].node].side = side;
            half[side].n += leaf.n;
            half[side].sum += leaf.sum;
            from.push_back(leaf.first);
            leaf.first = to;
            to += leaf.n;
        }
        run_in(pool_for(cell.n, kRowsForTeam), leaves.size(), [&](std::size_t i) {
            std::copy_n(rows_.data() + from[i], leaves[i].rows.n,
                        scratch_.data() + leaves[i].rows.first);
        });
        run_in(pool_for(cell.n, kRowsForTeam), leaves.size(), [&](std::size_t i) {
            const Segment& leaf = leaves[i].rows;
            std::copy_n(scratch_.data() + leaf.first, leaf.n, rows_.data() + leaf.first);
        });
        half[1].first += half[0].n;
        if (constrained) keep_apart(half[0], half[1]);
        return {half[0], half[1]};
    }

    // What a row of a stratum adds to its score, having come by a leaf of the tree in the cell
    // above (-1: none). Leaves are in order within their stratum, strata among each other.
    float step_of(const Segment& stratum, std::int32_t leaf) const {
        const bool by_leaf = !options_.by_stratum && leaf >= 0;
        const double step = by_leaf ? stratum.bounds.clip(value(nodes_[leaf])) : value(stratum);
        return static_cast<float>(options_.learning_rate * step);
    }

    // Grows a cell, which is made up of the given leaves of the cell above.
    void grow_cell(const Segment& at, OwnHistogram histogram, std::int32_t depth,
                   std::int32_t parent, const std::vector<Leaf>& made_of) {
        const auto number = static_cast<std::int32_t>(tree_.cells.size());
        Cell cell;
        cell.parent = parent;
        cell.depth = depth;
        tree_.cells.push_back(cell);
        cells_.push_back(at);
        if (depth >= options_.max_depth || !split_cell(number, at, std::move(histogram)))
            for (const Leaf& leaf : made_of)
                moves_.push_back({leaf.rows.first, leaf.rows.n, step_of(at, leaf.node)});
    }

    // Grows the tree inside a cell and what is below; false where the cell stays whole.
    bool split_cell(std::int32_t number, const Segment& at, OwnHistogram histogram) {
        const std::vector<double> importance = importance_;
        const std::size_t n_sets = tree_.category_sets.size();
        const std::int32_t depth = tree_.cells[number].depth, first_test = add_node(at);
        std::vector<Row> before;
        if (monotonic_)  // only then a cell may stay whole after its rows were parted
            before.assign(rows_.data() + at.first, rows_.data() + at.first + at.n);
        std::vector<Leaf> leaves;
        grow_node(first_test, at, histogram.get(), nullptr, 0, leaves);
        const bool constrained = is_constrained(first_test);
        const std::size_t n_left = order_leaves(leaves, at, constrained);
        if (n_left == 0) {
            std::copy(before.begin(), before.end(), rows_.data() + at.first);
            importance_ = importance;
            tree_.category_sets.resize(n_sets);
            tree_.tests.resize(first_test);
            nodes_.resize(first_test);
            return false;
        }
        tree_.cells[number].first_test = first_test;
        tree_.cells[number].last_test = static_cast<std::int32_t>(tree_.tests.size());
        const auto [left, right] = merge(leaves, n_left, at, constrained);
        OwnHistogram of_left, of_right;
        const GradientSum* whole = histogram.get();
        if (depth + 1 < options_.max_depth)
            std::tie(of_left, of_right) = count_parts(left, right, whole, std::move(histogram));
        const auto middle = leaves.begin() + static_cast<std::ptrdiff_t>(n_left);
        tree_.cells[number].left = static_cast<std::int32_t>(tree_.cells.size());
        grow_cell(left, std::move(of_left), depth + 1, number, {leaves.begin(), middle});
        tree_.cells[number].right = static_cast<std::int32_t>(tree_.cells.size());
        grow_cell(right, std::move(of_right), depth + 1, number, {middle, leaves.end()});
        return true;
    }

    float left_share(std::int32_t test) const {
        if (test < 0) return 0;
        const auto left = static_cast<double>(nodes_[tree_.tests[test].left].sum.weight);
        return static_cast<float>(left / static_cast<double>(nodes_[test].sum.weight));
    }

    BoostedTree compile_with_values() {
        std::vector<std::uint8_t> is_split;
        for (const Cell& cell : tree_.cells) is_split.push_back(cell.left >= 0);
        BoostedTree grown;
        std::vector<std::int32_t> arrival;
        grown.flat = compile_tree(tree_, is_split.data(), options_.by_stratum ? nullptr : &arrival);
        const auto& flat = grown.flat;
        for (std::uint32_t s = 0; s < flat.slots.size(); ++s) {
            grown.left_share.push_back(left_share(flat.test[s]));
            const bool is_end = flat.slots[s].next == s;
            const std::int32_t leaf = options_.by_stratum ? -1 : arrival[s];
            grown.value.push_back(is_end ? step_of(cells_[flat.target[s]], leaf) : 0);
        }
        grown.importance = std::move(importance_);
        return grown;
    }

    const BoostingTable<Code>& table_;
    std::vector<Row> rows_;  // of the tree: those of a node are a stretch of them
    std::vector<Row> scratch_;
    GradientCounter<Code, CountedRows> counter_;
    HistogramPool<GradientSum> histograms_;
    bool monotonic_ = false;  // some feature is constrained
    // The round at hand.
    ThreadPool* pool_ = nullptr;
    std::size_t n_rows_ = 0;
    std::vector<std::int32_t> chosen_;
    BoostingOptions options_;
    NewtonScale scale_{1, 1, 0};
    bool many_levels_ = false;  // of some chosen feature
    int square_shift_ = 0;      // digits of gradients that squares leave out
    RankTree tree_;
    std::vector<Segment> nodes_;  // by test node
    std::vector<Segment> cells_;  // by cell
    std::vector<Move> moves_;
    std::vector<double> importance_;
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
