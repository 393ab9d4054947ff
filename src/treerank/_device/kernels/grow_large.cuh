// Large nodes, each shared by many blocks. Features are drawn, rows counted, tests found, rows
// partitioned and children opened, with one launch per step.
#define LARGE_WARPS 8

struct LargeNode {
    Node node;
    Children children;
    Split split;
    u32 n_left, n_right;
    i32 n_drawn, unused;
};
static_assert(sizeof(LargeNode) == 312, "the host allocates this much memory");

KERNEL draw_large(Growth g, const Node* nodes, i32 n_nodes, LargeNode* large, u16* drawn_features,
                  i32 max_drawn) {
    u16* lists = g.draws + (i64)warp_number() * 2 * g.n_features;
    const i32 n_warps = (i32)(gridDim.x * (blockDim.x >> 5));
    for (i32 i = (i32)warp_number(); i < n_nodes; i += n_warps) {
        const Node node = nodes[i];
        const Trial trial = g.trials[node.trial];
        const u16* drawn = 0;
        const i32 n = draw_features(g, trial, node.key, node.attempt, lists, &drawn);
        for (i32 k = (i32)lane_of(); k < n; k += 32) drawn_features[i * max_drawn + k] = drawn[k];
        if (lane_of() == 0) {
            large[i].node = node;
            large[i].n_drawn = n;
            large[i].n_left = large[i].n_right = 0;
        }
        __syncwarp();
    }
}

// Each block counts a range of a node's rows for some of its features. Each entry of `ranges` is a
// node and a first row, `rows_per_block` is so small that MOST_PACKED units are never exceeded, and
// blockIdx.y selects the features.
KERNEL count_large(Growth g, const LargeNode* large, const u16* drawn_features, i32 max_drawn,
                   const uint2* ranges, i32 rows_per_block, i32 n_together, Count* histograms) {
    DYNAMIC_SHARED(shared_words);
    const uint2 range = ranges[blockIdx.x];
    const Node& node = large[range.x].node;
    const i32 n_drawn = large[range.x].n_drawn;
    const i32 at_once = n_together > 0 ? n_together : 1;
    const i32 first = (i32)blockIdx.y * at_once;
    if (first >= n_drawn) return;
    const i32 k = n_drawn - first < at_once ? n_drawn - first : at_once;
    const u16* features = drawn_features + (i64)range.x * max_drawn + first;
    const u32 end = range.y + rows_per_block < node.last ? range.y + rows_per_block : node.last;
    Count* target = histograms + ((i64)range.x * max_drawn + first) * g.max_codes;
    if (n_together == 0) {
        count_rows(g, g.rows[node.buffer], range.y, end, features, k, target, true);
        return;
    }
    BlockCount* counters = (BlockCount*)shared_words;
    clear(counters, k * g.max_codes);
    __syncthreads();
    count_rows(g, g.rows[node.buffer], range.y, end, features, k, counters, true);
    __syncthreads();
    for (i64 i = threadIdx.x; i < k * g.max_codes; i += blockDim.x) {
        const Count count = count_of(counters[i]);
        if (count.negative) add_units(target + i, 0, count.negative);
        if (count.positive) add_units(target + i, 1, count.positive);
    }
}

KERNEL search_large(Growth g, LargeNode* large, const u16* drawn_features, i32 max_drawn,
                    i32 n_nodes, const Count* histograms) {
    __shared__ Split bests[LARGE_WARPS];
    const i32 n_warps = (i32)(blockDim.x >> 5);
    for (i32 b = (i32)blockIdx.x; b < n_nodes; b += (i32)gridDim.x) {
        const Node& node = large[b].node;
        const Trial& trial = g.trials[node.trial];
        const Count* counters = histograms + (i64)b * max_drawn * g.max_codes;
        if (lane_of() == 0) bests[warp_of()] = {};
        __syncwarp();
        for (i32 f = (i32)warp_of(); f < large[b].n_drawn; f += n_warps)
            consider(g, counters + f * g.max_codes, drawn_features[(i64)b * max_drawn + f], node,
                     trial, bests[warp_of()]);
        __syncthreads();
        if (threadIdx.x == 0) {
            Split split = bests[0];
            for (i32 w = 1; w < n_warps; ++w)
                if (is_better(bests[w], split)) split = bests[w];
            large[b].split = split;
            if (split.gain > 0) {
                const CutSearch search = search_of(g, node, trial);
                large[b].children = make_children(g, node, trial, search, split);
                write_record(g, node, trial, split, large[b].children);
            }
        }
        __syncthreads();
    }
}

KERNEL partition_large(Growth g, LargeNode* large, const uint2* ranges, i32 rows_per_block) {
    const uint2 range = ranges[blockIdx.x];
    LargeNode& at = large[range.x];
    if (!(at.split.gain > 0)) return;
    if (!at.children.has_left && !at.children.has_right) return;
    const Node& node = at.node;
    const u32 end = range.y + rows_per_block < node.last ? range.y + rows_per_block : node.last;
    partition_rows(g, g.rows[node.buffer], g.rows[1 - node.buffer], range.y, end, at.split, node.first,
              node.last, &at.n_left, &at.n_right, true);
}

KERNEL open_large(Growth g, LargeNode* large, i32 n_nodes) {
    const i32 i = (i32)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n_nodes) return;
    LargeNode& at = large[i];
    if (at.split.gain > 0) {
        open_children(g, at.children, at.node.first, at.node.first + at.n_left, at.node.last);
    } else if (at.n_drawn > 0) {  // try the next feature, at the next level
        Node node = at.node;
        ++node.attempt;
        open_node(g, node);
    }
}

// Gathers the rows of nodes in a table of their own, in which the rows of a node are numbered from
// its entry in `starts` on. First the codes, one block after another; `row_words`: 4-byte words per
// row.
KERNEL gather_codes(Growth g, const Node* nodes, const uint2* ranges, i32 rows_per_block,
                    const u32* starts, i32 row_words, u32* out) {
    const uint2 range = ranges[blockIdx.x];
    const Node& node = nodes[range.x];
    const u32 end = range.y + rows_per_block < node.last ? range.y + rows_per_block : node.last;
    const u32* rows = g.rows[node.buffer];
    const i64 n_words = (i64)(end - range.y) * row_words;
    for (i64 i = threadIdx.x; i < n_words; i += blockDim.x) {
        const u32 at = range.y + (u32)(i / row_words);
        const u32 row = rows[at];
        if (!is_in(g.block, row >> ROW_SHIFT)) continue;
        const i32 word = (i32)(i % row_words);
        out[(i64)(starts[range.x] + at - node.first) * row_words + word] =
            ((const u32*)codes_of(g, row))[word];
    }
}

// Then the units and the new row numbers.
KERNEL number_gathered(Growth g, const Node* nodes, const uint2* ranges, i32 rows_per_block,
                       const u32* starts, i64* units) {
    const uint2 range = ranges[blockIdx.x];
    const Node& node = nodes[range.x];
    const u32 end = range.y + rows_per_block < node.last ? range.y + rows_per_block : node.last;
    u32* rows = g.rows[node.buffer];
    for (u32 i = range.y + threadIdx.x; i < end; i += blockDim.x) {
        const u32 row = rows[i], number = starts[range.x] + i - node.first;
        if (units) units[number] = g.units[row >> ROW_SHIFT];
        rows[i] = (number << ROW_SHIFT) | (row & (LABEL_BIT | REPEAT_MASK));
    }
}
