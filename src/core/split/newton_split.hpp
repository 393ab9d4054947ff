// The best cut of one feature by Newton gain.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/grow/boosting.hpp"

namespace treerank {

// A side with less curvature than this has too uncertain a value.
inline constexpr double kLeastHessian = 1e-3;
// Gains below this are rounding.
inline constexpr double kLeastGain = 1e-10;
// Many levels give many sets to choose from, so that the best of them looks better than it
// is: their sides are valued with so much more curvature than they have ...
inline constexpr double kSetPenalty = 10;
// ... unless the levels are as few as these.
inline constexpr std::size_t kFewLevels = 4;
// Rows of an average level that a level's value is mixed with when levels are put in order.
inline constexpr double kLevelSmoothing = 10;

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
    // Twice the fall of the loss, to second order, when all rows of the node take its value.
    double gain(const GradientSum& sum) const {
        const double g = gradient(sum);
        return g * g / std::max(hessian(sum) + l2, kLeastHessian);
    }
    double value(const GradientSum& sum) const {
        return -gradient(sum) / std::max(hessian(sum) + l2, kLeastHessian);
    }
    // The same gain where the value has to stay within bounds.
    double gain(const GradientSum& sum, const Bounds& bounds) const {
        if (bounds.free()) return gain(sum);
        const double wanted = value(sum), v = bounds.clip(wanted);
        if (v == wanted) return gain(sum);
        return -v * (2 * gradient(sum) + std::max(hessian(sum) + l2, kLeastHessian) * v);
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
};

// Looks at the cuts of one node, feature by feature.
class NewtonSearch {
  public:
    NewtonSearch(const GradientSum& node, const Bounds& bounds, const NewtonScale& scale,
                 std::int64_t min_mass, double row_mass)
        : node_(node),
          bounds_(bounds),
          scale_(scale),
          min_mass_(min_mass),
          row_mass_(row_mass),
          node_gain_(scale.gain(node, bounds)) {}

    // `counts`: the sums by code, missing first. `sign`: whether values may only rise (+1) or
    // only fall (-1) with the feature; 0: both.
    NewtonCut best(const GradientSum* counts, std::int32_t n_codes, bool categorical,
                   std::int8_t sign) const {
        return categorical ? best_set(counts, n_codes) : best_threshold(counts, n_codes, sign);
    }

  private:
    double gain_of(const GradientSum& left, const NewtonScale& scale, std::int8_t sign) const {
        const GradientSum right = node_ - left;
        if (left.mass < min_mass_ || right.mass < min_mass_) return 0;
        if (scale_.hessian(left) < kLeastHessian || scale_.hessian(right) < kLeastHessian) return 0;
        if (sign != 0) {
            const double rise = bounds_.clip(scale.value(right)) - bounds_.clip(scale.value(left));
            if (sign * rise <= 0) return 0;
        }
        return scale.gain(left, bounds_) + scale.gain(right, bounds_) - node_gain_;
    }

    NewtonCut best_threshold(const GradientSum* counts, std::int32_t n_codes,
                             std::int8_t sign) const {
        NewtonCut best;
        const GradientSum missing = counts[0];
        GradientSum left;
        std::int32_t last = 0;      // the last occupied code
        bool best_is_last = false;  // no occupied code since the best cut
        for (std::int32_t code = 1; code < n_codes; ++code) {
            if (counts[code].mass == 0) continue;
            if (best_is_last) best.cut += (code - 1 - best.cut) / 2;  // the middle of the gap
            best_is_last = false;
            left = left + counts[code];
            last = code;
            const double without = gain_of(left, scale_, sign);
            const double with = missing.mass > 0 ? gain_of(left + missing, scale_, sign) : 0;
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
        if (missing.mass == 0) best.missing_left = 2 * best.left.mass > node_.mass;
        return best;
    }

    // The levels in order of their values: the best of all sets is among the first so many
    // of them (Fisher 1958), but for the smoothing that keeps rare levels from the ends.
    NewtonCut best_set(const GradientSum* counts, std::int32_t n_codes) const {
        std::vector<std::int32_t> levels;
        std::vector<double> order(n_codes);
        const double mean = node_.mass > 0 ? scale_.hessian(node_) / double(node_.mass) : 0;
        const double prior = kLevelSmoothing * row_mass_ * mean + scale_.l2;
        const double centre =
            scale_.gradient(node_) / std::max(scale_.hessian(node_), kLeastHessian);
        for (std::int32_t code = 0; code < n_codes; ++code) {
            if (counts[code].mass == 0) continue;
            levels.push_back(code);
            order[code] = (scale_.gradient(counts[code]) + prior * centre) /
                          std::max(scale_.hessian(counts[code]) + prior, kLeastHessian);
        }
        std::sort(levels.begin(), levels.end(), [&](std::int32_t a, std::int32_t b) {
            return order[a] != order[b] ? order[a] < order[b] : a < b;
        });
        NewtonScale careful = scale_;
        if (levels.size() > kFewLevels) careful.l2 += kSetPenalty;
        NewtonCut best;
        best.categorical = true;
        GradientSum left;
        std::size_t n_left = 0;
        for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
            left = left + counts[levels[i]];
            const double gain = gain_of(left, careful, 0);
            if (gain > best.gain) {
                best.gain = gain;
                best.left = left;
                best.feature = 0;
                n_left = i + 1;
            }
        }
        // Levels that the node has not seen go the way of most rows.
        const bool unseen_left = 2 * best.left.mass > node_.mass;
        for (std::int32_t code = 0; code < n_codes; ++code)
            if (unseen_left && counts[code].mass == 0) best.set.insert(code);
        for (std::size_t i = 0; i < n_left; ++i) best.set.insert(levels[i]);
        return best;
    }

    GradientSum node_;
    Bounds bounds_;
    NewtonScale scale_;
    std::int64_t min_mass_;
    double row_mass_;
    double node_gain_;
};

}  // namespace treerank
