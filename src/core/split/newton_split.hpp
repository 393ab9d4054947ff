// The best cut of one feature by Newton gain.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/histogram/gradient_histogram.hpp"
#include "core/split/level_evidence.hpp"

namespace treerank {

// A side with less curvature than this has too uncertain a value.
inline constexpr double kLeastHessian = 1e-3;
// Gains below this are rounding.
inline constexpr double kLeastGain = 1e-10;
// What the value of a node may be, so that a constrained feature moves scores one way only.
struct Bounds {
    double lower = -std::numeric_limits<double>::infinity();
    double upper = std::numeric_limits<double>::infinity();

    bool free() const { return std::isinf(lower) && std::isinf(upper); }
    double clip(double value) const { return std::clamp(value, lower, upper); }
};

struct NewtonScale {
    double gradient_unit, hessian_unit, l2;

    double gradient(const GradientSum& sum) const {
        return static_cast<double>(sum.gradient) * gradient_unit;
    }
    double hessian(const GradientSum& sum) const {
        return static_cast<double>(sum.hessian) * hessian_unit;
    }
    double curvature(double hessian) const { return std::max(hessian + l2, kLeastHessian); }
    double value(const GradientSum& sum) const { return -gradient(sum) / curvature(hessian(sum)); }
    // Twice the fall of the loss, to second order, when all rows of the node take its value,
    // or the nearest that the bounds allow. `g` and `h` are the sums of gradient and curvature.
    double gain(double g, double h, const Bounds& bounds) const {
        if (bounds.free()) return g * g / curvature(h);
        const double wanted = -g / curvature(h), v = bounds.clip(wanted);
        if (v == wanted) return g * g / curvature(h);
        return -v * (2 * g + curvature(h) * v);
    }
    double gain(const GradientSum& sum, const Bounds& bounds) const {
        return gain(gradient(sum), hessian(sum), bounds);
    }
};

struct NewtonCut {
    double gain = kLeastGain;
    std::int32_t feature = -1;  // -1: none
    std::int32_t cut = 0;
    bool missing_left = false;
    bool categorical = false;
    CategorySet set;
    GradientSum left;

    SplitCondition condition() const {
        SplitCondition condition;
        condition.feature = feature;
        condition.cut = cut;
        condition.categorical = categorical;
        condition.missing_left = missing_left;
        return condition;
    }
};

// The best of the cuts of several features; of equal ones that of the first feature.
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

// Looks at the cuts of one node, feature by feature.
class NewtonSearch {
  public:
    // `row_variance`: of what a row adds to the gradient beyond the node's mean, a row being so
    // much weight; needed for categories alone.
    NewtonSearch(const GradientSum& node, const Bounds& bounds, const NewtonScale& scale,
                 std::int64_t min_weight, double independent_weight, double row_variance)
        : node_(node),
          bounds_(bounds),
          scale_(scale),
          min_weight_(min_weight),
          independent_weight_(independent_weight),
          row_variance_(row_variance),
          node_gain_(scale.gain(node, bounds)) {}

    // The best cut of a feature; `counts` has the sums by code, missing first.
    NewtonCut best(const GradientSum* counts, const Features& features,
                   std::int32_t feature) const {
        const std::int32_t n_codes = features.n_codes[feature];
        if (features.categorical[feature] != 0) return best_set(counts, n_codes);
        // Whether values may only rise (+1) or only fall (-1) with the feature; 0: both.
        const std::int8_t sign = features.monotonic[feature];
        return sign == 0 && bounds_.free() ? best_threshold<true>(counts, n_codes, 0)
                                           : best_threshold<false>(counts, n_codes, sign);
    }

  private:
    bool admissible(const GradientSum& left, const GradientSum& right) const {
        return left.weight >= min_weight_ && right.weight >= min_weight_ &&
               scale_.hessian(left) >= kLeastHessian && scale_.hessian(right) >= kLeastHessian;
    }

