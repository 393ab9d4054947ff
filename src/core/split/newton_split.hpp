// The search for the best cut of one feature by Newton gain.
#pragma once

#include <algorithm>
#include <vector>

#include "core/histogram/gradient_histogram.hpp"
#include "core/split/gain.hpp"
#include "core/split/newton_filter.hpp"

namespace treerank {

#include "treerank/_device/kernels/shared/newton.hpp"

// This is also the layout of the cuts that a device returns.
struct NewtonCut {
    double gain = kLeastGain;
    std::int32_t feature = -1;  // -1: no cut
    std::int32_t cut = 0;
    std::int32_t missing_left = 0;  // 0 or 1
    std::int32_t categorical = 0;
    GradientSum left;
    CategorySet set;

    SplitCondition condition() const {
        SplitCondition condition;
        condition.feature = feature;
        condition.cut = cut;
        condition.categorical = categorical != 0;
        condition.missing_left = missing_left != 0;
        return condition;
    }
};

// Returns the best of the cuts of several features; of equal cuts, the one of the lowest feature.
inline NewtonCut best_of(const NewtonCut* cuts, const std::vector<std::int32_t>& features) {
    NewtonCut best;
    for (std::size_t i = 0; i < features.size(); ++i) {
        if (cuts[i].feature < 0) continue;
        const bool better =
            cuts[i].gain > best.gain ||
            (cuts[i].gain == best.gain && best.feature >= 0 && features[i] < best.feature);
        if (!better) continue;
        best = cuts[i];
        best.feature = features[i];
    }
    return best;
}

// Evaluates the cuts of one node, feature by feature.
class NewtonSearch : NewtonNode {
  public:
    // `row_variance` as defined by NewtonScale; needed for categories only.
    NewtonSearch(const GradientSum& sum, const Bounds& within, const NewtonScale& by,
                 std::int64_t min_weight_leaf, double independent_weight, double row_variance)
        : NewtonNode{sum, within, by, min_weight_leaf, by.gain(sum, within)},
          independent_weight_(independent_weight),
          row_variance_(row_variance) {}

    // Returns the best cut of a feature. `counts` has the sums by code, missing first. If the best
    // cut gains less than `to_beat`, the gain of another feature, any other cut or none may be
    // returned.
    NewtonCut best(const GradientSum* counts, const Features& features, std::int32_t feature,
                   double to_beat = 0) const {
        const std::int32_t n_codes = features.n_codes[feature];
        if (features.categorical[feature] != 0) return best_set(counts, n_codes);
        // Whether values may only rise (+1) or only fall (-1) with the feature; 0: no constraint.
        const std::int8_t sign = features.monotonic[feature];
        if (passes_over(counts, n_codes, to_beat)) return {};
        return sign == 0 && bounds.free() ? best_threshold<true>(counts, n_codes, 0, to_beat)
                                          : best_threshold<false>(counts, n_codes, sign, to_beat);
    }

  private:
    template <bool Free>
    NewtonCut best_threshold(const GradientSum* counts, std::int32_t n_codes, std::int8_t sign,
                             double to_beat) const {
        NewtonCut best;
        const GradientSum missing = counts[0];
        GradientSum left;
        std::int32_t last = 0;      // the last occupied code
        bool best_is_last = false;  // no occupied code since the best cut
        for (std::int32_t code = 1; code < n_codes; ++code) {
            if (counts[code].weight == 0) continue;
            if (best_is_last) best.cut += (code - 1 - best.cut) / 2;  // the middle of the gap
            best_is_last = false;
            left = left + counts[code];
            last = code;
            if (Free && missing.weight == 0 && !may_gain(left, std::max(best.gain, to_beat)))
                continue;
            const double without = gain_of<Free>(left, sign);
            const double with = missing.weight > 0 ? gain_of<Free>(left + missing, sign) : 0;
            if (std::max(without, with) > best.gain) {
                best.gain = std::max(without, with);
                best.cut = last;
                best.missing_left = with > without;
                best.left = best.missing_left ? left + missing : left;
                best.feature = 0;
                best_is_last = true;
            }
        }
        // If the node has no missing values, later ones go to the side with more rows.
        if (missing.weight == 0) best.missing_left = 2 * best.left.weight > node.weight;
        return best;
    }

    // What a cut has to reach to gain more than `gain`; the slack covers the rounding of both
    // sides.
    double wanted(double gain) const { return (gain + node_gain) * (1 - 1e-9); }

