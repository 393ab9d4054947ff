#include "core/tree/feature_sets.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "core/data/random.hpp"
#include "core/util/stable_order.hpp"

namespace treerank {

template <class Real, class Code>
SetValues<Real, Code>::SetValues(const AttributedForest& forest, std::size_t tree,
                                 const CodeMatrix<Code>& codes)
    : AttributedTree(forest, tree),
      codes_(codes),
      update_(update_values<Real>()),
      features_(tested_features(walks_)),
      test_of_(walks_.n_slots, 0),
      values_(walks_.n_slots * kRows) {
    const std::size_t m = features_.size(), words = (m + 63) / 64;
    std::vector<std::uint64_t> below(walks_.n_slots * words,
                                     0);  // features tested at or below a slot
    above_.resize(m);
    state_.resize(m);
    for (std::size_t s = walks_.n_slots; s-- > 0;) {
        if (walks_.is_end(s)) {
            std::fill_n(values_.data() + s * kRows, kRows, static_cast<Real>(step_[s]));
            continue;
        }
        const auto found = std::lower_bound(features_.begin(), features_.end(),
                                            std::uint32_t{walks_.slots[s].feature});
        SetTest<Real> test;
        test.slot = static_cast<std::uint32_t>(s);
        test.next = walks_.slots[s].next & kNextMask;
        test.feature = static_cast<std::uint32_t>(found - features_.begin());
        test.share = static_cast<Real>(share_[s]);
        test.step = walks_.at_end ? Real{0} : static_cast<Real>(step_[s]);
        const auto number = static_cast<std::uint32_t>(tests_.size());
        test_of_[s] = number;
        tests_.push_back(test);
        std::uint64_t* here = below.data() + s * words;
        for (std::size_t w = 0; w < words; ++w)
            here[w] = below[test.next * words + w] | below[(test.next + 1) * words + w];
        here[test.feature / 64] |= std::uint64_t{1} << (test.feature % 64);
        for (std::size_t w = 0; w < words; ++w)
            for (std::uint64_t rest = here[w]; rest != 0; rest &= rest - 1)
                above_[w * 64 + static_cast<std::size_t>(std::countr_zero(rest))].push_back(number);
    }
    left_.assign(tests_.size(), 0);
    std::vector<std::uint32_t> all(tests_.size());
    std::iota(all.begin(), all.end(), 0u);
    update(all);
}

template <class Real, class Code>
void SetValues<Real, Code>::take(std::size_t first, std::size_t n) {
    for (std::size_t i = 0; i < tests_.size(); ++i) {
        const std::uint32_t slot = tests_[i].slot;
        const Code* column = codes_.column(walks_.slots[slot].feature) + first;
        std::uint32_t bits = 0;
        for (std::size_t r = 0; r < kRows; ++r)
            bits |= std::uint32_t{walks_.goes_left(slot, column[std::min(r, n - 1)])} << r;
        left_[i] = static_cast<std::uint16_t>(bits);
    }
}

template <class Real, class Code>
void SetValues<Real, Code>::set_known(std::size_t feature, bool known) {
    state_[feature] = known ? SetFeature{0.0f, ~std::uint32_t{0}} : SetFeature{};
    update(above_[feature]);
}

template <class Real, class Code>
void SetValues<Real, Code>::scores(double* values) const {
    for (std::size_t r = 0; r < kRows; ++r) {
        std::size_t at = 0;
        float sum = static_cast<float>(step_[0]);
        while (!walks_.is_end(at)) {
            const bool left = (left_[test_of_[at]] >> r) & 1;
            at = (walks_.slots[at].next & kNextMask) + !left;
            sum += static_cast<float>(step_[at]);
        }
        values[r] = walks_.at_end ? step_[at] : static_cast<double>(sum);
    }
}

template <class Real, class Code>
double SetValues<Real, Code>::expected() const {
    std::vector<double> mean(walks_.n_slots);
    for (std::size_t s = walks_.n_slots; s-- > 0;) {
        mean[s] = walks_.is_end(s) || !walks_.at_end ? step_[s] : 0.0;
        if (walks_.is_end(s)) continue;
        const std::size_t next = walks_.slots[s].next & kNextMask;
        mean[s] += share_[s] * mean[next] + (1 - share_[s]) * mean[next + 1];
    }
    return mean[0];
}

template class SetValues<float, std::uint8_t>;
template class SetValues<float, std::uint16_t>;
template class SetValues<double, std::uint8_t>;
template class SetValues<double, std::uint16_t>;

bool has_few_sets(const TreeView& tree, std::size_t max_paths) {
    // A set takes about as long as a dozen paths of a tree that has too many of them.
    constexpr std::size_t kPathsPerSet = 16;
    const auto m = static_cast<int>(tested_features(tree).size());
    return std::ldexp(1.0, m) * kPathsPerSet <= static_cast<double>(max_paths);
}

namespace {

constexpr std::size_t kExactRows = kSetRows<double>;

// s! (n - s)! / (n + 1)!: the weight of the sets with s of the n other features, for one feature or
// a pair.
std::vector<double> shapley_weights(std::size_t n) {
    std::vector<double> weights(n + 1, 1.0 / static_cast<double>(n + 1));
    for (std::size_t s = 1; s <= n; ++s)
        weights[s] = weights[s - 1] * static_cast<double>(s) / static_cast<double>(n - s + 1);
    return weights;
}

// The values of a tree for every set of m features (sets x rows), and the attributions that follow
// from them.
class SetTable {
  public:
    explicit SetTable(std::size_t m)
        : m_(m),
          table_((std::size_t{1} << m) * kExactRows),
          single_(shapley_weights(m > 0 ? m - 1 : 0)),
          paired_(shapley_weights(m > 1 ? m - 2 : 0)) {}

