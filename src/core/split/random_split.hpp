// Tests that are drawn instead of searched for: one cut per feature, as a function of the node's
// key and the feature only.
#pragma once

#include <algorithm>
#include <limits>

#include "core/data/random.hpp"
#include "core/split/criterion.hpp"

namespace treerank {

// The range of a feature's codes in a node.
template <class Code>
struct CodeRange {
    Code lowest = std::numeric_limits<Code>::max();
    Code highest = 0;  // 0: all values missing
    bool missing = false;

    void add(Code code) {
        if (code == 0) {
            missing = true;
            return;
        }
        lowest = std::min(lowest, code);
        highest = std::max(highest, code);
    }
    // With missing on the right, "all values left" is a cut as well.
    std::int32_t n_cuts() const { return highest == 0 ? 0 : highest - lowest + (missing ? 1 : 0); }
};

// Draws a cut uniformly between the lowest and the highest code of the node.
template <class Code>
std::int32_t draw_cut(const CodeRange<Code>& range, std::uint64_t key) {
    return range.lowest + static_cast<std::int32_t>(
                              uniform_below(key, static_cast<std::uint32_t>(range.n_cuts())));
}

// Evaluates a drawn cut with missing values on the better side. `values` is the weight up to the
// cut.
template <class Code>
BestCut judge_cut(const CodeRange<Code>& range, std::int32_t cut, ClassWeight values,
                  ClassWeight missing, const CutSearch& search) {
    BestCut best;
    const auto try_side = [&](bool missing_left) {
        const ClassWeight left = missing_left ? values + missing : values;
        if (!admissible(search, left)) return;
        const double gain = gain_of(search, left);
        if (gain > best.gain) best = {gain, cut, cut + 1, missing_left, left};
    };
    if (cut < range.highest) try_side(true);
    if (range.missing)
        try_side(false);
    else
        best.missing_left = is_larger_side(search, best.left);
    return best;
}

// Sends each level left or right by a random bit, with at least one level on either side.
inline BestLevels random_levels(const OccupiedCodes& occupied, const CutSearch& search,
                                std::uint64_t key) {
    BestLevels levels;
    const std::size_t n = occupied.codes.size();
    if (n < 2) return levels;
    std::vector<std::uint8_t> left(n);
    for (std::size_t i = 0; i < n; ++i) left[i] = key_of(key, occupied.codes[i]) >> 63;
    const auto ones = static_cast<std::size_t>(std::count(left.begin(), left.end(), 1));
    if (ones == 0 || ones == n) left[uniform_below(mix(key), static_cast<std::uint32_t>(n))] ^= 1;
    for (const std::uint8_t side : {1, 0}) {
        for (std::size_t i = 0; i < n; ++i)
            if (left[i] == side) levels.order.push_back(static_cast<std::int32_t>(i));
        if (side == 1) levels.n_left = levels.order.size();
    }
    for (std::size_t i = 0; i < levels.n_left; ++i)
        levels.left = levels.left + occupied.weights[levels.order[i]];
    if (admissible(search, levels.left)) levels.gain = gain_of(search, levels.left);
    return levels;
}

}  // namespace treerank
