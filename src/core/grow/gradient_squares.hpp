// How much the gradients of rows vary about the mean of their node.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/histogram/gradient_histogram.hpp"
#include "core/split/newton_split.hpp"

namespace treerank {

// Whether levels of a chosen feature are judged by how much the gradients of rows vary.
inline bool needs_row_variance(const Features& features, const std::vector<std::int32_t>& chosen) {
    return std::any_of(chosen.begin(), chosen.end(), [&](std::int32_t feature) {
        return features.categorical[feature] != 0 && features.n_codes[feature] > kFreeLevels + 1;
    });
}

// Sums of products of gradient and curvature, in whole numbers of as many digits as can be summed:
// the last `shift` are left out.
struct GradientSquares {
    std::int64_t gg = 0, gh = 0, hh = 0;

    // For rows of this weight together.
    static int shift_for(std::int64_t weight) {
        const int free_bits = 62 - std::bit_width(static_cast<std::uint64_t>(weight));
        return std::max(0, kGradientBits + 1 - free_bits / 2);  // with the sign
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
    // Of the rows of a node, whose sum is given.
    double variance(const GradientSum& node, const NewtonScale& scale, double independent_weight,
                    int shift) const {
        return scale.row_variance(node, static_cast<double>(gg), static_cast<double>(gh),
                                  static_cast<double>(hh), independent_weight, shift);
    }
};

}  // namespace treerank
