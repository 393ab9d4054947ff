// The gradients of a round of boosting, rounded to whole numbers.
#include <algorithm>
#include <cmath>

#include "core/grow/boosting.hpp"

namespace treerank {

namespace {

constexpr std::size_t kRowsPerTask = 16384;

// What 1 stands for when the largest of the values takes so many bits: a power of two.
double unit_of(const std::vector<double>& largest_of_tasks, int bits) {
    double largest = 0;
    for (const double value : largest_of_tasks) largest = std::max(largest, value);
    if (largest == 0) return 0;
    int exponent = 0;
    std::frexp(largest, &exponent);
    return std::ldexp(1.0, exponent - bits);
}

// To the nearest whole number, of two to the even one; numbers are far below 2^51.
std::int32_t rounded(double value) {
    constexpr double shift = 0x1.8p52;
    return static_cast<std::int32_t>((value + shift) - shift);
}

}  // namespace

GradientUnits BoostingRounds::set_gradients(const double* first, const double* second, int bits,
                                            ThreadPool& pool) {
    const std::size_t n = rows.size(), n_tasks = (n + kRowsPerTask - 1) / kRowsPerTask;
    std::vector<double> largest_first(n_tasks), largest_second(n_tasks);
    pool.run(n_tasks, [&](std::size_t task) {
        double a = 0, b = 0;
        for (std::size_t i = task * kRowsPerTask; i < std::min(n, (task + 1) * kRowsPerTask); ++i) {
            a = std::max(a, std::abs(first[i]));
            b = std::max(b, std::abs(second[i]));
        }
        largest_first[task] = a;
        largest_second[task] = b;
    });
    const GradientUnits units{unit_of(largest_first, bits), unit_of(largest_second, bits)};
    if (units.gradient == 0 || units.hessian == 0) return units;
    pool.run(n_tasks, [&](std::size_t task) {
        for (std::size_t i = task * kRowsPerTask; i < std::min(n, (task + 1) * kRowsPerTask); ++i)
            rows.set_gradient(
                i, {rounded(first[i] / units.gradient), rounded(second[i] / units.hessian)});
    });
    return units;
}

}  // namespace treerank
