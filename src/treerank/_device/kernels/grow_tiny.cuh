// Nodes with at most 32 rows: one warp grows all that is below. A lane holds a row, a node is a
// mask of lanes, and no row moves.
#define TINY_WARPS 4
#ifndef TINY_BLOCKS
#define TINY_BLOCKS 8  // a processor that are at work together, at least
#endif

struct TinyOpen {
    Node node;
    u32 rows;
};
#define TINY_RECORDS 32  // nodes that may be split: 32 rows make fewer than this
struct TinyState {
    TinyOpen stack[33];
    Record records[TINY_RECORDS];
    OwnRecords own;
    u32 codes[32];
    Units units[32];
    u32 n_open;
};

DEVICE i32 smallest_of_lanes(i32 value) {
    for (int step = 16; step > 0; step >>= 1) {
        const i32 other = __shfl_xor_sync(FULL_WARP, value, step);
        value = other < value ? other : value;
    }
    return value;
}

// What lanes hold in common: which rows are positive, and which have a bit of their repeats set.
struct TinyRows {
    u32 labels, repeats[4];
};

DEVICE Count sum_rows(const TinyState& state, const TinyRows& all, u32 rows) {
    Count sum = {0, 0};
#if WIDE
    for (u32 left = rows; left != 0; left &= left - 1) {
        const int j = __ffs((int)left) - 1;
        if ((all.labels >> j) & 1)
            sum.positive += state.units[j];
        else
            sum.negative += state.units[j];
    }
#else
    for (int bit = 0; bit < 4; ++bit) {
        sum.negative += (u32)__popc(rows & all.repeats[bit] & ~all.labels) << bit;
        sum.positive += (u32)__popc(rows & all.repeats[bit] & all.labels) << bit;
    }
#endif
    return sum;
}

// Rows of a node whose codes are not above a lane's own: all lanes compare theirs at once, bit by
// bit from the highest.
DEVICE u32 rows_up_to(u32 rows, u32 code, i32 n_codes) {
    u32 below = 0, same = rows;
    for (i32 bit = 31 - __clz(n_codes - 1 > 0 ? n_codes - 1 : 1); bit >= 0; --bit) {
        const bool is_one = (code >> bit) & 1;
        const u32 ones = __ballot_sync(FULL_WARP, is_one);
        if (is_one) below |= same & ~ones;
        same &= is_one ? ones : ~ones;
    }
    return below | same;
}

DEVICE void consider_tiny(const Growth& g, TinyState& state, u32 rows, const TinyRows& all,
                          u32 code, i32 feature, const Node& node, const Trial& trial, CutSearch search,
                          Split& best) {
    const u32 lane = lane_of();
    const bool is_row = (rows >> lane) & 1;
    const i32 n_codes = g.n_codes[feature];
    search.monotonic = g.monotonic[feature];
    const u32 without = __ballot_sync(FULL_WARP, is_row && code == 0);
    if (g.categorical[feature]) {
        Levels* levels = levels_of(g);
        state.codes[lane] = code;
        __syncwarp();
        u32 same = 0;  // rows of the node with this code
        for (u32 left = rows; left != 0; left &= left - 1) {
            const int j = __ffs((int)left) - 1;
            if (state.codes[j] == code) same |= 1u << j;
        }
        const bool is_first = is_row && __ffs((int)same) - 1 == (int)lane;
        const u32 firsts = __ballot_sync(FULL_WARP, is_first);
        if (is_first) {
            i32 at = 0;
            for (u32 left = firsts; left != 0; left &= left - 1)
                at += state.codes[__ffs((int)left) - 1] < code;
            const Count count = sum_rows(state, all, same);
            levels->code[at] = (i32)code;
            levels->weight[at] = weight_of(count.negative, count.positive);
        }
        __syncwarp();
        consider_levels(g, __popc(firsts), feature, node, trial, search, best);
        __syncwarp();
        return;
    }
    const Count missing = sum_rows(state, all, without);
    const ClassWeight missing_weight = weight_of(missing.negative, missing.positive);
    if (trial.random_cuts) {
        const i32 lowest = smallest_of_lanes(is_row && code > 0 ? (i32)code : 0x7fffffff);
        if (lowest != 0x7fffffff) {
            const i32 highest = -smallest_of_lanes(is_row ? -(i32)code : 0);
            const i32 n_cuts = highest - lowest + (without != 0);
            if (n_cuts > 0) {
                const i32 cut = draw_cut(node.key, feature, lowest, n_cuts);
                const u32 left =
                    __ballot_sync(FULL_WARP, is_row && code > 0 && (i32)code <= cut);
                const Count sum = sum_rows(state, all, left);
                judge_cut(cut, highest, weight_of(sum.negative, sum.positive), missing_weight,
                          without != 0, feature, search, best);
            }
        }
        return;
    }
    const Count sum = sum_rows(state, all, rows_up_to(rows, code, n_codes) & ~without);
    LaneCut mine = {0, 0, 0x7fffffff, {0, 0}};
    if (is_row && code > 0) {
        try_cut(search, weight_of(sum.negative + missing.negative, sum.positive + missing.positive),
                0, (i32)code, best.gain, mine);
        if (without != 0)
            try_cut(search, weight_of(sum.negative, sum.positive), 1, (i32)code, best.gain, mine);
    }
    const LaneCut cut = best_of_lanes(mine);
    if (cut.gain > best.gain) {
        const i32 next =
            smallest_of_lanes(is_row && (i32)code > cut.code ? (i32)code : 0x7fffffff);
        take_cut(cut, next == 0x7fffffff ? -1 : next, n_codes, without != 0, feature, search, best);
    }
}

