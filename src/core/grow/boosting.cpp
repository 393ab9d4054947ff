#include "core/grow/boosting.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>

#include "core/data/partition.hpp"
#include "core/split/newton_split.hpp"

namespace treerank {

namespace {

constexpr std::size_t kFeaturesPerPass = 4;
constexpr int kGradientBits = 31;                           // of a row's gradient, with its sign
constexpr std::size_t kWorkForTeam = std::size_t{1} << 16;  // rows times features

using Histogram = std::vector<GradientSum>;

// Rows [first, first + n) of the grower, which all reach the same place.
struct Segment {
    std::size_t first = 0;
    std::size_t n = 0;
    GradientSum sum;
    Bounds bounds;
};

template <class Code, bool Weighted>
class Grower {
  public:
    Grower(const BoostingTable<Code>& table, const std::vector<std::uint32_t>& rows,
           const std::vector<std::int32_t>& chosen, const BoostingOptions& options,
           ThreadPool& pool)
        : table_(table),
          chosen_(chosen),
          options_(options),
          scale_{options.gradient_unit, options.hessian_unit, options.l2},
          pool_(pool),
          scratch_(rows.size()),
          gathered_(rows.size()),
          importance_(table.features.size()) {
        rows_.reserve(rows.size());
        for (const std::uint32_t row : rows) rows_.push_back(pack_row(row, false, 1));
        offset_.assign(table.features.size(), 0);
        for (const std::int32_t feature : chosen_) {
            offset_[feature] = histogram_size_;
            histogram_size_ += table.features.n_codes[feature];
            many_levels_ = many_levels_ || (table.features.categorical[feature] != 0 &&
                                            table.features.n_codes[feature] > kFreeLevels + 1);
        }
        std::int64_t weight = 0;
        for (const std::uint32_t row : rows) weight += Weighted ? table.weights[row] : 1;
        const int room = 62 - std::bit_width(static_cast<std::uint64_t>(weight));
        square_shift_ = std::max(0, kGradientBits - room / 2);
    }

    BoostedTree grow() {
        Segment all{0, rows_.size(), {}, {}};
        for (const Row row : rows_) add(all.sum, row_id(row));
        auto histogram = count(all);
        grow_cell(all, std::move(histogram), 0, -1);
        return compile_with_values();
    }

  private:
    using OwnHistogram = std::unique_ptr<Histogram>;

    void add(GradientSum& sum, std::uint32_t row) const {
        const RowGradient& from = table_.gradients[row];
        const std::int64_t weight = Weighted ? table_.weights[row] : 1;
        sum.gradient += from.gradient * weight;
        sum.hessian += from.hessian * weight;
        sum.weight += weight;
    }

    std::int8_t sign_of(std::int32_t feature) const { return table_.features.monotonic[feature]; }
    double value(const Segment& at) const { return at.bounds.clip(scale_.value(at.sum)); }

    ThreadPool* pool_for(std::size_t n) const {
        return pool_.size() > 1 && n * chosen_.size() >= kWorkForTeam ? &pool_ : nullptr;
    }
    template <class Job>
    void share_out(ThreadPool* pool, std::size_t n, const Job& job) const {
        if (pool != nullptr)
            pool->run(n, job);
        else
            for (std::size_t i = 0; i < n; ++i) job(i);
    }

    // Threads own features, never parts of one sum.
    OwnHistogram count(const Segment& at) {
        auto histogram = std::make_unique<Histogram>(histogram_size_);
        const Row* rows = rows_.data() + at.first;
        for (std::size_t i = 0; i < at.n; ++i) {
            GradientSum one;
            add(one, row_id(rows[i]));
            gathered_[i] = one;
        }
        const std::size_t passes = (chosen_.size() + kFeaturesPerPass - 1) / kFeaturesPerPass;
        share_out(pool_for(at.n), passes, [&](std::size_t pass) {
            const std::size_t first = pass * kFeaturesPerPass;
            const std::size_t k = std::min(kFeaturesPerPass, chosen_.size() - first);
            if (k == kFeaturesPerPass)
                count_pass<kFeaturesPerPass>(rows, at.n, first, histogram->data());
            else
                for (std::size_t j = 0; j < k; ++j)
                    count_pass<1>(rows, at.n, first + j, histogram->data());
        });
        return histogram;
    }

