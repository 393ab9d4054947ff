// The feature draws of a node (shared/random.hpp), as in the core (core/data/random.hpp).
#define RANDOM_CUT_BRANCH (1ull << 32)

// Draws the features of a node with one warp, in ascending order: all, as many as configured or, at
// a later attempt, the next one. `lists` is a buffer for two lists of features. Returns their
// number, 0 if none is left.
DEVICE i32 draw_features(const Growth& g, const Trial& trial, u64 key, i32 attempt, u16* lists,
                         const u16** drawn) {
    const u16* features = g.trial_features + trial.first_feature;
    const i32 n = (i32)trial.n_features, wanted = (i32)g.max_features;
    if (wanted < 0 || wanted >= n) {
        *drawn = features;
        return attempt == 0 ? n : 0;
    }
    const i32 first = attempt == 0 ? 0 : wanted + attempt - 1;
    const i32 k = attempt == 0 ? wanted : 1;
    if (first >= n) return 0;
    u16* sorted = lists + n;
    const i32 n_swaps = first + k < n ? first + k : n - 1;
    for (i32 i = (i32)lane_of(); i < n; i += 32) lists[i] = features[i];
    for (i32 i = (i32)lane_of(); i < n_swaps; i += 32)
        sorted[i] = (u16)(i + (i32)uniform_below(key_of(key, (u64)i), (u32)(n - i)));
    __syncwarp();
    if (lane_of() == 0) {
        for (i32 i = 0; i < n_swaps; ++i) {
            const i32 other = sorted[i];
            const u16 kept = lists[i];
            lists[i] = lists[other];
            lists[other] = kept;
        }
    }
    __syncwarp();
    for (i32 i = (i32)lane_of(); i < k; i += 32) {
        const u16 mine = lists[first + i];
        i32 rank = 0;
        for (i32 j = 0; j < k; ++j) rank += lists[first + j] < mine;
        sorted[rank] = mine;
    }
    __syncwarp();
    *drawn = sorted;
    return k;
}
