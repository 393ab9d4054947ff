#include "core/tree/sampled_orders.hpp"

#include <algorithm>
#include <vector>

#include "core/data/random.hpp"

namespace treerank {

namespace {

constexpr std::size_t kAbreast = 16;  // rows whose weights flow through the tree together

// Where the weight of some rows flows when some features follow the rows and the others part it
// by the training weights. Slots of merged cells gather what comes by several ways.
template <class Code>
class Flow : private AttributedTree {
  public:
    Flow(const AttributedForest& forest, std::size_t tree, const CodeMatrix<Code>& codes)
        : AttributedTree(forest, tree),
          codes_(codes),
          follows_(codes.features, 0),
          ways_(n_slots_, 0),
          reached_(n_slots_, 0),
          left_(n_slots_ * kAbreast),
          weight_(n_slots_ * kAbreast) {
        list_features(features_);
        features_.erase(std::unique(features_.begin(), features_.end()), features_.end());
    }

    const std::vector<std::int32_t>& features() const { return features_; }

    // Looks at n rows from `first` on; the last one fills up.
    void take(std::size_t first, std::size_t n) {
        for (std::size_t s = 0; s < n_slots_; ++s) {
            if (is_end(s)) continue;
            const Code* column = codes_.column(slots_[s].feature) + first;
            ways_[s] = 0;
            for (std::size_t r = 0; r < kAbreast; ++r) {
                const bool left = goes_left(s, column[std::min(r, n - 1)]);
                left_[s * kAbreast + r] = left ? 1.0 : 0.0;
                ways_[s] |= left ? 1 : 2;
            }
        }
    }

    // What the tree says of the rows it has taken; to the bit, as their scores are added up.
    void scores(double* values) const {
        for (std::size_t r = 0; r < kAbreast; ++r) {
            std::size_t at = 0;
            float sum = static_cast<float>(step_[0]);
            while (slots_[at].next != at) {
                at = (slots_[at].next & kNextMask) + (left_[at * kAbreast + r] == 0.0);
                sum += static_cast<float>(step_[at]);
            }
            values[r] = at_end_ ? step_[at] : static_cast<double>(sum);
        }
    }

    void follow(std::int32_t feature, bool on) { follows_[feature] = on; }

    // The mean values when those features follow the rows.
    void means(double* values) {
        std::fill(weight_.begin(), weight_.end(), 0.0);
        std::fill_n(weight_.begin(), kAbreast, 1.0);
        std::fill(reached_.begin(), reached_.end(), 0);
        reached_[0] = 1;
        std::fill_n(values, kAbreast, 0.0);
        for (std::size_t s = 0; s < n_slots_; ++s) {
            if (!reached_[s]) continue;
            const double* here = weight_.data() + s * kAbreast;
            const bool is_end = slots_[s].next == s;
            if (is_end || !at_end_)
                for (std::size_t r = 0; r < kAbreast; ++r) values[r] += here[r] * step_[s];
            if (is_end) continue;
            double* next = weight_.data() + (slots_[s].next & kNextMask) * kAbreast;
            const double* left = left_.data() + s * kAbreast;
            const bool follows = follows_[slots_[s].feature];
            const double share = share_[s];
            reached_[slots_[s].next & kNextMask] |= !follows || (ways_[s] & 1);
            reached_[(slots_[s].next & kNextMask) + 1] |= !follows || (ways_[s] & 2);
            for (std::size_t r = 0; r < kAbreast; ++r) {
                const double to_left = here[r] * (follows ? left[r] : share);
                next[r] += to_left;
                next[kAbreast + r] += here[r] - to_left;
            }
        }
    }

  private:
    bool goes_left(std::size_t s, std::uint16_t code) const {
        if (slots_[s].next & kCategorical) return sets_[set_of_[s]].contains(code);
        const auto shift = static_cast<std::uint16_t>((slots_[s].next & kMissingRight) != 0);
        return static_cast<std::uint16_t>(code - shift) <= slots_[s].cut;
    }

    const CodeMatrix<Code>& codes_;
    std::vector<std::int32_t> features_;
    std::vector<std::uint8_t> follows_;  // by feature
    std::vector<std::uint8_t> ways_;     // by slot: 1 if some row goes left, 2 if some goes right
    std::vector<std::uint8_t> reached_;  // by slot: whether some weight may come there
    std::vector<double> left_, weight_;  // slots x rows
};

}  // namespace

template <class Code>
double sample_orders(const AttributedForest& forest, std::size_t tree,
                     const CodeMatrix<Code>& codes, std::size_t begin, std::size_t end,
                     std::size_t n_orders, const ThreadPool& pool, double* values) {
    Flow<Code> flow(forest, tree, codes);
    const std::size_t m = flow.features().size(), p = codes.features;
    std::vector<std::vector<std::int32_t>> orders;
    for (std::size_t k = 0; k < n_orders; k += 2) {
        std::vector<std::int32_t> order = flow.features();
        draw_to_front(order, 0, m, key_of(tree, k));
        orders.push_back(order);
        std::reverse(order.begin(), order.end());
        orders.push_back(order);
    }
    double at_start[kAbreast], at_end[kAbreast], before[kAbreast], after[kAbreast];
    const double factor = 1.0 / static_cast<double>(orders.size());
    flow.means(at_start);
    for (std::size_t first = begin; first < end; first += kAbreast) {
        const std::size_t n = std::min(kAbreast, end - first);
        flow.take(first, n);
        flow.scores(at_end);
        for (const std::vector<std::int32_t>& order : orders) {
            pool.check();
            std::copy_n(at_start, kAbreast, before);
            for (std::size_t i = 0; i < m; ++i) {
                flow.follow(order[i], true);
                if (i + 1 < m)
                    flow.means(after);
                else
                    std::copy_n(at_end, kAbreast, after);
                for (std::size_t r = 0; r < n; ++r)
                    values[(first + r) * p + order[i]] += factor * (after[r] - before[r]);
                std::copy_n(after, kAbreast, before);
            }
            for (const std::int32_t feature : order) flow.follow(feature, false);
        }
    }
    return at_start[0];
}

template double sample_orders(const AttributedForest&, std::size_t, const CodeMatrix<std::uint8_t>&,
                              std::size_t, std::size_t, std::size_t, const ThreadPool&, double*);
template double sample_orders(const AttributedForest&, std::size_t,
                              const CodeMatrix<std::uint16_t>&, std::size_t, std::size_t,
                              std::size_t, const ThreadPool&, double*);

}  // namespace treerank
