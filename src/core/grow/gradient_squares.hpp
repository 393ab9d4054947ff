// The variance of the rows' gradients about the mean of their node.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/histogram/gradient_histogram.hpp"
#include "core/split/newton_split.hpp"

namespace treerank {

// Whether a chosen feature has so many levels that they are judged by the variance of the
// gradients.
inline bool needs_row_variance(const Features& features, const std::vector<std::int32_t>& chosen) {
    return std::any_of(chosen.begin(), chosen.end(), [&](std::int32_t feature) {
        return features.categorical[feature] != 0 && features.n_codes[feature] > kFreeLevels + 1;
    });
}

// Sums of products of gradients and hessians, as integers. The last `shift` bits of each factor are
// dropped, so that the sums do not overflow.
struct GradientSquares {
    std::int64_t gg = 0, gh = 0, hh = 0;

    // Returns the shift for rows with this total weight.
    static int shift_for(std::int64_t weight) {
        const int free_bits = 62 - std::bit_width(static_cast<std::uint64_t>(weight));
        return std::max(0, kGradientBits + 1 - free_bits / 2);  // one bit for the sign
    }
    static GradientSquares of_row(const RowGradient& row, std::int64_t weight, int shift) {
        const std::int64_t half = std::int64_t{1} << shift >> 1;
        const std::int64_t g = (row.gradient + half) >> shift, h = (row.hessian + half) >> shift;
        return {weight * g * g, weight * g * h, weight * h * h};
    }
    GradientSquares& operator+=(const GradientSquares& other) {
        gg += other.gg;
        gh += other.gh;
        hh += other.hh;
        return *this;
    }
    GradientSquares operator-(const GradientSquares& other) const {
        return {gg - other.gg, gh - other.gh, hh - other.hh};
    }
    // Returns the variance over the rows of a node, given the sum over the node.
    double variance(const GradientSum& node, const NewtonScale& scale, double independent_weight,
                    int shift) const {
        return scale.row_variance(node, static_cast<double>(gg), static_cast<double>(gh),
                                  static_cast<double>(hh), independent_weight, shift);
    }
};

}  // namespace treerank
