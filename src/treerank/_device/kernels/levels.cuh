// Searches the levels of a category with one warp, like best_levels in src/core/split/criterion.hpp
// and random_levels in random_split.hpp.
struct Levels {
    i32 code[MAX_LEVELS];   // ascending
    i32 order[MAX_LEVELS];  // best first
    ClassWeight weight[MAX_LEVELS];
    ClassWeight believed[MAX_LEVELS];
    ClassWeight left[MAX_LEVELS];  // cumulative sums in this order
    ClassWeight believed_left[MAX_LEVELS];
    ClassWeight believed_node;
    i32 is_believed, unused;
};
static_assert(sizeof(Levels) == 18456, "the host allocates this much memory");

DEVICE Levels* levels_of(const Growth& g) {
    return (Levels*)g.levels + warp_number();
}

template <class Counter>
DEVICE i32 list_levels(const Counter* counters, i32 n_codes, Levels* levels) {
    i32 n = 0;
    for (i32 start = 0; start < n_codes; start += 32) {
        const i32 code = start + (i32)lane_of();
        const bool occurs = code < n_codes && !is_empty(counters[code]);
        const u32 found = __ballot_sync(FULL_WARP, occurs);
        if (occurs) {
            const i32 at = n + __popc(found & ((1u << lane_of()) - 1));
            levels->code[at] = code;
            levels->weight[at] = weight_of(count_of(counters[code]));
        }
        n += __popc(found);
    }
    __syncwarp();
    return n;
}

// Shrinks the weights of the levels (shared/level_evidence.hpp). Called by one lane, which sums in
// their order.
DEVICE void believe(Levels* levels, i32 n, const CutSearch& search) {
    const double share = search.node.positive / total_of(search.node);
    LevelEvidence evidence;
    for (i32 i = 0; i < n; ++i) {
        const double total = total_of(levels->weight[i]);
        evidence.add(total / search.independent_weight,
                     (levels->weight[i].positive - share * total) / search.independent_weight);
    }
    double smoothing = evidence.smoothing(share * (1 - share));
    levels->is_believed = smoothing != LevelEvidence::kNone;
    if (!levels->is_believed) return;
    smoothing *= search.independent_weight;
    levels->believed_node = {0, 0};
    for (i32 i = 0; i < n; ++i) {
        ClassWeight weight = levels->weight[i];
        if (smoothing != 0) {
            const double total = total_of(weight), expected = share * total;
            weight.positive = expected + (weight.positive - expected) * total / (total + smoothing);
            weight.negative = total - weight.positive;
        }
        levels->believed[i] = weight;
        levels->believed_node = plus(levels->believed_node, weight);
    }
}

DEVICE void take_levels(const Levels* levels, i32 n, i32 n_left, ClassWeight left, double gain,
                        i32 n_codes, i32 feature, const CutSearch& search, Split& best) {
    if (!(gain > best.gain)) return;
    Split found = {};
    found.gain = gain;
    found.feature = feature;
    found.categorical = 1;
    found.left = left;
    // Levels that do not occur in the node follow the larger side.
    const bool others_left = 2 * total_of(left) >= total_of(search.node);
    for (i32 w = 0; w < MAX_LEVELS / 64; ++w) {
        const i32 bits = n_codes - 64 * w;
        const u64 all = bits >= 64 ? ~0ull : bits <= 0 ? 0 : (1ull << bits) - 1;
        found.set.words[w] = others_left ? all : 0;
    }
    for (i32 i = 0; i < n; ++i) {
        const i32 code = levels->code[levels->order[i]];
        const u64 bit = 1ull << (code & 63);
        if (i < n_left)
            found.set.words[code >> 6] |= bit;
        else
            found.set.words[code >> 6] &= ~bit;
    }
    found.missing_left = contains(found.set, 0);
    keep(found, best);
}

