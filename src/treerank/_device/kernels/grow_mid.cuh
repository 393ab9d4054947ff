// Mid-sized nodes: one block counts, searches and partitions a node, its histogram in shared memory.
#define MID_WARPS 4
#ifndef MID_BLOCKS
#define MID_BLOCKS 8  // a processor that are at work together, at least
#endif

struct MidState {
    Split best[MID_WARPS];
    Children children;
    Split split;
    u32 n_left, n_right;
    const u16* features;
    i32 n_drawn;
};

// `n_together`: features whose counters fit shared memory at once; 0: not one does.
KERNEL BOUNDS(MID_WARPS * 32, MID_BLOCKS) grow_mid(Growth g, const Node* nodes, i32 n_nodes, i32 n_together) {
    __shared__ MidState state;
    DYNAMIC_SHARED(shared_words);
    const bool is_shared = n_together > 0;
    Count* counters = is_shared ? (Count*)shared_words : g.wide_histograms + blockIdx.x * g.max_codes;
    const i32 at_once = is_shared ? n_together : 1;
    u16* lists = g.draws + (i64)warp_number() * 2 * g.n_features;
    const i32 n_warps = (i32)(blockDim.x >> 5);
    for (i32 b = (i32)blockIdx.x; b < n_nodes; b += (i32)gridDim.x) {
        const Node node = nodes[b];
        const Trial trial = g.trials[node.trial];
        const CutSearch search = search_of(g, node, trial);
        const u32* rows = g.rows[node.buffer];
        for (i32 attempt = 0;; ++attempt) {
            if (warp_of() == 0) {
                const u16* drawn = 0;
                const i32 n_drawn = draw_features(g, trial, node.key, attempt, lists, &drawn);
                if (lane_of() == 0) {
                    state.features = drawn;
                    state.n_drawn = n_drawn;
                }
            }
            Split best = {};
            __syncthreads();
            const u16* features = state.features;
            const i32 n_drawn = state.n_drawn;
            for (i32 first = 0; first < n_drawn; first += at_once) {
                const i32 k = n_drawn - first < at_once ? n_drawn - first : at_once;
                clear(counters, k * g.max_codes);
                __syncthreads();
                count_rows(g, rows, node.first, node.last, features + first, k, counters);
                __syncthreads();
                for (i32 f = (i32)warp_of(); f < k; f += n_warps)
                    consider(g, counters + f * g.max_codes, features[first + f], node, trial,
                             search, best);
                __syncthreads();
            }
            if (lane_of() == 0) state.best[warp_of()] = best;
            __syncthreads();
            if (threadIdx.x == 0) {
                Split split = state.best[0];
                for (i32 w = 1; w < n_warps; ++w)
                    if (is_better(state.best[w], split)) split = state.best[w];
                state.split = split;
                state.n_left = state.n_right = 0;
                if (split.gain > 0) {
                    state.children = make_children(g, node, trial, search, split);
                    write_record(g, node, trial, split, state.children);
                }
            }
            __syncthreads();
            if (state.split.gain > 0 || n_drawn == 0) break;
        }
        if (state.split.gain > 0 && (state.children.has_left || state.children.has_right)) {
            partition_rows(g, rows, g.rows[1 - node.buffer], node.first, node.last, state.split,
                      node.first, node.last, &state.n_left, &state.n_right);
            __syncthreads();
            if (threadIdx.x == 0)
                open_children(g, state.children, node.first, node.first + state.n_left, node.last);
        }
        __syncthreads();
    }
}
