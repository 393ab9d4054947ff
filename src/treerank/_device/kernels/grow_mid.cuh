// Mid-sized nodes: one block counts, searches and partitions a node, with its histogram in shared
// memory.
#define MID_WARPS 4
#ifndef MID_BLOCKS
#define MID_BLOCKS 8  // minimum of resident blocks per multiprocessor
#endif

struct MidState {
    Node node;
    Trial trial;
    Split best[MID_WARPS];
    Children children;
    u32 n_left, n_right;
    const u16* features;
    i32 n_drawn;
    u16 lists[2 * SHARED_FEATURES];
};

// Moves the best test of all warps to the front, and makes its record and children. Called by one
// thread.
DEVICE void finish_search(const Growth& g, MidState& state) {
    const i32 n_warps = (i32)(blockDim.x >> 5);
    for (i32 w = 1; w < n_warps; ++w)
        if (is_better(state.best[w], state.best[0])) state.best[0] = state.best[w];
    state.n_left = state.n_right = 0;
    if (!(state.best[0].gain > 0)) return;
    const CutSearch search = search_of(g, state.node, state.trial);
    state.children = make_children(g, state.node, state.trial, search, state.best[0]);
    write_record(g, state.node, state.trial, state.best[0], state.children);
}

// Searches the features that an attempt draws. Counters are kept for `at_once` of them at a time.
DEVICE void search_mid(const Growth& g, MidState& state, i32 attempt, BlockCount* counters,
                       i32 at_once) {
    if (warp_of() == 0) {
        const u16* drawn = 0;
        const i32 n_drawn = draw_features(g, state.trial, state.node.key, attempt,
                                          lists_of(g, state.lists), &drawn);
        if (lane_of() == 0) {
            state.features = drawn;
            state.n_drawn = n_drawn;
        }
    }
    if (lane_of() == 0) state.best[warp_of()] = {};
    __syncthreads();
    const Node& node = state.node;
    const i32 n_drawn = state.n_drawn, n_warps = (i32)(blockDim.x >> 5);
    for (i32 first = 0; first < n_drawn; first += at_once) {
        const u16* features = state.features + first;
        const i32 k = n_drawn - first < at_once ? n_drawn - first : at_once;
        clear(counters, k * g.max_codes);
        __syncthreads();
        count_rows(g, g.rows[node.buffer], node.first, node.last, features, k, counters);
        __syncthreads();
        for (i32 f = (i32)warp_of(); f < k; f += n_warps)
            consider(g, counters + f * g.max_codes, features[f], node, state.trial,
                     state.best[warp_of()]);
        __syncthreads();
    }
    if (threadIdx.x == 0) finish_search(g, state);
    __syncthreads();
}

// `n_together`: the number of features whose counters fit in shared memory together; 0: not even
// one.
KERNEL BOUNDS(MID_WARPS * 32, MID_BLOCKS) grow_mid(Growth g, const Node* nodes, i32 n_nodes, i32 n_together) {
    __shared__ MidState state;
    DYNAMIC_SHARED(shared_words);
    const bool is_shared = n_together > 0;
    BlockCount* counters = is_shared ? (BlockCount*)shared_words
                                     : (BlockCount*)g.wide_histograms + blockIdx.x * g.max_codes;
    for (i32 b = (i32)blockIdx.x; b < n_nodes; b += (i32)gridDim.x) {
        if (threadIdx.x == 0) {
            state.node = nodes[b];
            state.trial = g.trials[state.node.trial];
        }
        __syncthreads();
        const Split& split = state.best[0];
        for (i32 attempt = 0;; ++attempt) {
            search_mid(g, state, attempt, counters, is_shared ? n_together : 1);
            if (split.gain > 0 || state.n_drawn == 0) break;
            __syncthreads();
        }
        if (split.gain > 0 && (state.children.has_left || state.children.has_right)) {
            const Node& node = state.node;
            partition_rows(g, g.rows[node.buffer], g.rows[1 - node.buffer], node.first, node.last,
                           split, node.first, node.last, &state.n_left, &state.n_right);
            __syncthreads();
            if (threadIdx.x == 0)
                open_children(g, state.children, node.first, node.first + state.n_left, node.last);
        }
        __syncthreads();
    }
}
