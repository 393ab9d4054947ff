// What follows the split of a node: its record, and its children if they may be split in turn.
DEVICE bool may_split(const Growth& g, i32 depth, ClassWeight weight) {
    const bool deep = g.max_depth >= 0 && depth >= g.max_depth;
    const bool pure = weight.negative == 0 || weight.positive == 0;
    return !deep && !pure && total_of(weight) >= g.min_weight_split &&
           total_of(weight) >= 2 * g.min_weight_leaf;
}

DEVICE void clear_records(Record* records, u32 n) {
    for (u32 i = 0; i < n; ++i) {
        records[i].feature = -1;
        records[i].left = records[i].right = -1;
    }
}

// Reserves n contiguous records of a tree. If there are not enough, which the host has ruled out,
// counts the loss and returns -1.
DEVICE i32 reserve_records(const Growth& g, i64 tree, u32 n) {
    const u32 at = atomicAdd(g.n_records + tree, n);
    if ((i64)at + n <= g.trees[tree].capacity) return (i32)at;
    atomicAdd(g.counters + N_LOST, n);
    return -1;
}

// Records that one warp keeps to itself. New records, still without a test, are taken from such a
// list or from all records of the tree.
struct OwnRecords {
    Record* records;
    u32 n;
};
DEVICE i32 new_records(const Growth& g, i64 tree, u32 n, OwnRecords* own) {
    const i32 at = own ? (i32)own->n : reserve_records(g, tree, n);
    if (at < 0) return at;
    clear_records((own ? own->records : g.records + g.trees[tree].first) + at, n);
    if (own) own->n += n;
    return at;
}

struct Children {
    Node left, right;
    bool has_left, has_right;  // whether the child may be split
};

// Makes the children of a node, whose rows are not partitioned yet. Called by one thread.
DEVICE Children make_children(const Growth& g, const Node& node, const Trial& trial,
                              const CutSearch& search, const Split& split, OwnRecords* own = 0) {
    Children children;
    const ClassWeight right = less(search.node, split.left);
    children.left = node;
    children.left.depth = node.depth + 1;
    children.left.attempt = 0;
    children.left.buffer = 1 - node.buffer;
    children.right = children.left;
    children.left.key = key_of(node.key, 0);
    children.right.key = key_of(node.key, 1);
    children.left.negative = split.left.negative;
    children.left.positive = split.left.positive;
    children.right.negative = right.negative;
    children.right.positive = right.positive;
    const i32 sign = PLAIN ? 0 : g.monotonic[split.feature];
    if (sign != 0) {
        const double mid = (bounded_value(search, split.left) + bounded_value(search, right)) / 2;
        (sign > 0 ? children.left : children.right).upper = mid;
        (sign > 0 ? children.right : children.left).lower = mid;
    }
    children.has_left = may_split(g, node.depth + 1, split.left);
    children.has_right = may_split(g, node.depth + 1, right);
    const i32 n = (i32)children.has_left + (i32)children.has_right;
    const i32 first = n > 0 ? new_records(g, trial.tree, (u32)n, own) : -1;
    if (first < 0) children.has_left = children.has_right = false;
    children.left.record = children.has_left ? first : -1;
    children.right.record = children.has_right ? first + n - 1 : -1;
    return children;
}

// Writes the record of a split node. Called by one thread.
DEVICE void write_record(const Growth& g, const Node& node, const Trial& trial, const Split& split,
                         const Children& children, OwnRecords* own = 0) {
    Record record;
    record.feature = split.feature | (split.missing_left ? IS_MISSING_LEFT : 0);
    record.cut = split.cut;
    if (!PLAIN && split.categorical) {
        record.feature |= IS_CATEGORICAL;
        record.cut = (i32)atomicAdd(g.counters + N_SETS, 1u);
        if (record.cut < g.set_capacity)
            g.sets[record.cut] = split.set;
        else
            atomicAdd(g.counters + N_LOST, 1u);
    }
    record.left = children.left.record;
    record.right = children.right.record;
    record.negative = split.left.negative;
    record.positive = split.left.positive;
    (own ? own->records : g.records + g.trees[trial.tree].first)[node.record] = record;
}

