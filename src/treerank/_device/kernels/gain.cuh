// What a cut gains: the core's src/core/split/criterion.hpp, operation by operation.
enum Criterion { GINI, ENTROPY, AUC, HELLINGER };

struct Search {
    i32 criterion, monotonic;
    ClassWeight node;
    double positive_cost, negative_cost, min_weight_leaf, independent_weight, lower, upper;
};

DEVICE Search search_of(const Growth& g, const Node& node, const Trial& trial) {
    Search search;
    search.criterion = (i32)g.criterion;
    search.monotonic = 0;
    search.node = {node.negative, node.positive};
    search.positive_cost = trial.cell_negative;
    search.negative_cost = trial.cell_positive;
    search.min_weight_leaf = g.min_weight_leaf;
    search.independent_weight = g.independent_weight;
    search.lower = node.lower;
    search.upper = node.upper;
    return search;
}

DEVICE double x_log2_x(double x) {
    if (x <= 0) return 0;
    const u64 bits = (u64)__double_as_longlong(x);
    i64 exponent = (i64)(bits >> 52) - 1023;
    double mantissa =
        __longlong_as_double((i64)((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull));
    if (mantissa > 1.4142135623730951) {
        mantissa *= 0.5;
        ++exponent;
    }
    const double t = (mantissa - 1) / (mantissa + 1);
    const double t2 = t * t;
    double series = 0;
    for (int k = 19; k >= 1; k -= 2) series = series * t2 + 1.0 / k;
    const double two_over_ln2 = 2.8853900817779268;
    return x * ((double)exponent + two_over_ln2 * t * series);
}

DEVICE double entropy_weight(const Search& search, ClassWeight weight) {
    const double positive = search.positive_cost * weight.positive;
    const double negative = search.negative_cost * weight.negative;
    return x_log2_x(positive + negative) - x_log2_x(positive) - x_log2_x(negative);
}

DEVICE double hellinger_distance(ClassWeight left, ClassWeight right) {
    const double positive = left.positive + right.positive;
    const double negative = left.negative + right.negative;
    const double one = sqrt(left.positive / positive) - sqrt(left.negative / negative);
    const double other = sqrt(right.positive / positive) - sqrt(right.negative / negative);
    return one * one + other * other;
}

SELDOM double gain_by_entropy(Search search, ClassWeight left, double node_cost) {
    const ClassWeight node = search.node;
    if (search.criterion == HELLINGER)
        return node_cost * hellinger_distance(left, less(node, left));
    const double gain = entropy_weight(search, node) - entropy_weight(search, left) -
                        entropy_weight(search, less(node, left));
    return gain > node_cost * 1e-12 ? gain : 0;
}

// What a cut gains, 0 where that is nothing. Gini cuts that cannot gain more than `bar` are spared
// the division: the slack covers the rounding of both sides.
DEVICE double gain_above(const Search& search, ClassWeight left, double bar) {
    const ClassWeight node = search.node;
    const double difference = left.positive * node.negative - node.positive * left.negative;
    if (search.criterion == AUC) return fabs(difference);
    const double left_cost =
        search.positive_cost * left.positive + search.negative_cost * left.negative;
    const double node_cost =
        search.positive_cost * node.positive + search.negative_cost * node.negative;
    const double product = left_cost * (node_cost - left_cost);
    if (difference == 0 || product <= 0) return 0;
    if (search.criterion != GINI) return gain_by_entropy(search, left, node_cost);
    const double square = difference * difference;
    return square > bar * (1 - 1e-9) * product ? square / product : 0;
}
DEVICE double gain_of(const Search& search, ClassWeight left) {
    return gain_above(search, left, 0);
}

DEVICE double bounded_value(const Search& search, ClassWeight weight) {
    const double positive = search.positive_cost * weight.positive;
    const double negative = search.negative_cost * weight.negative;
    const double value = positive / (positive + negative);
    return value < search.lower ? search.lower : search.upper < value ? search.upper : value;
}

SELDOM bool keeps_order(Search search, ClassWeight left, ClassWeight right) {
    const double rise = bounded_value(search, right) - bounded_value(search, left);
    return rise * search.monotonic >= 0;
}

DEVICE bool admissible(const Search& search, ClassWeight left) {
    const ClassWeight right = less(search.node, left);
    if (total_of(left) < search.min_weight_leaf || total_of(right) < search.min_weight_leaf)
        return false;
    return search.monotonic == 0 || keeps_order(search, left, right);
}

// The best test so far of a node.
struct Split {
    double gain;  // 0: none
    i32 feature, cut, missing_left, categorical;
    ClassWeight left;
    CategorySet set;
};

// The better of two, of the lower feature on ties.
DEVICE bool is_better(const Split& one, const Split& other) {
    return one.gain > other.gain || (one.gain == other.gain && one.gain > 0 &&
                                     one.feature < other.feature);
}

DEVICE bool contains(const CategorySet& set, u32 code) {
    return (set.words[(code >> 6) & 3] >> (code & 63)) & 1;
}
DEVICE bool goes_left(const Split& split, u32 code) {
    if (split.categorical) return contains(split.set, code);
    return code == 0 ? split.missing_left != 0 : (i32)code <= split.cut;
}
