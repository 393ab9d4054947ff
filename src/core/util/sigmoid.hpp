// The logistic function with the same bits on every processor and device: sums, products and
// divisions alone, which all of them round alike. A library's exponential differs from one to the
// next, in the last bit and now and then.
//
// Forced inline, since loops over it are compiled for several instruction sets.
#pragma once

#include <cstdint>

namespace treerank {

// exp(x) for -708 <= x <= 0: 2^k exp(r), |r| <= log(2) / 2, by its series. Within 2 units of the
// last place.
[[gnu::always_inline]] inline double exp_below_zero(double x) {
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
        (__builtin_bit_cast(std::uint64_t, shifted) << 52) + (std::uint64_t{1023} << 52);
    return series * __builtin_bit_cast(double, scale);
}

// 1 / (1 + exp(-x)). Without branches, so that loops over it become vectors.
[[gnu::always_inline]] inline double sigmoid(double x) {
    const double size = __builtin_fabs(x);
    const double e = exp_below_zero(-(size < 708 ? size : 708));
    // exp(x) / (1 + exp(x)) below 0: `below` has all bits there, and none elsewhere.
    const std::uint64_t below = std::uint64_t{0} - (__builtin_bit_cast(std::uint64_t, x) >> 63);
    const std::uint64_t numerator = (__builtin_bit_cast(std::uint64_t, e) & below) |
                                    (__builtin_bit_cast(std::uint64_t, 1.0) & ~below);
    return __builtin_bit_cast(double, numerator) / (1 + e);
}

}  // namespace treerank
