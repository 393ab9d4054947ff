// The logistic function with the same bits on every processor and device: sums, products and
// divisions alone, which all of them round alike. A library's exponential differs from one to the
// next, in the last bit and now and then.
#pragma once

#include <bit>
#include <cstdint>

namespace treerank {

// exp(x) for -708 <= x <= 0: 2^k exp(r), |r| <= log(2) / 2, by its series. Within 2 units of the
// last place.
inline double exp_below_zero(double x) {
    constexpr double shift = 0x1.8p52;  // what is added to it is rounded to a whole number
    constexpr double log2_e = 0x1.71547652b82fep+0;
    constexpr double ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;
    const double shifted = x * log2_e + shift;
    const double k = shifted - shift;
    const double r = (x - k * ln2_high) - k * ln2_low;
    double series = 1.0 / 6227020800;
    series = series * r + 1.0 / 479001600;
    series = series * r + 1.0 / 39916800;
    series = series * r + 1.0 / 3628800;
    series = series * r + 1.0 / 362880;
    series = series * r + 1.0 / 40320;
    series = series * r + 1.0 / 5040;
    series = series * r + 1.0 / 720;
    series = series * r + 1.0 / 120;
    series = series * r + 1.0 / 24;
    series = series * r + 1.0 / 6;
    series = series * r + 0.5;
    series = series * r + 1;
    series = series * r + 1;
    // The low bits of `shifted` are k: they go to the place of the exponent.
    const std::uint64_t scale =
        (std::bit_cast<std::uint64_t>(shifted) << 52) + (std::uint64_t{1023} << 52);
    return series * std::bit_cast<double>(scale);
}

// 1 / (1 + exp(-x)).
inline double sigmoid(double x) {
    const double below = x < 0 ? x : -x;
    const double e = exp_below_zero(below < -708 ? -708 : below);
    return (x < 0 ? e : 1.0) / (1 + e);
}

}  // namespace treerank
