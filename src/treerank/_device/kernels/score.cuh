// Walks rows through the packed trees of a forest, like src/core/tree/forest_score.cpp, one row per
// thread.
struct Slot {
    u32 next;
    u16 feature, cut;
};
#define NEXT_MASK ((1u << 30) - 1)

// Adds the value of each row in one tree after another to its sum, in the order of the trees.
KERNEL score_rows(const CODE* codes, i64 stride, i64 n, const Slot* slots, const float* steps,
                  const i32* set_of, const CategorySet* sets, const i64* starts, const u8* at_end,
                  i32 first_tree, i32 last_tree, double* sums) {
    const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const CODE* row = codes + i * stride;
    double sum = sums[i];
    for (i32 t = first_tree; t < last_tree; ++t) {
        const Slot* tree = slots + starts[t];
        const float* step = steps + starts[t];
        const bool adds = !at_end[t];
        float value = step[0];
        u32 at = 0;
        for (;;) {
            const Slot slot = tree[at];
            const u32 to = slot.next & NEXT_MASK;
            u32 next;
            const u16 code = row[slot.feature];
            if (slot.next >> 31)
                next = to + !contains(sets[set_of[starts[t] + at]], code);
            else
                next = to + ((u16)(code - ((slot.next >> 30) & 1)) > slot.cut);
            if (next == at) break;
            at = next;
            if (adds) value += step[at];
        }
        sum += adds ? value : step[at];
    }
    sums[i] = sum;
}
