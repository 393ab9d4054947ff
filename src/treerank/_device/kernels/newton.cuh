// Finds the best cuts of nodes by Newton gain, like src/core/split/newton_split.hpp, one feature
// per warp.
struct NewtonLevels {
    i32 code[MAX_LEVELS];   // ascending
    i32 order[MAX_LEVELS];  // by deviation
    double gradient[MAX_LEVELS], hessian[MAX_LEVELS], deviation[MAX_LEVELS];
    i32 is_believed, unused;
};
static_assert(sizeof(NewtonLevels) == 8200, "the host allocates this much memory");

DEVICE i64 scan_lanes(i64 mine) {
    for (u32 step = 1; step < 32; step <<= 1) {
        const i64 other = __shfl_up_sync(FULL_WARP, mine, step);
        if (lane_of() >= step) mine += other;
    }
    return mine;
}
DEVICE GradientSum scan_lanes(GradientSum mine) {
    return {scan_lanes(mine.gradient), scan_lanes(mine.hessian), scan_lanes(mine.weight)};
}
DEVICE GradientSum from_lane(GradientSum mine, int lane) {
    return {__shfl_sync(FULL_WARP, mine.gradient, lane), __shfl_sync(FULL_WARP, mine.hessian, lane),
            __shfl_sync(FULL_WARP, mine.weight, lane)};
}

// Returns the lane with the largest gain, on ties that with the lowest code.
DEVICE int best_lane(double gain, i32 code) {
    double best = gain;
    i32 best_code = code;
    for (int step = 16; step > 0; step >>= 1) {
        const double other = __shfl_xor_sync(FULL_WARP, best, step);
        const i32 other_code = __shfl_xor_sync(FULL_WARP, best_code, step);
        if (other > best || (other == best && other_code < best_code)) {
            best = other;
            best_code = other_code;
        }
    }
    return __ffs((int)__ballot_sync(FULL_WARP, gain == best && code == best_code)) - 1;
}

DEVICE void search_thresholds(const GradientSum* counts, i32 n_codes, i32 feature, i32 sign,
                              const NewtonNode& search, BoostedCut& best) {
    const GradientSum missing = counts[0];
    GradientSum before = {0, 0, 0}, left = {0, 0, 0};
    double gain = kLeastGain;
    i32 cut = 0x7fffffff;
    bool missing_left = false;
    for (i32 start = 1; start < n_codes; start += 32) {
        const i32 code = start + (i32)lane_of();
        GradientSum count = {0, 0, 0};
        if (code < n_codes) count = counts[code];
        const bool occurs = count.weight != 0;
        if (!__any_sync(FULL_WARP, occurs)) continue;
        const GradientSum sum = before + scan_lanes(count);
        before = from_lane(sum, 31);
        if (!occurs) continue;
        const GradientSum joined = sum + missing;
        const double without = search.gain_of<false>(sum, sign);
        const double with = missing.weight > 0 ? search.gain_of<false>(joined, sign) : 0;
        const double larger = without < with ? with : without;
        if (larger > gain) {
            gain = larger;
            cut = code;
            missing_left = with > without;
            left = missing_left ? joined : sum;
        }
    }
    const int lane = best_lane(gain, cut);
    gain = __shfl_sync(FULL_WARP, gain, lane);
    cut = __shfl_sync(FULL_WARP, cut, lane);
    if (cut == 0x7fffffff || !(gain > best.gain)) return;
    best.gain = gain;
    best.feature = feature;
    best.categorical = 0;
    best.left = from_lane(left, lane);
    best.missing_left = __shfl_sync(FULL_WARP, (i32)missing_left, lane);
    // If the node has no missing values, later ones go to the side with more rows.
    if (missing.weight == 0) best.missing_left = 2 * best.left.weight > search.node.weight;
    best.cut = cut;
    for (i32 start = cut + 1; start < n_codes; start += 32) {
        const i32 code = start + (i32)lane_of();
        const u32 found = __ballot_sync(FULL_WARP, code < n_codes && counts[code].weight != 0);
        if (found == 0) continue;
        best.cut += (start + __ffs((int)found) - 2 - best.cut) / 2;  // the middle of the gap
        break;
    }
}

// Shrinks the levels as far as they may differ by chance. Called by one lane, which sums in their
// order.
DEVICE void believe(NewtonLevels* levels, i32 n, const GradientSum* counts, double row_variance,
                    double independent_weight, const NewtonNode& search) {
    const double mean = search.scale.mean(search.node);
    LevelEvidence evidence;
    for (i32 i = 0; i < n; ++i) {
        const GradientSum sum = counts[levels->code[i]];
        const double g = search.scale.gradient(sum), h = search.scale.hessian(sum);
        levels->gradient[i] = g;
        levels->hessian[i] = h;
        levels->deviation[i] = g - mean * h;
        evidence.add((double)sum.weight / independent_weight, levels->deviation[i]);
    }
    const double smoothing = evidence.smoothing(row_variance);
    levels->is_believed = smoothing != LevelEvidence::kNone;
    if (!levels->is_believed) return;
    for (i32 i = 0; i < n; ++i) {
        if (smoothing > 0) {
            const double level_rows =
                (double)counts[levels->code[i]].weight / independent_weight;
            levels->deviation[i] *= level_rows / (level_rows + smoothing);
            levels->gradient[i] = mean * levels->hessian[i] + levels->deviation[i];
        }
        levels->deviation[i] /= search.scale.curvature(levels->hessian[i]);
    }
}

