// Interventional attributions: the features of a row against those of baseline rows.
//
// For a row and a baseline row, a walk takes both branches where the two differ in a feature that
// has not been decided, and decides it: for the row (S) or for the baseline row. An end that is
// reached with a features of the row and b of the baseline row has a Shapley value in closed form:
// (a - 1)! b! / (a + b)! for each of the former, minus a! (b - 1)! / (a + b)! for each of the
// latter (Lundberg et al., 2020). Sixty-four baseline rows walk together for as long as they agree.
#include <algorithm>
#include <bit>

#include "core/tree/attributions.hpp"
#include "core/util/check.hpp"

namespace treerank {

namespace {

using RowSet = std::uint64_t;  // baseline rows, one bit each
constexpr std::size_t kSetSize = 64;

// A table of a! b! / (a + b + 1)!.
class ShapleyWeights {
  public:
    explicit ShapleyWeights(std::size_t most) : size_(most + 1), table_(size_ * size_) {
        for (std::size_t a = 0; a < size_; ++a)
            for (std::size_t b = 0; b < size_; ++b) {
                const auto total = static_cast<double>(a + b + 1);
                double& weight = table_[a * size_ + b];
                if (a == 0 && b == 0)
                    weight = 1;
                else if (b > 0)
                    weight = table_[a * size_ + b - 1] * static_cast<double>(b) / total;
                else
                    weight = table_[(a - 1) * size_] * static_cast<double>(a) / total;
            }
    }
    double operator()(std::size_t a, std::size_t b) const { return table_[a * size_ + b]; }

  private:
    std::size_t size_;
    std::vector<double> table_;
};

// One tree, and where up to 64 baseline rows go in it.
template <class Code>
struct BaselineTree {
    TreeView walks;
    const double* step;
    RowSet everyone;
    std::vector<RowSet> left;  // by slot: the rows that go left

    BaselineTree(const AttributedForest& forest, std::size_t tree, const CodeMatrix<Code>& baseline,
                 std::size_t first)
        : walks(forest.walks, tree),
          step(forest.step + forest.walks.starts[tree]),
          left(walks.n_slots) {
        const std::size_t n = std::min(kSetSize, baseline.rows - first);
        everyone = ~RowSet{0} >> (kSetSize - n);
        for (std::size_t s = 0; s < left.size(); ++s) {
            if (walks.is_end(s)) continue;
            const Code* column = baseline.column(walks.slots[s].feature) + first;
            for (std::size_t i = 0; i < n; ++i)
                left[s] |= RowSet{walks.goes_left(s, column[i])} << i;
        }
    }
};

enum Decision : std::uint8_t { kOpen, kOfRow, kOfBaseline };

// Walks one row through a tree, together with baseline rows.
template <class Code>
class GroupWalk {
  public:
    GroupWalk(const BaselineTree<Code>& tree, const CodeMatrix<Code>& codes,
              const ShapleyWeights& weights)
        : tree_(tree), codes_(codes), weights_(weights), decided_(codes.features, kOpen) {}

    // Adds to `features` and, unless it is null, to `pairs`. Returns the sum of the tree's values
    // for the baseline rows.
    double walk(std::size_t row, double* features, double* pairs) {
        row_ = row;
        features_ = features;
        pairs_ = pairs;
        expected_ = 0;
        visit(0, tree_.everyone, tree_.walks.at_end ? 0.0f : static_cast<float>(tree_.step[0]));
        return expected_;
    }

  private:
    struct Sums {
        double of_row = 0, of_baseline = 0;

        Sums& operator+=(const Sums& more) {
            of_row += more.of_row;
            of_baseline += more.of_baseline;
            return *this;
        }
    };

    Sums visit(std::uint32_t at, RowSet rows, float sum) {
        if (rows == 0) return {};
        const Slot slot = tree_.walks.slots[at];
        if (slot.next == at)
            return arrive((tree_.walks.at_end ? tree_.step[at] : static_cast<double>(sum)) *
                          std::popcount(rows));
        const std::uint32_t next = slot.next & kNextMask;
        const auto go = [&](std::uint32_t side, RowSet group) {
            const float more =
                tree_.walks.at_end ? 0.0f : sum + static_cast<float>(tree_.step[next + side]);
            return visit(next + side, group, more);
        };
        const RowSet left = tree_.left[at];
        if (decided_[slot.feature] == kOfBaseline) {
            Sums sums = go(0, rows & left);
            return sums += go(1, rows & ~left);
        }
        const std::uint32_t own = !tree_.walks.goes_left(at, codes_.column(slot.feature)[row_]);
        if (decided_[slot.feature] == kOfRow) return go(own, rows);
        const RowSet agree = rows & (own == 0 ? left : ~left), differ = rows & ~agree;
        Sums sums = go(own, agree);
        if (differ == 0) return sums;
        const Sums with_row = decide(slot.feature, kOfRow, [&] { return go(own, differ); });
        const Sums without = decide(slot.feature, kOfBaseline, [&] { return go(1 - own, differ); });
        features_[slot.feature] += with_row.of_row - without.of_baseline;
        sums += with_row;
        return sums += without;
    }