SELDOM void search_levels(Levels* levels, i32 n, i32 n_codes, i32 feature, CutSearch search,
                          Split& best) {
    if (n < 2) return;
    if (lane_of() == 0) believe(levels, n, search);
    __syncwarp();
    if (!levels->is_believed) return;
    for (i32 i = (i32)lane_of(); i < n; i += 32) {
        const ClassWeight mine = levels->believed[i];
        i32 rank = 0;
        for (i32 j = 0; j < n; ++j) {
            const ClassWeight other = levels->believed[j];
            const double theirs = other.positive * mine.negative;
            const double own = mine.positive * other.negative;
            rank += theirs != own ? theirs > own : j < i;
        }
        levels->order[rank] = i;
    }
    __syncwarp();
    if (lane_of() == 0) {
        ClassWeight left = {0, 0}, believed_left = {0, 0};
        for (i32 i = 0; i < n; ++i) {
            left = plus(left, levels->weight[levels->order[i]]);
            believed_left = plus(believed_left, levels->believed[levels->order[i]]);
            levels->left[i] = left;
            levels->believed_left[i] = believed_left;
        }
    }
    __syncwarp();
    CutSearch believing = search;
    believing.node = levels->believed_node;
    LaneCut mine = {0, 0, 0x7fffffff, {0, 0}};
    for (i32 i = (i32)lane_of(); i + 1 < n; i += 32) {
        if (!admissible(search, levels->left[i])) continue;
        const double gain = gain_of(believing, levels->believed_left[i]);
        if (gain > mine.gain) mine = {gain, 0, i, levels->left[i]};
    }
    const LaneCut cut = best_of_lanes(mine);
    take_levels(levels, n, cut.code + 1, cut.left, cut.gain, n_codes, feature, search, best);
    __syncwarp();
}

// Sends each level left or right by a random bit, with at least one level on either side.
SELDOM void search_random_levels(Levels* levels, i32 n, i32 n_codes, i32 feature, u64 node_key,
                                 CutSearch search, Split& best) {
    if (n < 2) return;
    const u64 key = key_of(node_key, RANDOM_CUT_BRANCH + (u64)feature);
    i32 ones = 0;
    for (i32 i = 0; i < n; ++i) ones += (i32)(key_of(key, (u64)levels->code[i]) >> 63);
    const i32 turned = ones == 0 || ones == n ? (i32)uniform_below(mix(key), (u32)n) : -1;
    ClassWeight left = {0, 0};
    i32 n_left = 0;
    for (i32 side = 1; side >= 0; --side) {
        i32 at = side == 1 ? 0 : n_left;
        for (i32 i = 0; i < n; ++i) {
            const i32 own = (i32)(key_of(key, (u64)levels->code[i]) >> 63) ^ (i == turned);
            if (own != side) continue;
            if (side == 1) left = plus(left, levels->weight[i]);
            if (lane_of() == 0) levels->order[at] = i;
            ++at;
        }
        if (side == 1) n_left = at;
    }
    __syncwarp();
    if (admissible(search, left))
        take_levels(levels, n, n_left, left, gain_of(search, left), n_codes, feature, search, best);
    __syncwarp();
}

// Searches the listed levels of a category and updates the best test so far.
DEVICE void consider_levels(const Growth& g, i32 n, i32 feature, const Node& node,
                            const Trial& trial, const CutSearch& search, Split& best) {
    Levels* levels = levels_of(g);
    const i32 n_codes = g.n_codes[feature];
    if (trial.random_cuts)
        search_random_levels(levels, n, n_codes, feature, node.key, search, best);
    else
        search_levels(levels, n, n_codes, feature, search, best);
}

// Searches one feature of a node that has a histogram. The node, the trial and the best test so far
// are in shared memory: copies of them would take registers that the search needs.
template <class Counter>
DEVICE void consider(const Growth& g, const Counter* counters, i32 feature, const Node& node,
                     const Trial& trial, Split& best) {
    const i32 n_codes = g.n_codes[feature];
    const CutSearch search = search_of(g, node, trial, feature);
    if (!PLAIN && g.categorical[feature]) {
        const i32 n = list_levels(counters, n_codes, levels_of(g));
        consider_levels(g, n, feature, node, trial, search, best);
    } else if (!PLAIN && trial.random_cuts) {
        search_random_cut(counters, n_codes, feature, node.key, search, best);
    } else {
        search_cuts(counters, n_codes, feature, search, best);
    }
}
