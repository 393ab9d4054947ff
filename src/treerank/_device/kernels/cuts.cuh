// The cut of one feature, searched by one warp: lanes look at codes side by side.
//
// Ties: the larger gain, then missing on the left, then the lower code.
struct LaneCut {
    double gain;
    i32 missing_right, code;
    ClassWeight left;
};

DEVICE bool precedes(double gain, i32 missing_right, i32 code, const LaneCut& than) {
    if (gain != than.gain) return gain > than.gain;
    if (missing_right != than.missing_right) return missing_right < than.missing_right;
    return code < than.code;
}

// Cuts that gain no more than `bar` need not be found.
DEVICE void try_cut(const CutSearch& search, ClassWeight left, i32 missing_right, i32 code, double bar,
                    LaneCut& best) {
    if (!admissible(search, left)) return;
    const double gain = gain_above(search, left, bar > best.gain ? bar : best.gain);
    if (gain > 0 && precedes(gain, missing_right, code, best))
        best = {gain, missing_right, code, left};
}

// The best over the lanes, known to all of them.
DEVICE LaneCut best_of_lanes(LaneCut mine) {
    LaneCut best = mine;
    for (int step = 16; step > 0; step >>= 1) {
        const double gain = __shfl_xor_sync(FULL_WARP, best.gain, step);
        const i32 right = __shfl_xor_sync(FULL_WARP, best.missing_right, step);
        const i32 code = __shfl_xor_sync(FULL_WARP, best.code, step);
        if (precedes(gain, right, code, best)) {
            best.gain = gain;
            best.missing_right = right;
            best.code = code;
        }
    }
    const u32 holders =
        __ballot_sync(FULL_WARP, mine.gain == best.gain && mine.code == best.code &&
                                     mine.missing_right == best.missing_right);
    const int source = __ffs((int)holders) - 1;
    best.left.negative = __shfl_sync(FULL_WARP, mine.left.negative, source);
    best.left.positive = __shfl_sync(FULL_WARP, mine.left.positive, source);
    return best;
}

// Puts the cut in the middle of the gap to the next code that occurs (-1: none).
DEVICE void take_cut(const LaneCut& cut, i32 gap_end, i32 n_codes, bool has_missing, i32 feature,
                     const CutSearch& search, Split& best) {
    if (!(cut.gain > best.gain)) return;
    best.gain = cut.gain;
    best.feature = feature;
    best.categorical = 0;
    best.cut = gap_end < 0 ? n_codes - 1 : cut.code + (gap_end - cut.code - 1) / 2;
    // Missing values to come go to the larger side.
    best.missing_left = has_missing ? !cut.missing_right
                                    : 2 * total_of(cut.left) >= total_of(search.node);
    best.left = cut.left;
}

DEVICE bool is_empty(Count count) { return (count.negative | count.positive) == 0; }

// What the counters up to and with a lane's own add up to.
DEVICE Count scan_lanes(Count mine) {
    for (u32 step = 1; step < 32; step <<= 1) {
        const Units negative = __shfl_up_sync(FULL_WARP, mine.negative, step);
        const Units positive = __shfl_up_sync(FULL_WARP, mine.positive, step);
        if (lane_of() >= step) {
            mine.negative += negative;
            mine.positive += positive;
        }
    }
    return mine;
}

DEVICE Count from_lane(Count mine, int lane) {
    mine.negative = __shfl_sync(FULL_WARP, mine.negative, lane);
    mine.positive = __shfl_sync(FULL_WARP, mine.positive, lane);
    return mine;
}

// The next code that occurs after one; -1: none.
DEVICE i32 next_code(const Count* counters, i32 n_codes, i32 after) {
    for (i32 start = after + 1; start < n_codes; start += 32) {
        const i32 code = start + (i32)lane_of();
        const u32 found =
            __ballot_sync(FULL_WARP, code < n_codes && !is_empty(counters[code]));
        if (found) return start + __ffs((int)found) - 1;
    }
    return -1;
}

DEVICE void search_cuts(const Count* counters, i32 n_codes, i32 feature, const CutSearch& search,
                        Split& best) {
    const Count missing = counters[0];
    const bool has_missing = !is_empty(missing);
    Count before = {0, 0};
    LaneCut mine = {0, 0, 0x7fffffff, {0, 0}};
    for (i32 start = 1; start < n_codes; start += 32) {
        const i32 code = start + (i32)lane_of();
        Count count = {0, 0};
        if (code < n_codes) count = counters[code];
        const bool occurs = !is_empty(count);
        if (!__any_sync(FULL_WARP, occurs)) continue;
        Count sum = scan_lanes(count);
        sum.negative += before.negative;
        sum.positive += before.positive;
        before = from_lane(sum, 31);
        if (!occurs) continue;
        try_cut(search, weight_of(sum.negative + missing.negative, sum.positive + missing.positive),
                0, code, best.gain, mine);
        if (has_missing)
            try_cut(search, weight_of(sum.negative, sum.positive), 1, code, best.gain, mine);
    }
    const LaneCut cut = best_of_lanes(mine);
    if (!(cut.gain > best.gain)) return;
    take_cut(cut, next_code(counters, n_codes, cut.code), n_codes, has_missing, feature, search,
             best);
}

// A drawn cut, judged; `values` is the weight up to it.
DEVICE void judge_cut(i32 cut, i32 highest, ClassWeight values, ClassWeight missing,
                      bool has_missing, i32 feature, const CutSearch& search, Split& best) {
    LaneCut judged = {0, 0, cut, {0, 0}};
    judged.code = 0x7fffffff;
    if (cut < highest) try_cut(search, plus(values, missing), 0, cut, 0, judged);
    if (has_missing) try_cut(search, values, 1, cut, 0, judged);
    take_cut(judged, cut + 1, 0, has_missing, feature, search, best);
}

DEVICE i32 draw_cut(u64 key, i32 feature, i32 lowest, i32 n_cuts) {
    return lowest +
           (i32)uniform_below(key_of(key, RANDOM_CUT_BRANCH + (u64)feature), (u32)n_cuts);
}

SELDOM Split search_random_cut(const Count* counters, i32 n_codes, i32 feature, u64 key,
                               CutSearch search) {
    Split best = {};
    const bool has_missing = !is_empty(counters[0]);
    i32 highest = 0;
    const i32 lowest = next_code(counters, n_codes, 0);
    if (lowest < 0) return best;
    for (i32 start = 1; start < n_codes; start += 32) {
        const i32 code = start + (i32)lane_of();
        const u32 found =
            __ballot_sync(FULL_WARP, code < n_codes && !is_empty(counters[code]));
        if (found) highest = start + 31 - __clz((int)found);
    }
    const i32 n_cuts = highest - lowest + (has_missing ? 1 : 0);
    if (n_cuts == 0) return best;
    const i32 cut = draw_cut(key, feature, lowest, n_cuts);
    Count values = {0, 0};
    for (i32 code = lowest + (i32)lane_of(); code <= cut; code += 32) {
        values.negative += counters[code].negative;
        values.positive += counters[code].positive;
    }
    values = from_lane(scan_lanes(values), 31);
    judge_cut(cut, highest, weight_of(values.negative, values.positive),
              weight_of(counters[0].negative, counters[0].positive), has_missing, feature, search,
              best);
    return best;
}