// Finds the best cut of the ordered levels. Returns how many of them go left.
DEVICE i32 best_of_order(const NewtonLevels* levels, i32 n, const GradientSum* counts,
                         const NewtonNode& search, BoostedCut& found) {
    const double hessian = search.scale.hessian(search.node);
    double gradient = 0, left_gradient = 0;
    for (i32 i = 0; i < n; ++i) gradient += levels->gradient[levels->order[i]];
    const double whole = search.scale.gain(gradient, hessian, search.bounds);
    GradientSum left = {0, 0, 0};
    i32 n_left = 0;
    for (i32 i = 0; i + 1 < n; ++i) {
        const i32 level = levels->order[i];
        left = left + counts[levels->code[level]];
        left_gradient += levels->gradient[level];
        if (!search.admissible(left, search.node - left)) continue;
        const double left_hessian = search.scale.hessian(left);
        const double gain =
            search.scale.gain(left_gradient, left_hessian, search.bounds) +
            search.scale.gain(gradient - left_gradient, hessian - left_hessian, search.bounds) -
            whole;
        if (gain > found.gain) {
            found.gain = gain;
            found.left = left;
            n_left = i + 1;
        }
    }
    return n_left;
}

SELDOM BoostedCut search_sets(const Boosting& b, const GradientSum* counts, i32 n_codes,
                              i32 feature, double row_variance, NewtonNode search) {
    NewtonLevels* levels = b.levels + warp_number();
    BoostedCut found = {};
    found.gain = kLeastGain;
    found.feature = -1;
    found.categorical = 1;
    i32 n = 0;
    for (i32 start = 0; start < n_codes; start += 32) {
        const i32 code = start + (i32)lane_of();
        const bool occurs = code < n_codes && counts[code].weight != 0;
        const u32 lanes = __ballot_sync(FULL_WARP, occurs);
        if (occurs) levels->code[n + __popc(lanes & ((1u << lane_of()) - 1))] = code;
        n += __popc(lanes);
    }
    __syncwarp();
    if (lane_of() == 0) believe(levels, n, counts, row_variance, b.independent_weight, search);
    __syncwarp();
    const bool is_believed = levels->is_believed;
    if (is_believed) {
        for (i32 i = (i32)lane_of(); i < n; i += 32) {
            const double mine = levels->deviation[i];
            i32 rank = 0;
            for (i32 j = 0; j < n; ++j) {
                const double other = levels->deviation[j];
                rank += other != mine ? other < mine : j < i;
            }
            levels->order[rank] = i;
        }
    }
    __syncwarp();
    if (is_believed) {  // the same in every lane
        const i32 n_left = best_of_order(levels, n, counts, search, found);
        if (n_left > 0) found.feature = feature;
        // Levels that do not occur in the node go to the side with more rows.
        const bool unseen_left = 2 * found.left.weight > search.node.weight;
        for (i32 code = 0; unseen_left && code < n_codes; ++code)
            if (counts[code].weight == 0) found.set.words[code >> 6] |= 1ull << (code & 63);
        for (i32 i = 0; i < n_left; ++i) {
            const i32 code = levels->code[levels->order[i]];
            found.set.words[code >> 6] |= 1ull << (code & 63);
        }
    }
    __syncwarp();
    return found;
}

DEVICE double row_variance_of(const Boosting& b, const NewtonNode& search, i32 number) {
    if (!b.squares) return 0;
    const GradientSquares squares = b.squares[number];
    return search.scale.row_variance(search.node, (double)(i64)squares.gg, (double)(i64)squares.gh,
                                     (double)(i64)squares.hh, b.independent_weight,
                                     (int)b.square_shift);
}

// One node per block.
#define NEWTON_WARPS 16
KERNEL BOUNDS(NEWTON_WARPS * 32, 1) search_gradients(Boosting b, const BoostedNode* nodes, i32 n_nodes,
                                                     BoostedCut* cuts) {
    __shared__ BoostedCut bests[NEWTON_WARPS];
    for (i32 at = (i32)blockIdx.x; at < n_nodes; at += (i32)gridDim.x) {
        const BoostedNode node = nodes[at];
        NewtonNode search = {node.sum, {node.lower, node.upper},
                             {b.gradient_unit, b.hessian_unit, b.l2}, b.min_weight, 0};
        search.node_gain = search.scale.gain(node.sum, search.bounds);
        const double row_variance = row_variance_of(b, search, at);
        BoostedCut best = {};
        best.gain = kLeastGain;
        best.feature = -1;
        for (i32 k = (i32)warp_of(); k < b.n_chosen; k += NEWTON_WARPS) {
            const i32 feature = b.chosen[k], n_codes = b.n_codes[feature];
            const GradientSum* counts = node.histogram + b.offsets[k];
            if (!b.categorical[feature]) {
                search_thresholds(counts, n_codes, feature, b.monotonic[feature], search, best);
                continue;
            }
            const BoostedCut found = search_sets(b, counts, n_codes, feature, row_variance, search);
            if (found.feature >= 0 && found.gain > best.gain) best = found;
        }
        if (lane_of() == 0) bests[warp_of()] = best;
        __syncthreads();
        if (threadIdx.x == 0) {
            BoostedCut cut = bests[0];
            for (i32 w = 1; w < NEWTON_WARPS; ++w) {
                const BoostedCut& other = bests[w];
                if (other.feature < 0) continue;
                if (cut.feature < 0 || other.gain > cut.gain ||
                    (other.gain == cut.gain && other.feature < cut.feature))
                    cut = other;
            }
            cut.n_left = cut.n_right = 0;
            cuts[at] = cut;
        }
        __syncthreads();
    }
}