// Adds a node to the list for its size. Called by one thread.
DEVICE void open_node(const Growth& g, const Node& node) {
    const i64 n = (i64)node.last - node.first;
    const bool fits = WIDE || node.negative + node.positive <= MOST_PACKED;
    if (n <= g.tiny_rows)
        g.tiny[atomicAdd(g.counters + N_TINY, 1u)] = node;
    else if (n <= g.mid_rows && fits)
        g.next_mid[atomicAdd(g.counters + N_MID, 1u)] = node;
    else
        g.next_large[atomicAdd(g.counters + N_LARGE, 1u)] = node;
}

DEVICE void open_children(const Growth& g, Children& children, u32 first, u32 middle, u32 last) {
    children.left.first = first;
    children.left.last = children.right.first = middle;
    children.right.last = last;
    if (children.has_left) open_node(g, children.left);
    if (children.has_right) open_node(g, children.right);
}

// Adds rows [first, last) of a node to the counters of several features, which are `max_codes`
// apart. With `in_blocks`, only rows whose codes are in the block. Neighbouring threads take the
// features of one row, whose codes are one line of memory, and each thread takes several rows, so
// that more than one line is in flight.
#define ROWS_AT_ONCE 4
template <class Counter>
DEVICE void count_rows(const Growth& g, const u32* rows, u32 first, u32 last, const u16* features,
                       i32 n_features, Counter* counters, bool in_blocks = false) {
    const u32 width = n_features > 16 ? 32 : n_features > 8 ? 16 : n_features > 4 ? 8 : 4;
    const u32 step = blockDim.x / width;
    for (i32 k = (i32)(threadIdx.x % width); k < n_features; k += (i32)width) {
        const CODE* codes = g.codes + features[k];
        Counter* own = counters + k * g.max_codes;
        for (u32 i = first + threadIdx.x / width; i < last; i += ROWS_AT_ONCE * step) {
            u32 row[ROWS_AT_ONCE], code[ROWS_AT_ONCE];
            for (u32 j = 0; j < ROWS_AT_ONCE; ++j) {
                row[j] = i + j * step < last ? rows[i + j * step] : 0;  // 0: no row (no repeats)
                if (in_blocks && !is_in(g.block, row[j] >> ROW_SHIFT)) row[j] = 0;
            }
            for (u32 j = 0; j < ROWS_AT_ONCE; ++j)
                code[j] = row[j] ? codes[(i64)(row[j] >> ROW_SHIFT) * g.stride] : 0;
            for (u32 j = 0; j < ROWS_AT_ONCE; ++j)
                if (row[j]) add_units(own + code[j], (row[j] & LABEL_BIT) != 0, units_of(g, row[j]));
        }
    }
}

template <class Counter>
DEVICE void clear(Counter* counters, i64 n) {
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) counters[i] = {};
}

// Partitions rows [first, last) by a test: rows that pass it are written from `to_left` upwards,
// the others from `to_right` downwards; the cursors count them. The order within a part does not
// matter, because rows only contribute to sums of integers.
DEVICE void partition_rows(const Growth& g, const u32* from, u32* to, u32 first, u32 last,
                      const Split& split, u32 to_left, u32 to_right, u32* n_left, u32* n_right,
                      bool in_blocks = false) {
    const u32 start = first + (threadIdx.x & ~31u);
    for (u32 base = start; base < last; base += blockDim.x) {
        const u32 i = base + lane_of();
        const u32 row = i < last ? from[i] : 0;
        const bool is_row = i < last && (!in_blocks || is_in(g.block, row >> ROW_SHIFT));
        const bool left = is_row && goes_left(split, codes_of(g, row)[split.feature]);
        const u32 lefts = __ballot_sync(FULL_WARP, left);
        const u32 rights = __ballot_sync(FULL_WARP, is_row && !left);
        u32 left_at = 0, right_at = 0;
        if (lane_of() == 0) {
            left_at = atomicAdd(n_left, (u32)__popc(lefts));
            right_at = atomicAdd(n_right, (u32)__popc(rights));
        }
        left_at = __shfl_sync(FULL_WARP, left_at, 0);
        right_at = __shfl_sync(FULL_WARP, right_at, 0);
        const u32 below = (1u << lane_of()) - 1;
        if (left) to[to_left + left_at + __popc(lefts & below)] = row;
        if (is_row && !left) to[to_right - 1 - right_at - __popc(rights & below)] = row;
    }
}
