// What a fit needs of its rows besides growth: hashes of their content, selections of rows, and the
// class weights of held-out rows in the cells of trees that have not seen them.

// Like src/core/data/folds.cpp; codes are column-major.
KERNEL hash_rows(const CODE* codes, i64 n, i64 n_features, const u8* labels, u64 seed,
                 u64* hashes) {
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        u64 hash = key_of(seed, labels[i]);
        for (i64 f = 0; f < n_features; ++f) hash = mix(hash ^ codes[f * n + i]);
        hashes[i] = hash;
    }
}

// Copies the given rows, column-major like the table.
KERNEL take_rows(const CODE* codes, i64 n_all, i64 n_features, const u32* rows, i64 n, CODE* out) {
    const i64 step = (i64)gridDim.x * blockDim.x, size = n * n_features;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += step)
        out[i] = codes[i / n * n_all + rows[i % n]];
}

// The trees of all folds, concatenated. The target of a slot without a test is its cell.
struct FoldTrees {
    const Slot* slots;
    const i32* targets;  // the category set of a test, or the cell at an end
    const CategorySet* sets;
    const i64* first_slot;
    const i64* first_set;
    const i64* first_cell;
};

// Like src/core/tree/flat_tree.cpp: adds the weight of each row to its class in the cell that the
// row reaches in the tree of its fold. Codes are row-major. At most one of `repeats` and `units` is
// given.
KERNEL weigh_held_out(const CODE* codes, i64 stride, RowBlock block, const i32* folds,
                      const u8* labels, const u8* repeats, const i64* units, FoldTrees trees,
                      i32 n_classes, u64* weights) {
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = block.first + (i64)blockIdx.x * blockDim.x + threadIdx.x; i < block.last;
         i += step) {
        const u64 weight = repeats ? repeats[i] : units ? (u64)units[i] : 1;
        if (weight == 0) continue;
        const i32 fold = folds[i];
        const Slot* slots = trees.slots + trees.first_slot[fold];
        const i32* targets = trees.targets + trees.first_slot[fold];
        const CategorySet* sets = trees.sets + trees.first_set[fold];
        const CODE* row = codes + i * stride;
        u32 at = 0;
        for (;;) {
            const Slot slot = slots[at];
            const u32 to = slot.next & NEXT_MASK;
            const u16 code = row[slot.feature];
            const u32 next = slot.next >> 31
                                 ? to + !contains(sets[targets[at]], code)
                                 : to + ((u16)(code - ((slot.next >> 30) & 1)) > slot.cut);
            if (next == at) break;
            at = next;
        }
        const i64 cell = trees.first_cell[fold] + targets[at];
        atomicAdd(weights + cell * n_classes + labels[i], weight);
    }
}