    template <class Go>
    Sums decide(std::uint16_t feature, Decision decision, const Go& go) {
        std::vector<std::uint16_t>& side = decision == kOfRow ? of_row_ : of_baseline_;
        decided_[feature] = decision;
        side.push_back(feature);
        const Sums sums = go();
        side.pop_back();
        decided_[feature] = kOpen;
        return sums;
    }

    Sums arrive(double value) {
        const std::size_t a = of_row_.size(), b = of_baseline_.size();
        if (a == 0) expected_ += value;
        if (pairs_ != nullptr) add_pairs(value);
        return {a > 0 ? value * weights_(a - 1, b) : 0.0, b > 0 ? value * weights_(a, b - 1) : 0.0};
    }

    void add_pairs(double value) {
        const std::size_t a = of_row_.size(), b = of_baseline_.size();
        const auto add = [&](std::uint16_t i, std::uint16_t j, double share) {
            pairs_[i * codes_.features + j] += value * share / 2;
            pairs_[j * codes_.features + i] += value * share / 2;
        };
        for (std::size_t i = 0; i < a; ++i) {
            for (std::size_t j = 0; j < i; ++j) add(of_row_[i], of_row_[j], weights_(a - 2, b));
            for (std::size_t j = 0; j < b; ++j)
                add(of_row_[i], of_baseline_[j], -weights_(a - 1, b - 1));
        }
        for (std::size_t i = 0; i < b; ++i)
            for (std::size_t j = 0; j < i; ++j)
                add(of_baseline_[i], of_baseline_[j], weights_(a, b - 2));
    }

    const BaselineTree<Code>& tree_;
    const CodeMatrix<Code>& codes_;
    const ShapleyWeights& weights_;
    std::size_t row_ = 0;
    double* features_ = nullptr;
    double* pairs_ = nullptr;
    double expected_ = 0;
    std::vector<Decision> decided_;
    std::vector<std::uint16_t> of_row_, of_baseline_;
};

constexpr std::size_t kRowsPerTask = 256;  // amortise the walk of the baseline

}  // namespace

template <class Code>
Attributions attribute_baseline(const AttributedForest& forest, const CodeMatrix<Code>& codes,
                                const CodeMatrix<Code>& baseline, const AttributionOptions& options,
                                ThreadPool& pool) {
    const std::size_t n = codes.rows, p = codes.features;
    std::size_t longest = 0;
    for (std::size_t t = 0; t < forest.walks.n_trees; ++t)
        longest = std::max(longest, longest_path(TreeView(forest.walks, t)));
    check(
        longest <= kMaxTestsOfPath,
        "Got a baseline, and a tree with more than 1,000 tests on a path; expected at most 1,000. "
        "Leave the baseline out, or fit trees of smaller max_depth.");
    const ShapleyWeights weights(std::min(p, longest));
    std::vector<double> features(n * p, 0.0), expected(n, 0.0);
    Attributions found;
    if (options.interactions) found.values.assign(n * p * p, 0.0);
    const double factor = 1.0 / static_cast<double>(baseline.rows);
    run_blocks(pool, n, kRowsPerTask, [&](std::size_t begin, std::size_t end) {
        for (std::size_t t = 0; t < forest.walks.n_trees; ++t)
            for (std::size_t first = 0; first < baseline.rows; first += kSetSize) {
                const BaselineTree<Code> tree(forest, t, baseline, first);
                GroupWalk<Code> group(tree, codes, weights);
                for (std::size_t row = begin; row < end; ++row) {
                    pool.check();
                    expected[row] += group.walk(
                        row, features.data() + row * p,
                        options.interactions ? found.values.data() + row * p * p : nullptr);
                }
            }
        for (std::size_t i = begin * p; i < end * p; ++i) features[i] *= factor;
        if (!options.interactions) return;
        for (std::size_t i = begin * p * p; i < end * p * p; ++i) found.values[i] *= factor;
        fill_diagonals(begin, end, p, features.data(), found.values.data());
    });
    if (n > 0) found.expected = expected[0] * factor;
    if (!options.interactions) found.values = std::move(features);
    return found;
}

template Attributions attribute_baseline(const AttributedForest&, const CodeMatrix<std::uint8_t>&,
                                         const CodeMatrix<std::uint8_t>&, const AttributionOptions&,
                                         ThreadPool&);
template Attributions attribute_baseline(const AttributedForest&, const CodeMatrix<std::uint16_t>&,
                                         const CodeMatrix<std::uint16_t>&,
                                         const AttributionOptions&, ThreadPool&);

}  // namespace treerank
