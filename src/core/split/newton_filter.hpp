// Tells many cuts at a time that they cannot win, so that the search passes over most features.
#pragma once

#include <cstdint>

#include "core/histogram/gradient_histogram.hpp"

namespace treerank {

// A cut may win if both sides have at least `least_weight`, and g^2 / h + g'^2 / h' > wanted, where
// g and h are the gradient of its left side and the curvature, at least `least_curvature`, and g'
// and h' those of its right side.
struct NewtonFilter {
    GradientSum node;
    std::int64_t least_weight;
    double gradient_unit, hessian_unit, l2, least_curvature, wanted;
};

// Limits of the sums of a node, which are converted to doubles by adding a constant, and of the
// codes.
inline constexpr std::int64_t kMaxFilteredWeight = std::int64_t{1} << (50 - kGradientBits);
inline constexpr std::int32_t kMaxFilteredCodes = 1024;

// Whether some cut between the n codes, whose sums are given, may win; `before` are rows that are
// on the left of all cuts.
bool any_may_win(const GradientSum* by_code, std::int32_t n, const GradientSum& before,
                 const NewtonFilter& filter);

}  // namespace treerank
