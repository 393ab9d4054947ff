// The search for the best test over a list of occupied codes.
//
// This is the definition that the vectorised kernel must match bit for bit. It also serves the
// cases that the kernel does not: criteria other than Gini, monotone constraints, imputed missing
// values, categories. Ties are broken by the larger gain, then the lower feature, then missing
// left, then the lower code.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/histogram/kernels.hpp"
#include "core/split/gain.hpp"

namespace treerank {

// The codes that occur in a node, in ascending order, with their weights.
struct OccupiedCodes {
    std::vector<std::int32_t> codes;
    std::vector<ClassWeight> weights;

    void clear() {
        codes.clear();
        weights.clear();
    }
    void add(std::int32_t code, ClassWeight weight) {
        codes.push_back(code);
        weights.push_back(weight);
    }
    bool has_missing() const { return !codes.empty() && codes.front() == 0; }
    // Counts missing values as another code. A no-op for code 0.
    void fill_in(std::int32_t code) {
        if (!has_missing() || code == 0) return;
        const ClassWeight missing = weights.front();
        codes.erase(codes.begin());
        weights.erase(weights.begin());
        const auto at = std::lower_bound(codes.begin(), codes.end(), code) - codes.begin();
        if (at < std::ssize(codes) && codes[at] == code) {
            weights[at] = weights[at] + missing;
        } else {
            codes.insert(codes.begin() + at, code);
            weights.insert(weights.begin() + at, missing);
        }
    }
};

// Whether the left side of a cut is the larger one. Values that do not occur in the node, such as
// missing ones, go there later.
inline bool is_larger_side(const CutSearch& search, ClassWeight left) {
    return 2 * left.total() >= search.node.total();
}

inline void scan_list(const OccupiedCodes& occupied, bool missing_left, const CutSearch& search,
                      BestCut& best) {
    const std::size_t n = occupied.codes.size();
    const std::size_t first = occupied.has_missing() ? 1 : 0;
    ClassWeight left;
    if (first == 1 && missing_left) left = occupied.weights[0];
    for (std::size_t i = first; i < n; ++i) {
        left = left + occupied.weights[i];
        if (!admissible(search, left)) continue;
        const double gain = gain_above(search, left, best.gain);
        if (gain > best.gain) {
            const std::int32_t next = i + 1 < n ? occupied.codes[i + 1] : -1;
            best = {gain, occupied.codes[i], next, missing_left, left};
        }
    }
}

inline BestCut best_cut(const OccupiedCodes& occupied, const CutSearch& search) {
    BestCut best;
    scan_list(occupied, true, search, best);
    if (occupied.has_missing()) scan_list(occupied, false, search, best);
    return best;
}

// Returns the weights of the levels, with class shares that are shrunk towards those of the node
// where levels may differ by chance. Empty if they differ no more than by chance.
inline std::vector<ClassWeight> believed_weights(const OccupiedCodes& occupied,
                                                 const CutSearch& search) {
    const double share = search.node.positive / search.node.total();
    LevelEvidence evidence;
    for (const ClassWeight weight : occupied.weights)
        evidence.add(weight.total() / search.independent_weight,
                     (weight.positive - share * weight.total()) / search.independent_weight);
    double smoothing = evidence.smoothing(share * (1 - share));
    if (smoothing == LevelEvidence::kNone) return {};
    smoothing *= search.independent_weight;
    std::vector<ClassWeight> believed = occupied.weights;
    if (smoothing == 0) return believed;
    for (ClassWeight& weight : believed) {
        const double total = weight.total(), expected = share * total;
        weight.positive = expected + (weight.positive - expected) * total / (total + smoothing);
        weight.negative = total - weight.positive;
    }
    return believed;
}

// The best set of levels (Breiman et al., CART, theorem 4.5): levels are ordered by the ratio of
// positives to negatives, best first, and cut where the gain is largest. Both the order and the
// gain use the shrunken weights. Missing is a level like any other. The first `n_left` levels of
// `order` go left; `left` is their weight without shrinkage.
struct BestLevels {
    double gain = 0;
    std::size_t n_left = 0;
    ClassWeight left;
    std::vector<std::int32_t> order;  // indices into the list of occupied codes
};

inline BestLevels best_levels(const OccupiedCodes& occupied, const CutSearch& search) {
    BestLevels best;
    const std::vector<ClassWeight> believed = believed_weights(occupied, search);
    best.order.resize(believed.size());
    std::iota(best.order.begin(), best.order.end(), 0);
    std::sort(best.order.begin(), best.order.end(), [&](std::int32_t a, std::int32_t b) {
        const ClassWeight x = believed[a], y = believed[b];
        const double one = x.positive * y.negative, other = y.positive * x.negative;
        return one != other ? one > other : a < b;
    });
    CutSearch believing = search;
    believing.node = ClassWeight{};
    for (const ClassWeight weight : believed) believing.node = believing.node + weight;
    ClassWeight left, believed_left;
    for (std::size_t i = 0; i + 1 < best.order.size(); ++i) {
        left = left + occupied.weights[best.order[i]];
        believed_left = believed_left + believed[best.order[i]];
        if (!admissible(search, left)) continue;
        const double gain = gain_of(believing, believed_left);
        if (gain > best.gain) {
            best.gain = gain;
            best.n_left = i + 1;
            best.left = left;
        }
    }
    return best;
}

}  // namespace treerank
