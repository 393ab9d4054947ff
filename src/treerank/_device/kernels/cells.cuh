// Rows of cells: packed, put into the trials of their cells, and partitioned by the winning splits.
struct CellRows {
    u32 first, last;  // a range of one of the two cell buffers
    i32 buffer, first_test, first_set;
    u32 to_first, to_last;  // where its halves, or the rows of its trial, are written
    i32 worse, better;      // the classes of a trial
    u32 n_left, n_right;
    i32 unused;
};

// A node of a LeafRank tree in the layout of the core.
struct Test {
    i32 feature, cut;
    u8 categorical, missing_left;
    u16 unused;
    i32 left, right, side;
    double negative, positive;
};

DEVICE u32 append(bool keeps, u32* cursor) {
    const u32 kept = __ballot_sync(FULL_WARP, keeps);
    u32 at = 0;
    if (lane_of() == 0) at = atomicAdd(cursor, (u32)__popc(kept));
    return __shfl_sync(FULL_WARP, at, 0) + __popc(kept & ((1u << lane_of()) - 1));
}

// Packs the rows of a tree that count: with `repeats` (null: 1 each) and, with WIDE, weights above
// 0.
KERNEL pack_rows(const u8* labels, const u8* repeats, const i64* units, i64 n, u32* rows,
                 u32* n_rows) {
    const i64 stride = (i64)gridDim.x * blockDim.x;
    for (i64 base = (i64)blockIdx.x * blockDim.x + (threadIdx.x & ~31u); base < n; base += stride) {
        const i64 i = base + lane_of();
        const u32 repeat = i < n ? (repeats ? repeats[i] : 1) : 0;
        const bool counts = repeat > 0 && (!units || units[i] > 0);
        const u32 at = append(counts, n_rows);
        if (counts) rows[at] = ((u32)i << ROW_SHIFT) | (labels[i] != 0 ? LABEL_BIT : 0) | repeat;
    }
}

// Copies the rows of a cell that belong to the two classes of a trial, with their label bits set
// accordingly. Each entry of `ranges` is a job and a first row. With two classes, all rows are
// copied.
KERNEL place_trials(const u8* labels, CellRows* jobs, const uint2* ranges, i32 rows_per_block,
                    const u32* cells0, const u32* cells1, u32* out) {
    const uint2 range = ranges[blockIdx.x];
    CellRows& job = jobs[range.x];
    const u32* from = job.buffer ? cells1 : cells0;
    const u32 end = range.y + rows_per_block < job.last ? range.y + rows_per_block : job.last;
    for (u32 base = range.y + (threadIdx.x & ~31u); base < end; base += blockDim.x) {
        const u32 i = base + lane_of();
        u32 row = i < end ? from[i] : 0;
        const i32 label = i < end ? labels[row >> ROW_SHIFT] : -1;
        const bool is_one = label == job.worse || label == job.better;
        row = (row & ~LABEL_BIT) | (label == job.better ? LABEL_BIT : 0);
        const u32 at = append(is_one, &job.n_left);
        if (is_one) out[job.to_first + at] = row;
    }
}

DEVICE i32 walk(const CODE* codes, const Test* tests, const CategorySet* sets) {
    i32 at = 0;
    while (tests[at].left >= 0) {
        const Test test = tests[at];
        const u32 code = codes[test.feature];
        const bool left = test.categorical ? contains(sets[test.cut], code)
                          : code == 0      ? test.missing_left != 0
                                           : (i32)code <= test.cut;
        at = left ? test.left : test.right;
    }
    return at;
}

// Partitions the rows of split cells by the side of the leaf that each row reaches. Only handles
// rows whose codes are in the block.
KERNEL partition_cells(const CODE* codes, i64 stride, RowBlock block, CellRows* jobs,
                  const uint2* ranges, i32 rows_per_block, const Test* tests,
                  const CategorySet* sets, u32* cells0, u32* cells1) {
    const uint2 range = ranges[blockIdx.x];
    CellRows& job = jobs[range.x];
    const u32* from = job.buffer ? cells1 : cells0;
    u32* to = job.buffer ? cells0 : cells1;
    const u32 end = range.y + rows_per_block < job.last ? range.y + rows_per_block : job.last;
    for (u32 base = range.y + (threadIdx.x & ~31u); base < end; base += blockDim.x) {
        const u32 i = base + lane_of();
        const u32 row = i < end ? from[i] : 0;
        const bool is_row = i < end && is_in(block, row >> ROW_SHIFT);
        const Test* own = tests + job.first_test;
        bool left = false;
        if (is_row)
            left = own[walk(codes + (i64)(row >> ROW_SHIFT) * stride, own, sets + job.first_set)]
                       .side == 0;
        const u32 left_at = append(left, &job.n_left);
        const u32 right_at = append(is_row && !left, &job.n_right);
        if (left) to[job.to_first + left_at] = row;
        if (is_row && !left) to[job.to_last - 1 - right_at] = row;
    }
}

// Adds the weight of every row of a cell to its class in the leaf of a trial that the row reaches.
KERNEL weigh_trials(const CODE* codes, i64 stride, RowBlock block, const u8* labels,
                    const i64* units, const CellRows* jobs, const uint2* ranges,
                    i32 rows_per_block, const Test* tests, const CategorySet* sets,
                    const u32* cells0, const u32* cells1, i32 n_classes, u64* weights) {
    const uint2 range = ranges[blockIdx.x];
    const CellRows& job = jobs[range.x];
    const u32* from = job.buffer ? cells1 : cells0;
    const u32 end = range.y + rows_per_block < job.last ? range.y + rows_per_block : job.last;
    for (u32 i = range.y + threadIdx.x; i < end; i += blockDim.x) {
        const u32 row = from[i], id = row >> ROW_SHIFT;
        if (!is_in(block, id)) continue;
        const i32 at = walk(codes + (i64)id * stride, tests + job.first_test, sets + job.first_set);
        const u64 repeat = row & REPEAT_MASK;
        atomicAdd(weights + (i64)(job.first_test + at) * n_classes + labels[id],
                  units ? (u64)units[id] * repeat : repeat);
    }
}

// Transposes codes from column-major to row-major.
KERNEL transpose(const CODE* columns, i64 n, i64 first, i64 n_features, i64 stride, i64 n_all,
                 CODE* rows) {
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        for (i64 f = 0; f < n_features; ++f)
            rows[(first + i) * stride + f] = columns[f * n_all + i];
}

// Sums the weight of each class over packed rows. `weights` must be 0 initially.
KERNEL weigh_classes(const u8* labels, const i64* units, const u32* rows, i64 n, i32 n_classes,
                     u64* weights) {
    __shared__ u64 sums[32];
    if (threadIdx.x < 32) sums[threadIdx.x] = 0;
    __syncthreads();
    const i64 stride = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        const u32 row = rows[i], id = row >> ROW_SHIFT;
        const u64 repeat = row & REPEAT_MASK;
        atomicAdd(sums + labels[id], units ? (u64)units[id] * repeat : repeat);
    }
    __syncthreads();
    if ((i32)threadIdx.x < n_classes) atomicAdd(weights + threadIdx.x, sums[threadIdx.x]);
}