    double* at(std::size_t set) { return table_.data() + set * kExactRows; }

    void feature(std::size_t i, double* gains) {
        const std::size_t bit = std::size_t{1} << i;
        std::fill_n(gains, kExactRows, 0.0);
        for (std::size_t set = 0; set < std::size_t{1} << m_; ++set) {
            if (set & bit) continue;
            const double weight = single_[static_cast<std::size_t>(std::popcount(set))];
            const double *with = at(set | bit), *without = at(set);
            for (std::size_t r = 0; r < kExactRows; ++r)
                gains[r] += weight * (with[r] - without[r]);
        }
    }

    // Computes half of the interaction of a pair.
    void pair(std::size_t i, std::size_t j, double* gains) {
        const std::size_t a = std::size_t{1} << i, b = std::size_t{1} << j;
        std::fill_n(gains, kExactRows, 0.0);
        for (std::size_t set = 0; set < std::size_t{1} << m_; ++set) {
            if (set & (a | b)) continue;
            const double weight = paired_[static_cast<std::size_t>(std::popcount(set))] / 2;
            const double *both = at(set | a | b), *first = at(set | a), *second = at(set | b);
            const double* neither = at(set);
            for (std::size_t r = 0; r < kExactRows; ++r)
                gains[r] += weight * (both[r] - first[r] - second[r] + neither[r]);
        }
    }

