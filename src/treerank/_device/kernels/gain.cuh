// The search's view of a node (shared/gain.hpp), and the best test so far.
DEVICE CutSearch search_of(const Growth& g, const Node& node, const Trial& trial,
                           i32 feature = -1) {
    CutSearch search;
    search.criterion = PLAIN ? Criterion::kGini : (Criterion)g.criterion;
    search.monotonic = PLAIN || feature < 0 ? 0 : g.monotonic[feature];
    search.node = {node.negative, node.positive};
    search.positive_cost = trial.cell_negative;
    search.negative_cost = trial.cell_positive;
    search.min_weight_leaf = g.min_weight_leaf;
    search.independent_weight = g.independent_weight;
    search.lower = node.lower;
    search.upper = node.upper;
    return search;
}

struct Split {
    double gain;  // 0: no split
    i32 feature, cut, missing_left, categorical;
    ClassWeight left;
    CategorySet set;
};

// Whether the first split is better; on ties the lower feature is.
DEVICE bool is_better(const Split& one, const Split& other) {
    return one.gain > other.gain || (one.gain == other.gain && one.gain > 0 &&
                                     one.feature < other.feature);
}

DEVICE bool contains(const CategorySet& set, u32 code) {
    return (set.words[(code >> 6) & 3] >> (code & 63)) & 1;
}
DEVICE bool goes_left(const Split& split, u32 code) {
    if (!PLAIN && split.categorical) return contains(split.set, code);
    return code == 0 ? split.missing_left != 0 : (i32)code <= split.cut;
}
