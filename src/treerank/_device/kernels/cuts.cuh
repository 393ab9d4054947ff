// Finds the best cut of one feature with one warp, whose lanes evaluate different codes.
//
// Ties are broken by the larger gain, then missing on the left, then the lower code.
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

// Cuts that gain no more than `bar` may be missed.
DEVICE void try_cut(const CutSearch& search, ClassWeight left, i32 missing_right, i32 code, double bar,
                    LaneCut& best) {
    if (!admissible(search, left)) return;
    const double gain = gain_above(search, left, bar > best.gain ? bar : best.gain);
    if (gain > 0 && precedes(gain, missing_right, code, best))
        best = {gain, missing_right, code, left};
}

// Returns the best cut over all lanes, in every lane.
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

// One lane stores what all have found: the best test of a warp is in shared memory.
DEVICE void keep(const Split& found, Split& best) {
    __syncwarp();
    if (lane_of() == 0) best = found;
    __syncwarp();
}

// Stores the cut, moved to the middle of the gap to the next code that occurs (-1: none).
DEVICE void take_cut(const LaneCut& cut, i32 gap_end, i32 n_codes, bool has_missing, i32 feature,
                     const CutSearch& search, Split& best) {
    if (!(cut.gain > best.gain)) return;
    Split found = {};
    found.gain = cut.gain;
    found.feature = feature;
    found.cut = gap_end < 0 ? n_codes - 1 : cut.code + (gap_end - cut.code - 1) / 2;
    // Later missing values go to the larger side.
    found.missing_left = has_missing ? !cut.missing_right
                                     : 2 * total_of(cut.left) >= total_of(search.node);
    found.left = cut.left;
    keep(found, best);
}

// Gets a counter of another lane, word by word.
template <class Counter>
DEVICE Counter from_lane_below(Counter mine, u32 step) {
    u32 words[sizeof(Counter) / 4];
    memcpy(words, &mine, sizeof mine);
    for (u32& word : words) word = __shfl_up_sync(FULL_WARP, word, step);
    memcpy(&mine, words, sizeof mine);
    return mine;
}
template <class Counter>
DEVICE Counter from_last_lane(Counter mine) {
    u32 words[sizeof(Counter) / 4];
    memcpy(words, &mine, sizeof mine);
    for (u32& word : words) word = __shfl_sync(FULL_WARP, word, 31);
    memcpy(&mine, words, sizeof mine);
    return mine;
}

// Inclusive prefix sum of the lanes' counters.
template <class Counter>
DEVICE Counter scan_lanes(Counter mine) {
    for (u32 step = 1; step < 32; step <<= 1) {
        const Counter other = from_lane_below(mine, step);
        if (lane_of() >= step) mine = plus(mine, other);
    }
    return mine;
}

// Returns the next code after `after` that occurs; -1: none.
template <class Counter>
DEVICE i32 next_code(const Counter* counters, i32 n_codes, i32 after) {
    for (i32 start = after + 1; start < n_codes; start += 32) {
        const i32 code = start + (i32)lane_of();
        const u32 found =
            __ballot_sync(FULL_WARP, code < n_codes && !is_empty(counters[code]));
        if (found) return start + __ffs((int)found) - 1;
    }
    return -1;
}

// The number of adjacent counters that one lane takes. The counters of a feature are padded to a
// multiple of this, and those beyond its codes are empty.
#define LANE_CODES 4
template <class Counter>
struct alignas(16) LaneCounters {
    Counter at[LANE_CODES];
};

template <class Counter>
DEVICE void search_cuts(const Counter* counters, i32 n_codes, i32 feature, const CutSearch& search,
                        Split& best) {
    const Count missing = count_of(counters[0]);
    const bool has_missing = !is_empty(missing);
    const double bar = best.gain;
    Counter before = {};
    LaneCut mine = {0, 0, 0x7fffffff, {0, 0}};
    for (i32 start = 0; start < n_codes; start += 32 * LANE_CODES) {
        const i32 first = start + LANE_CODES * (i32)lane_of();
        LaneCounters<Counter> own = {};
        if (first < n_codes) own = *(const LaneCounters<Counter>*)(counters + first);
        if (first == 0) own.at[0] = {};  // missing values are not part of the order
        const Counter all = plus(plus(own.at[0], own.at[1]), plus(own.at[2], own.at[3]));
        if (!__any_sync(FULL_WARP, !is_empty(all))) continue;
        const Counter up_to = scan_lanes(all);
        Counter sum = plus(before, less(up_to, all));
        before = plus(before, from_last_lane(up_to));
        for (i32 i = 0; i < LANE_CODES; ++i) {
            if (is_empty(own.at[i])) continue;
            sum = plus(sum, own.at[i]);
            const Count values = count_of(sum);
            try_cut(search, weight_of(plus(values, missing)), 0, first + i, bar, mine);
            if (has_missing) try_cut(search, weight_of(values), 1, first + i, bar, mine);
        }
    }
    if (!__any_sync(FULL_WARP, mine.gain > bar)) return;
    const LaneCut cut = best_of_lanes(mine);
    take_cut(cut, next_code(counters, n_codes, cut.code), n_codes, has_missing, feature, search,
             best);
}

// Evaluates a drawn cut; `values` is the weight up to it.
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

template <class Counter>
SELDOM void search_random_cut(const Counter* counters, i32 n_codes, i32 feature, u64 key,
                              CutSearch search, Split& best) {
    const Count missing = count_of(counters[0]);
    const bool has_missing = !is_empty(missing);
    i32 highest = 0;
    const i32 lowest = next_code(counters, n_codes, 0);
    if (lowest < 0) return;
    for (i32 start = 1; start < n_codes; start += 32) {
        const i32 code = start + (i32)lane_of();
        const u32 found =
            __ballot_sync(FULL_WARP, code < n_codes && !is_empty(counters[code]));
        if (found) highest = start + 31 - __clz((int)found);
    }
    const i32 n_cuts = highest - lowest + (has_missing ? 1 : 0);
    if (n_cuts == 0) return;
    const i32 cut = draw_cut(key, feature, lowest, n_cuts);
    Counter values = {};
    for (i32 code = lowest + (i32)lane_of(); code <= cut; code += 32)
        values = plus(values, counters[code]);
    values = from_last_lane(scan_lanes(values));
    judge_cut(cut, highest, weight_of(count_of(values)), weight_of(missing), has_missing, feature,
              search, best);
}