// Writes the records of a warp, those below its root side by side: who reads them finds the next
// one close by.
DEVICE void hand_over(const Growth& g, const Trial& trial, i32 root, const TinyState& state) {
    const u32 lane = lane_of(), n = state.own.n;
    i32 first = 0;
    if (lane == 0 && n > 1) first = new_records(g, trial.tree, n - 1);
    first = __shfl_sync(FULL_WARP, first, 0);
    if (first < 0 || lane >= n) return;
    Record record = state.records[lane];
    if (record.left > 0) record.left += first - 1;
    if (record.right > 0) record.right += first - 1;
    g.records[g.trees[trial.tree].first + (lane == 0 ? root : first + (i32)lane - 1)] = record;
}

KERNEL BOUNDS(TINY_WARPS * 32, TINY_BLOCKS) grow_tiny(Growth g, i32 n_nodes) {
    __shared__ TinyState states[TINY_WARPS];
    TinyState& state = states[warp_of()];
    const u32 lane = lane_of();
    u16* lists = g.draws + (i64)warp_number() * 2 * g.n_features;
    const i32 n_warps = (i32)(gridDim.x * (blockDim.x >> 5));
    for (i32 i = (i32)warp_number(); i < n_nodes; i += n_warps) {
        const Node& root = g.tiny[i];
        const u32 n = root.last - root.first;
        const u32 row = lane < n ? g.rows[root.buffer][root.first + lane] : 0;
        const CODE* codes = codes_of(g, row);
        TinyRows all;
        all.labels = __ballot_sync(FULL_WARP, (row & LABEL_BIT) != 0);
        for (int bit = 0; bit < 4; ++bit)
            all.repeats[bit] = __ballot_sync(FULL_WARP, (row >> bit) & 1);
        const Trial trial = g.trials[root.trial];
        state.units[lane] = lane < n ? units_of(g, row) : 0;
        if (lane == 0) {
            state.own = {state.records, 0};
            state.stack[0].node = root;
            state.stack[0].node.record = new_record(g, trial.tree, &state.own);
            state.stack[0].rows = n == 32 ? FULL_WARP : (1u << n) - 1;
            state.n_open = 1;
        }
        __syncwarp();
        while (state.n_open > 0) {
            const Node node = state.stack[state.n_open - 1].node;
            const u32 rows = state.stack[state.n_open - 1].rows;
            const CutSearch search = search_of(g, node, trial);
            Split best = {};
            for (i32 attempt = 0; !(best.gain > 0); ++attempt) {
                const u16* drawn = 0;
                const i32 n_drawn = draw_features(g, trial, node.key, attempt, lists, &drawn);
                if (n_drawn == 0) break;
                for (i32 k = 0; k < n_drawn; ++k)
                    consider_tiny(g, state, rows, all, codes[drawn[k]], drawn[k], node, trial,
                                  search, best);
            }
            const bool splits = best.gain > 0;
            const bool left = splits && goes_left(best, codes[best.feature]);
            const u32 lefts = __ballot_sync(FULL_WARP, left) & rows;
            __syncwarp();
            if (lane == 0) {
                --state.n_open;
                if (splits) {
                    Children children = make_children(g, node, trial, search, best, &state.own);
                    write_record(g, node, trial, best, children, &state.own);
                    if (children.has_right) {
                        state.stack[state.n_open].node = children.right;
                        state.stack[state.n_open++].rows = rows & ~lefts;
                    }
                    if (children.has_left) {
                        state.stack[state.n_open].node = children.left;
                        state.stack[state.n_open++].rows = lefts;
                    }
                }
            }
            __syncwarp();
        }
        hand_over(g, trial, root.record, state);
        __syncwarp();
    }
}
