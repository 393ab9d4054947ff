// Nodes with at most 32 rows: one warp grows everything below. Each lane holds a row, a node is a
// bit mask of lanes, and no row is moved.
#define TINY_WARPS 4
#ifndef TINY_BLOCKS
#define TINY_BLOCKS 8  // minimum of resident blocks per multiprocessor
#endif

struct TinyOpen {
    Node node;
    u32 rows;
};
#define TINY_RECORDS 32  // nodes that may be split: 32 rows make fewer than this
#define TINY_OPEN 17     // each such node has a row of either class
struct TinyState {
    TinyOpen stack[TINY_OPEN];
    Record records[TINY_RECORDS];
    OwnRecords own;
    Trial trial;
    Split best;
    u32 codes[32];
    Units units[32];
    u32 n_open;
    u16 lists[2 * SHARED_FEATURES];
};

DEVICE i32 smallest_of_lanes(i32 value) {
    for (int step = 16; step > 0; step >>= 1) {
        const i32 other = __shfl_xor_sync(FULL_WARP, value, step);
        value = other < value ? other : value;
    }
    return value;
}

// Bit masks over the lanes: which rows are positive, and which have each bit of their repeat count
// set.
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

// Returns the rows of a node whose codes do not exceed the lane's own. All lanes compare at once,
// bit by bit from the highest.
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
                          u32 code, i32 feature, const Node& node) {
    const u32 lane = lane_of();
    const bool is_row = (rows >> lane) & 1;
    const i32 n_codes = g.n_codes[feature];
    const Trial& trial = state.trial;
    Split& best = state.best;
    const CutSearch search = search_of(g, node, trial, feature);
    const u32 without = __ballot_sync(FULL_WARP, is_row && code == 0);
    if (!PLAIN && g.categorical[feature]) {
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
            levels->code[at] = (i32)code;
            levels->weight[at] = weight_of(sum_rows(state, all, same));
        }
        __syncwarp();
        consider_levels(g, __popc(firsts), feature, node, trial, search, best);
        __syncwarp();
        return;
    }
    const Count missing = sum_rows(state, all, without);
    if (!PLAIN && trial.random_cuts) {
        const i32 lowest = smallest_of_lanes(is_row && code > 0 ? (i32)code : 0x7fffffff);
        if (lowest != 0x7fffffff) {
            const i32 highest = -smallest_of_lanes(is_row ? -(i32)code : 0);
            const i32 n_cuts = highest - lowest + (without != 0);
            if (n_cuts > 0) {
                const i32 cut = draw_cut(node.key, feature, lowest, n_cuts);
                const u32 left =
                    __ballot_sync(FULL_WARP, is_row && code > 0 && (i32)code <= cut);
                judge_cut(cut, highest, weight_of(sum_rows(state, all, left)), weight_of(missing),
                          without != 0, feature, search, best);
            }
        }
        return;
    }
    const Count sum = sum_rows(state, all, rows_up_to(rows, code, n_codes) & ~without);
    LaneCut mine = {0, 0, 0x7fffffff, {0, 0}};
    const double bar = best.gain;
    if (is_row && code > 0) {
        try_cut(search, weight_of(plus(sum, missing)), 0, (i32)code, bar, mine);
        if (without != 0) try_cut(search, weight_of(sum), 1, (i32)code, bar, mine);
    }
    if (!__any_sync(FULL_WARP, mine.gain > bar)) return;
    const LaneCut cut = best_of_lanes(mine);
    const i32 next = smallest_of_lanes(is_row && (i32)code > cut.code ? (i32)code : 0x7fffffff);
    take_cut(cut, next == 0x7fffffff ? -1 : next, n_codes, without != 0, feature, search, best);
}

// Copies the codes of a warp's rows side by side, an odd number of words apart, so that lanes that
// read the same feature of all rows cause no bank conflicts.
DEVICE void stage_codes(const Growth& g, const u32* rows, u32 n, u32 line_words, u32* staged) {
    for (u32 i = lane_of(); i < n * line_words; i += 32) {
        const u32 row = i / line_words, word = i % line_words;
        staged[row * (line_words | 1) + word] = ((const u32*)codes_of(g, rows[row]))[word];
    }
}