    // Free: neither a sign nor bounds are to be kept.
    template <bool Free>
    double gain_of(const GradientSum& left, std::int8_t sign) const {
        const GradientSum right = node_ - left;
        if (!admissible(left, right)) return 0;
        if constexpr (Free) {
            const double g = scale_.gradient(left), h = scale_.hessian(left);
            const double other_g = scale_.gradient(right), other_h = scale_.hessian(right);
            return g * g / scale_.curvature(h) + other_g * other_g / scale_.curvature(other_h) -
                   node_gain_;
        }
        if (sign != 0) {
            const double rise =
                bounds_.clip(scale_.value(right)) - bounds_.clip(scale_.value(left));
            if (sign * rise <= 0) return 0;
        }
        return scale_.gain(left, bounds_) + scale_.gain(right, bounds_) - node_gain_;
    }

    template <bool Free>
    NewtonCut best_threshold(const GradientSum* counts, std::int32_t n_codes,
                             std::int8_t sign) const {
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
        // Where no missing value was seen, one goes the way of most rows.
        if (missing.weight == 0) best.missing_left = 2 * best.left.weight > node_.weight;
        return best;
    }

    // A level as far as it can be believed: where levels differ by chance, its gradient is close
    // to what its curvature would have at the mean of the node.
    struct Level {
        std::int32_t code;
        double gradient, hessian;
        double deviation;  // of its value from the node's, but for the sign
    };

    // None where the levels differ no more than by chance.
    std::vector<Level> believed_levels(const GradientSum* counts, std::int32_t n_codes) const {
        const double mean = scale_.gradient(node_) / std::max(scale_.hessian(node_), kLeastHessian);
        const auto rows_of = [&](std::int32_t code) {
            return static_cast<double>(counts[code].weight) / independent_weight_;
        };
        std::vector<Level> levels;
        LevelEvidence evidence;
        for (std::int32_t code = 0; code < n_codes; ++code) {
            if (counts[code].weight == 0) continue;
            const double g = scale_.gradient(counts[code]), h = scale_.hessian(counts[code]);
            levels.push_back({code, g, h, g - mean * h});
            evidence.add(rows_of(code), levels.back().deviation);
        }
        const double smoothing = evidence.smoothing(row_variance_);
        if (std::isinf(smoothing)) return {};
        for (Level& level : levels) {
            if (smoothing > 0) {
                const double rows = rows_of(level.code);
                level.deviation *= rows / (rows + smoothing);
                level.gradient = mean * level.hessian + level.deviation;
            }
            level.deviation /= scale_.curvature(level.hessian);
        }
        std::sort(levels.begin(), levels.end(), [](const Level& a, const Level& b) {
            return a.deviation != b.deviation ? a.deviation < b.deviation : a.code < b.code;
        });
        return levels;
    }

    // The levels in order of their values: the best of all sets is among the first so many
    // of them (Fisher 1958).
    NewtonCut best_set(const GradientSum* counts, std::int32_t n_codes) const {
        const std::vector<Level> levels = believed_levels(counts, n_codes);
        NewtonCut best;
        best.categorical = true;
        const double hessian = scale_.hessian(node_);
        double gradient = 0, left_gradient = 0;
        for (const Level& level : levels) gradient += level.gradient;
        const double whole = scale_.gain(gradient, hessian, bounds_);
        GradientSum left;
        std::size_t n_left = 0;
        for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
            left = left + counts[levels[i].code];
            left_gradient += levels[i].gradient;
            if (!admissible(left, node_ - left)) continue;
            const double left_hessian = scale_.hessian(left);
            const double gain =
                scale_.gain(left_gradient, left_hessian, bounds_) +
                scale_.gain(gradient - left_gradient, hessian - left_hessian, bounds_) - whole;
            if (gain > best.gain) {
                best.gain = gain;
                best.left = left;
                best.feature = 0;
                n_left = i + 1;
            }
        }
        // Levels that the node has not seen go the way of most rows.
        const bool unseen_left = 2 * best.left.weight > node_.weight;
        for (std::int32_t code = 0; code < n_codes; ++code)
            if (unseen_left && counts[code].weight == 0) best.set.insert(code);
        for (std::size_t i = 0; i < n_left; ++i) best.set.insert(levels[i].code);
        return best;
    }

    GradientSum node_;
    Bounds bounds_;
    NewtonScale scale_;
    std::int64_t min_weight_;
    double independent_weight_;
    double row_variance_;
    double node_gain_;
};

}  // namespace treerank
