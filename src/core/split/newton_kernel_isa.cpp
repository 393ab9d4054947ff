// Compiled once per instruction set, which TREERANK_ISA names.
#include "core/split/newton_kernel_isa.hpp"

namespace treerank::TREERANK_ISA {

namespace {

constexpr std::int32_t kLanes = 8;
typedef double Doubles __attribute__((vector_size(kLanes * sizeof(double))));
typedef std::int64_t Words __attribute__((vector_size(kLanes * sizeof(std::int64_t))));

// The doubles from 2^52 to 2^53 are the integers, so adding an integer of less than 51 bits to the
// bits of 1.5 * 2^52 adds it to the value. Few processors convert vectors of 64-bit integers.
// (By reference: how vectors are passed by value depends on the instruction set.)
inline void convert(const Words& words, double unit, Doubles& values) {
    const Words bits = words + std::int64_t{0x4338000000000000};
    __builtin_memcpy(&values, &bits, sizeof values);
    values = (values - 0x1.8p52) * unit;
}

}  // namespace

bool any_may_win(const GradientSum* by_code, std::int32_t n, const GradientSum& before,
                 const NewtonFilter& filter) {
    // Sums up to each code; lanes past the last code repeat it.
    alignas(sizeof(Words)) std::int64_t gradients[kMaxFilteredCodes + kLanes];
    alignas(sizeof(Words)) std::int64_t hessians[kMaxFilteredCodes + kLanes];
    std::int64_t gradient = before.gradient, hessian = before.hessian, weight = before.weight;
    for (std::int32_t code = 0; code < n; ++code) {
        gradients[code] = gradient += by_code[code].gradient;
        hessians[code] = hessian += by_code[code].hessian;
        weight += by_code[code].weight;
    }
    for (std::int32_t k = 0; k < kLanes; ++k) {
        gradients[n + k] = gradient;
        hessians[n + k] = hessian;
    }
    // Both sides have enough weight if the cut is after a code of [first, last).
    std::int32_t first = 0, last = n;
    std::int64_t left = before.weight, right = filter.node.weight - weight;
    while (first < n && (left += by_code[first].weight) < filter.least_weight) ++first;
    while (last > first && right < filter.least_weight) right += by_code[--last].weight;
    Words may_win = {};
    for (std::int32_t code = first; code < last; code += kLanes) {
        Words g, h;
        __builtin_memcpy(&g, gradients + code, sizeof g);
        __builtin_memcpy(&h, hessians + code, sizeof h);
        Doubles left_g, left_h, right_g, right_h;
        convert(g, filter.gradient_unit, left_g);
        convert(h, filter.hessian_unit, left_h);
        convert(filter.node.gradient - g, filter.gradient_unit, right_g);
        convert(filter.node.hessian - h, filter.hessian_unit, right_h);
        left_h += filter.l2;
        right_h += filter.l2;
        left_h = left_h < filter.least_curvature ? filter.least_curvature : left_h;
        right_h = right_h < filter.least_curvature ? filter.least_curvature : right_h;
        may_win |= left_g * left_g * right_h + right_g * right_g * left_h >
                   filter.wanted * (left_h * right_h);
    }
    for (std::int32_t k = 0; k < kLanes; ++k)
        if (may_win[k] != 0) return true;
    return false;
}

}  // namespace treerank::TREERANK_ISA