  private:
    const std::size_t m_;
    std::vector<double> table_, single_, paired_;
};

// Visits all sets in Gray code order, so that one feature is added or removed at a time; ends with
// no feature known.
template <class Code>
void fill_table(SetValues<double, Code>& tree, const std::vector<std::uint32_t>& order,
                SetTable& table) {
    const std::size_t n_sets = std::size_t{1} << order.size();
    std::size_t set = 0;
    std::fill_n(table.at(0), kExactRows, tree.expected());
    for (std::size_t k = 1; k < n_sets; ++k) {
        const auto i = static_cast<std::size_t>(std::countr_zero(k));
        set ^= std::size_t{1} << i;
        tree.set_known(order[i], (set >> i) & 1);
        std::copy_n(tree.values(), kExactRows, table.at(set));
    }
    for (std::size_t i = 0; i < order.size(); ++i)
        if ((set >> i) & 1) tree.set_known(order[i], false);
    tree.scores(table.at(n_sets - 1));
}

}  // namespace

template <class Code>
double enumerate_sets(const AttributedForest& forest, std::size_t tree,
                      const CodeMatrix<Code>& codes, std::size_t begin, std::size_t end,
                      const ThreadPool& pool, double* values, double* pairs) {
    SetValues<double, Code> sets(forest, tree, codes);
    const std::size_t m = sets.features().size(), p = codes.features;
    // The feature that is added and removed most often should be the cheapest.
    const auto order = stable_order<std::uint32_t>(
        m, [&](std::uint32_t a, std::uint32_t b) { return sets.cost(a) < sets.cost(b); });
    SetTable table(m);
    double gains[kExactRows];
    for (std::size_t first = begin; first < end; first += kExactRows) {
        pool.check();
        const std::size_t n = std::min(kExactRows, end - first);
        sets.take(first, n);
        fill_table(sets, order, table);
        for (std::size_t i = 0; i < m; ++i) {
            const std::size_t a = sets.features()[order[i]];
            table.feature(i, gains);
            for (std::size_t r = 0; r < n; ++r) values[(first + r) * p + a] += gains[r];
            for (std::size_t j = 0; pairs != nullptr && j < i; ++j) {
                const std::size_t b = sets.features()[order[j]];
                table.pair(i, j, gains);
                for (std::size_t r = 0; r < n; ++r) {
                    pairs[((first + r) * p + a) * p + b] += gains[r];
                    pairs[((first + r) * p + b) * p + a] += gains[r];
                }
            }
        }
    }
    return sets.expected();
}

template <class Code>
double sample_orders(const AttributedForest& forest, std::size_t tree,
                     const CodeMatrix<Code>& codes, std::size_t begin, std::size_t end,
                     std::size_t n_orders, const ThreadPool& pool, double* values) {
    constexpr std::size_t kRows = kSetRows<float>;
    SetValues<float, Code> sets(forest, tree, codes);
    const std::size_t m = sets.features().size(), p = codes.features;
    std::vector<std::vector<std::int32_t>> orders((n_orders + 1) / 2);
    for (std::size_t k = 0; k < orders.size(); ++k) {
        orders[k].resize(m);
        std::iota(orders[k].begin(), orders[k].end(), 0);
        draw_to_front(orders[k], 0, m, key_of(tree, 2 * k));
    }
    const double expected = sets.expected();
    const double factor = 1.0 / static_cast<double>(2 * orders.size());
    double scores[kRows], before[kRows], after[kRows];
    for (std::size_t first = begin; first < end; first += kRows) {
        const std::size_t n = std::min(kRows, end - first);
        sets.take(first, n);
        sets.scores(scores);
        for (const std::vector<std::int32_t>& order : orders) {
            pool.check();
            std::fill_n(before, kRows, expected);
            // Features are added in the given order and then removed in the same order; the sets
            // that remain on the way are those through which the reverse order passes.
            for (const bool comes : {true, false})
                for (std::size_t i = 0; i < m; ++i) {
                    const auto feature = static_cast<std::size_t>(order[i]);
                    sets.set_known(feature, comes);
                    std::copy_n(sets.values(), kRows, after);
                    if (i + 1 == m && comes) std::copy_n(scores, kRows, after);
                    if (i + 1 == m && !comes) std::fill_n(after, kRows, expected);
                    const double sign = comes ? factor : -factor;
                    double* column = values + first * p + sets.features()[feature];
                    for (std::size_t r = 0; r < n; ++r)
                        column[r * p] += sign * (after[r] - before[r]);
                    std::copy_n(after, kRows, before);
                }
        }
    }
    return expected;
}

template double enumerate_sets(const AttributedForest&, std::size_t,
                               const CodeMatrix<std::uint8_t>&, std::size_t, std::size_t,
                               const ThreadPool&, double*, double*);
template double sample_orders(const AttributedForest&, std::size_t, const CodeMatrix<std::uint8_t>&,
                              std::size_t, std::size_t, std::size_t, const ThreadPool&, double*);
template double enumerate_sets(const AttributedForest&, std::size_t,
                               const CodeMatrix<std::uint16_t>&, std::size_t, std::size_t,
                               const ThreadPool&, double*, double*);
template double sample_orders(const AttributedForest&, std::size_t,
                              const CodeMatrix<std::uint16_t>&, std::size_t, std::size_t,
                              std::size_t, const ThreadPool&, double*);

}  // namespace treerank