    // Whether no cut of a feature gains as much as `to_beat`. Bounds and signs only take from
    // gains.
    bool passes_over(const GradientSum* counts, std::int32_t n_codes, double to_beat) const {
        if (node.weight > kMaxFilteredWeight || n_codes - 1 > kMaxFilteredCodes) return false;
        const NewtonFilter filter{node,
                                  min_weight,
                                  scale.gradient_unit,
                                  scale.hessian_unit,
                                  scale.l2,
                                  kLeastHessian,
                                  wanted(std::max(kLeastGain, to_beat))};
        const GradientSum& missing = counts[0];
        return !any_may_win(counts + 1, n_codes - 1, {}, filter) &&
               (missing.weight == 0 || !any_may_win(counts + 1, n_codes - 1, missing, filter));
    }

    // Whether a cut may gain more than `gain`, decided without a division. Only for features
    // without a sign and nodes without bounds.
    bool may_gain(const GradientSum& left, double gain) const {
        const GradientSum right = node - left;
        const double g = scale.gradient(left), h = scale.curvature(scale.hessian(left));
        const double other_g = scale.gradient(right);
        const double other_h = scale.curvature(scale.hessian(right));
        return g * g * other_h + other_g * other_g * h > wanted(gain) * (h * other_h);
    }

    // A level of a category. As far as levels may differ by chance, its gradient is shrunk towards
    // what its hessian implies at the mean of the node.
    struct Level {
        std::int32_t code;
        double gradient, hessian;
        double deviation;  // of its value from the node's, up to the sign
    };

    // Returns the levels in the order of their values. Empty if they differ no more than by chance.
    std::vector<Level> believed_levels(const GradientSum* counts, std::int32_t n_codes) const {
        const double mean = scale.mean(node);
        const auto rows_of = [&](std::int32_t code) {
            return static_cast<double>(counts[code].weight) / independent_weight_;
        };
        std::vector<Level> levels;
        LevelEvidence evidence;
        for (std::int32_t code = 0; code < n_codes; ++code) {
            if (counts[code].weight == 0) continue;
            const double g = scale.gradient(counts[code]), h = scale.hessian(counts[code]);
            levels.push_back({code, g, h, g - mean * h});
            evidence.add(rows_of(code), levels.back().deviation);
        }
        const double smoothing = evidence.smoothing(row_variance_);
        if (smoothing == LevelEvidence::kNone) return {};
        for (Level& level : levels) {
            if (smoothing > 0) {
                const double rows = rows_of(level.code);
                level.deviation *= rows / (rows + smoothing);
                level.gradient = mean * level.hessian + level.deviation;
            }
            level.deviation /= scale.curvature(level.hessian);
        }
        std::sort(levels.begin(), levels.end(), [](const Level& a, const Level& b) {
            return a.deviation != b.deviation ? a.deviation < b.deviation : a.code < b.code;
        });
        return levels;
    }

    // With the levels in the order of their values, the best of all subsets consists of the first
    // few of them (Fisher 1958).
    NewtonCut best_set(const GradientSum* counts, std::int32_t n_codes) const {
        const std::vector<Level> levels = believed_levels(counts, n_codes);
        NewtonCut best;
        best.categorical = true;
        const double hessian = scale.hessian(node);
        double gradient = 0, left_gradient = 0;
        for (const Level& level : levels) gradient += level.gradient;
        const double whole = scale.gain(gradient, hessian, bounds);
        GradientSum left;
        std::size_t n_left = 0;
        for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
            left = left + counts[levels[i].code];
            left_gradient += levels[i].gradient;
            if (!admissible(left, node - left)) continue;
            const double left_hessian = scale.hessian(left);
            const double gain =
                scale.gain(left_gradient, left_hessian, bounds) +
                scale.gain(gradient - left_gradient, hessian - left_hessian, bounds) - whole;
            if (gain > best.gain) {
                best.gain = gain;
                best.left = left;
                best.feature = 0;
                n_left = i + 1;
            }
        }
        // Levels that do not occur in the node go to the side with more rows.
        const bool unseen_left = 2 * best.left.weight > node.weight;
        for (std::int32_t code = 0; code < n_codes; ++code)
            if (unseen_left && counts[code].weight == 0) best.set.insert(code);
        for (std::size_t i = 0; i < n_left; ++i) best.set.insert(levels[i].code);
        return best;
    }

    double independent_weight_;
    double row_variance_;
};

}  // namespace treerank