    template <std::size_t K>
    void count_pass(const Row* rows, std::size_t n, std::size_t first, GradientSum* histogram) {
        const Code* columns[K];
        GradientSum* counts[K];
        for (std::size_t j = 0; j < K; ++j) {
            columns[j] = table_.codes.column(chosen_[first + j]);
            counts[j] = histogram + offset_[chosen_[first + j]];
        }
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint32_t row = row_id(rows[i]);
            const GradientSum one = gathered_[i];
            for (std::size_t j = 0; j < K; ++j) {
                GradientSum& bin = counts[j][columns[j][row]];
                bin.gradient += one.gradient;
                bin.hessian += one.hessian;
                bin.weight += one.weight;
            }
        }
    }

    // The histograms of the two parts of a node: the smaller is counted, the other is what
    // is left of the node's.
    std::pair<OwnHistogram, OwnHistogram> count_parts(const Segment& a, const Segment& b,
                                                      OwnHistogram whole) {
        const bool a_is_smaller = a.n <= b.n;
        OwnHistogram small = count(a_is_smaller ? a : b);
        for (std::size_t i = 0; i < whole->size(); ++i) (*whole)[i] = (*whole)[i] - (*small)[i];
        if (a_is_smaller) return {std::move(small), std::move(whole)};
        return {std::move(whole), std::move(small)};
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
            const std::int64_t g = short_of(table_.gradients[row].gradient);
            const std::int64_t h = short_of(table_.gradients[row].hessian);
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

    NewtonCut best_cut(const Segment& at, const Histogram& histogram) const {
        const NewtonSearch search(at.sum, at.bounds, scale_, options_.min_weight_leaf,
                                  options_.independent_weight, row_variance(at));
        std::vector<NewtonCut> cuts(chosen_.size());
        share_out(pool_for(histogram.size() / 16), chosen_.size(), [&](std::size_t i) {
            const std::int32_t feature = chosen_[i];
            cuts[i] =
                search.best(histogram.data() + offset_[feature], table_.features.n_codes[feature],
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
            pool_for(at.n));
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
    void grow_node(std::int32_t node, const Segment& at, const Histogram* cell, OwnHistogram own,
                   std::int32_t depth, std::vector<Leaf>& leaves) {
        const Histogram* histogram = own ? own.get() : cell;
        NewtonCut cut;
        if (depth < options_.leafrank_depth) cut = best_cut(at, *histogram);
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
        if (depth + 1 < options_.leafrank_depth) {
            if (!own) own = std::make_unique<Histogram>(*cell);
            std::tie(of_left, of_right) = count_parts(left, right, std::move(own));
        }
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

    // Puts the rows of the left leaves first; returns the two halves of the cell.
    std::pair<Segment, Segment> merge(const std::vector<Leaf>& leaves, std::size_t n_left,
                                      const Segment& cell, bool constrained) {
        Segment half[2] = {{cell.first, 0, {}, cell.bounds}, {cell.first, 0, {}, cell.bounds}};
        Row* to = scratch_.data() + cell.first;
        for (std::size_t i = 0; i < leaves.size(); ++i) {
            const int side = i < n_left ? 0 : 1;
            const Segment& leaf = leaves[i].rows;
            tree_.tests[leaves[i].node].side = side;
            to = std::copy_n(rows_.data() + leaf.first, leaf.n, to);
            half[side].n += leaf.n;
            half[side].sum = half[side].sum + leaf.sum;
        }
        std::copy_n(scratch_.data() + cell.first, cell.n, rows_.data() + cell.first);
        half[1].first += half[0].n;
        if (constrained) keep_apart(half[0], half[1]);
        return {half[0], half[1]};
    }

    void grow_cell(const Segment& at, OwnHistogram histogram, std::int32_t depth,
                   std::int32_t parent) {
        const auto number = static_cast<std::int32_t>(tree_.cells.size());
        Cell cell;
        cell.parent = parent;
        cell.depth = depth;
        tree_.cells.push_back(cell);
        cells_.push_back(at);
        if (depth >= options_.max_depth) return;
        const std::vector<double> importance = importance_;
        const std::size_t n_sets = tree_.category_sets.size();
        const std::int32_t first_test = add_node(at);
        std::vector<Leaf> leaves;
        grow_node(first_test, at, histogram.get(), nullptr, 0, leaves);
        const bool constrained = is_constrained(first_test);
        const std::size_t n_left = order_leaves(leaves, at, constrained);
        if (n_left == 0) {
            importance_ = importance;
            tree_.category_sets.resize(n_sets);
            tree_.tests.resize(first_test);
            nodes_.resize(first_test);
            return;
        }
        tree_.cells[number].first_test = first_test;
        tree_.cells[number].last_test = static_cast<std::int32_t>(tree_.tests.size());
        const auto [left, right] = merge(leaves, n_left, at, constrained);
        OwnHistogram of_left, of_right;
        if (depth + 1 < options_.max_depth)
            std::tie(of_left, of_right) = count_parts(left, right, std::move(histogram));
        tree_.cells[number].left = static_cast<std::int32_t>(tree_.cells.size());
        grow_cell(left, std::move(of_left), depth + 1, number);
        tree_.cells[number].right = static_cast<std::int32_t>(tree_.cells.size());
        grow_cell(right, std::move(of_right), depth + 1, number);
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
            if (flat.slots[s].next != s) {
                grown.value.push_back(0);
                continue;
            }
            const bool in_leaf = !options_.by_stratum && arrival[s] >= 0;
            const Segment& stratum = cells_[flat.target[s]];
            // Leaves are in order within their stratum, strata among each other.
            const double step =
                in_leaf ? stratum.bounds.clip(value(nodes_[arrival[s]])) : value(stratum);
            grown.value.push_back(static_cast<float>(options_.learning_rate * step));
        }
        grown.importance = std::move(importance_);
        return grown;
    }

    const BoostingTable<Code>& table_;
    const std::vector<std::int32_t>& chosen_;
    const BoostingOptions& options_;
    const NewtonScale scale_;
    ThreadPool& pool_;
    std::vector<Row> rows_;
    std::vector<Row> scratch_;
    std::vector<GradientSum> gathered_;  // by row of the segment that is being counted
    std::vector<std::size_t> offset_;    // where a chosen feature's sums start
    std::size_t histogram_size_ = 0;
    bool many_levels_ = false;  // of some chosen feature
    int square_shift_ = 0;      // digits of gradients that squares leave out
    RankTree tree_;
    std::vector<Segment> nodes_;  // by test node
    std::vector<Segment> cells_;  // by cell
    std::vector<double> importance_;
};

}  // namespace

template <class Code>
BoostedTree grow_boosted_tree(const BoostingTable<Code>& table,
                              const std::vector<std::uint32_t>& rows,
                              const std::vector<std::int32_t>& chosen,
                              const BoostingOptions& options, ThreadPool& pool) {
    if (table.weights != nullptr)
        return Grower<Code, true>(table, rows, chosen, options, pool).grow();
    return Grower<Code, false>(table, rows, chosen, options, pool).grow();
}

template BoostedTree grow_boosted_tree(const BoostingTable<std::uint8_t>&,
                                       const std::vector<std::uint32_t>&,
                                       const std::vector<std::int32_t>&, const BoostingOptions&,
                                       ThreadPool&);
template BoostedTree grow_boosted_tree(const BoostingTable<std::uint16_t>&,
                                       const std::vector<std::uint32_t>&,
                                       const std::vector<std::int32_t>&, const BoostingOptions&,
                                       ThreadPool&);

}  // namespace treerank