// Writes the records of a warp. Those below its root are contiguous, so that a reader finds the
// next one close by.
DEVICE void hand_over(const Growth& g, i32 root, const TinyState& state) {
    const u32 lane = lane_of(), n = state.own.n;
    const i64 tree = state.trial.tree;
    i32 first = 0;
    if (lane == 0 && n > 1) first = reserve_records(g, tree, n - 1);
    first = __shfl_sync(FULL_WARP, first, 0);
    if (first < 0 || lane >= n) return;
    Record record = state.records[lane];
    if (record.left > 0) record.left += first - 1;
    if (record.right > 0) record.right += first - 1;
    g.records[g.trees[tree].first + (lane == 0 ? root : first + (i32)lane - 1)] = record;
}

// Splits the node on top of the stack and replaces it by its children.
DEVICE void split_tiny(const Growth& g, TinyState& state, const TinyRows& all, const CODE* codes) {
    const TinyOpen& open = state.stack[state.n_open - 1];
    const u32 rows = open.rows;
    if (lane_of() == 0) state.best = {};
    __syncwarp();
    for (i32 attempt = 0; !(state.best.gain > 0); ++attempt) {
        const u16* drawn = 0;
        const i32 n_drawn = draw_features(g, state.trial, open.node.key, attempt,
                                          lists_of(g, state.lists), &drawn);
        if (n_drawn == 0) break;
        for (i32 k = 0; k < n_drawn; ++k)
            consider_tiny(g, state, rows, all, codes[drawn[k]], drawn[k], open.node);
    }
    const Split& split = state.best;
    const bool splits = split.gain > 0;
    const u32 lefts =
        __ballot_sync(FULL_WARP, splits && goes_left(split, codes[split.feature])) & rows;
    __syncwarp();
    if (lane_of() == 0) {
        --state.n_open;
        if (splits) {
            const CutSearch search = search_of(g, open.node, state.trial);
            Children children =
                make_children(g, open.node, state.trial, search, split, &state.own);
            write_record(g, open.node, state.trial, split, children, &state.own);
            if (children.has_right) state.stack[state.n_open++] = {children.right, rows & ~lefts};
            if (children.has_left) state.stack[state.n_open++] = {children.left, lefts};
        }
    }
    __syncwarp();
}

// `line_words`: words of a row's codes if shared memory has room for all rows, otherwise 0.
KERNEL BOUNDS(TINY_WARPS * 32, TINY_BLOCKS) grow_tiny(Growth g, i32 n_nodes, i32 line_words) {
    __shared__ TinyState states[TINY_WARPS];
    DYNAMIC_SHARED(shared_words);
    TinyState& state = states[warp_of()];
    const u32 lane = lane_of(), line = (u32)line_words | 1;
    u32* staged = (u32*)shared_words + warp_of() * 32 * line;
    const i32 n_warps = (i32)(gridDim.x * (blockDim.x >> 5));
    for (i32 i = (i32)warp_number(); i < n_nodes; i += n_warps) {
        const Node& root = g.tiny[i];
        const u32* rows = g.rows[root.buffer] + root.first;
        const u32 n = root.last - root.first;
        const u32 row = lane < n ? rows[lane] : 0;
        TinyRows all;
        all.labels = __ballot_sync(FULL_WARP, (row & LABEL_BIT) != 0);
        for (int bit = 0; bit < 4; ++bit)
            all.repeats[bit] = __ballot_sync(FULL_WARP, (row >> bit) & 1);
        state.units[lane] = lane < n ? units_of(g, row) : 0;
        if (line_words > 0) stage_codes(g, rows, n, (u32)line_words, staged);
        if (lane == 0) {
            state.trial = g.trials[root.trial];
            state.own = {state.records, 0};
            state.stack[0].node = root;
            state.stack[0].node.record = new_records(g, state.trial.tree, 1, &state.own);
            state.stack[0].rows = n == 32 ? FULL_WARP : (1u << n) - 1;
            state.n_open = 1;
        }
        __syncwarp();
        const CODE* codes =
            line_words > 0 ? (const CODE*)(staged + lane * line) : codes_of(g, row);
        while (state.n_open > 0) split_tiny(g, state, all, codes);
        hand_over(g, root.record, state);
        __syncwarp();
    }
}
