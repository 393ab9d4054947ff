// The gradients of a boosting round, rounded to integers.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/grow/boosting.hpp"
#include "core/grow/logistic_loss.hpp"
#include "core/util/sigmoid.hpp"

namespace treerank {

namespace {

constexpr std::size_t kRowsPerTask = 1024;  // their derivatives stay in the cache

// Rounds to the nearest integer, ties to even. Values must be far below 2^51.
std::int32_t rounded(double value) {
    constexpr double shift = 0x1.8p52;
    return static_cast<std::int32_t>((value + shift) - shift);
}

struct Largest {
    double first = 0, second = 0;

    void take(const Largest& other) {
        first = std::max(first, other.first);
        second = std::max(second, other.second);
    }
    GradientUnits units(int bits) const {
        return {gradient_unit(first, bits), gradient_unit(second, bits)};
    }
};

struct ScoresOfRows : ExtremeScores {
    void take(const ExtremeScores& other) {
        of_positives = std::min(of_positives, other.of_positives);
        of_negatives = std::max(of_negatives, other.of_negatives);
        from_zero = std::min(from_zero, other.from_zero);
    }
    Largest derivatives() const {
        Largest largest;
        if (of_positives < kNone) largest.first = 1 - sigmoid(of_positives);
        if (of_negatives > -kNone) largest.first = std::max(largest.first, sigmoid(of_negatives));
        const double share = sigmoid(from_zero);
        largest.second = share * (1 - share);
        return largest;
    }
};

// Combines of(first, last) over blocks of all rows; the result does not depend on the pool.
template <class Extreme, class Of>
Extreme over_rows(std::size_t n, ThreadPool& pool, const Of& of) {
    std::vector<Extreme> found(n / kRowsPerTask + 1);
    run_blocks(pool, n, kRowsPerTask, [&](std::size_t first, std::size_t last) {
        found[first / kRowsPerTask] = of(first, last);
    });
    Extreme whole;
    for (const Extreme& part : found) whole.take(part);
    return whole;
}

}  // namespace

double gradient_unit(double largest, int bits) {
    if (largest == 0) return 0;
    int exponent = 0;
    std::frexp(largest, &exponent);
    return std::ldexp(1.0, exponent - bits);
}

void BoostingRounds::round_gradients(std::size_t from, std::size_t n, const double* first,
                                     const double* second) {
    for (std::size_t i = 0; i < n; ++i)
        rows.set_gradient(
            from + i, {rounded(first[i] / units_.gradient), rounded(second[i] / units_.hessian)});
}

void BoostingRounds::set_gradients(const double* first, const double* second, int bits,
                                   ThreadPool& pool) {
    units_ = over_rows<Largest>(rows.size(), pool, [&](std::size_t from, std::size_t to) {
                 Largest largest;
                 for (std::size_t i = from; i < to; ++i)
                     largest.take({std::abs(first[i]), std::abs(second[i])});
                 return largest;
             }).units(bits);
    if (!has_gradients()) return;
    run_blocks(pool, rows.size(), kRowsPerTask, [&](std::size_t from, std::size_t to) {
        round_gradients(from, to - from, first + from, second + from);
    });
}

void BoostingRounds::set_logistic_gradients(const double* scores, const std::uint8_t* labels,
                                            int bits, ThreadPool& pool) {
    units_ = over_rows<ScoresOfRows>(
                 rows.size(), pool,
                 [&](std::size_t from, std::size_t to) {
                     return ScoresOfRows{extreme_scores(scores + from, labels + from, to - from)};
                 })
                 .derivatives()
                 .units(bits);
    if (!has_gradients()) return;
    run_blocks(pool, rows.size(), kRowsPerTask, [&](std::size_t from, std::size_t to) {
        double first[kRowsPerTask], second[kRowsPerTask];
        logistic_derivatives(scores + from, labels + from, to - from, first, second);
        round_gradients(from, to - from, first, second);
    });
}

}  // namespace treerank
