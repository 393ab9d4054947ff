// The gain of a cut. Shared by the core and the GPU kernels, which must agree to the bit: the core
// includes it in its namespace (core/split/gain.hpp), a device compiles it with the kernels. So it
// is C++17 without the standard library and contains nothing about threads. Both define
// ClassWeight; SELDOM is "inline" or, on a device, keeps code that few fits need from being
// inlined.
enum class Criterion { kGini, kEntropy, kAuc, kHellinger };

// What the search for the best cut of a node needs to know. The costs give both classes the same
// weight within the cell (LeafRank's weighted classification, in "Adaptive partitioning schemes for
// bipartite ranking"): a positive costs the cell's negatives, a negative the cell's positives.
// Counts do not include costs, so that histograms of children and of row blocks add up.
struct CutSearch {
    Criterion criterion = Criterion::kGini;
    int monotonic = 0;  // the sign of a monotone constraint; 0: none
    ClassWeight node = {0, 0};
    double positive_cost = 1;
    double negative_cost = 1;
    double min_weight_leaf = 1;
    double independent_weight = 1;  // units of weight per independent row
    double lower = 0;               // bounds on the node's value (monotone constraints)
    double upper = 1;

    double cost(ClassWeight weight) const {
        return positive_cost * weight.positive + negative_cost * weight.negative;
    }
    ClassWeight other_side(ClassWeight left) const {
        return {node.negative - left.negative, node.positive - left.positive};
    }
};

// x log2(x), by the series of atanh: bit-identical wherever doubles are IEEE 754.
inline double x_log2_x(double x) {
    if (x <= 0) return 0;
    const u64 bits = bits_of(x);
    i64 exponent = (i64)(bits >> 52) - 1023;
    double mantissa = double_of((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);
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

inline double entropy_weight(const CutSearch& search, ClassWeight weight) {
    const double positive = search.positive_cost * weight.positive;
    const double negative = search.negative_cost * weight.negative;
    return x_log2_x(positive + negative) - x_log2_x(positive) - x_log2_x(negative);
}

// The squared Hellinger distance between the distributions of the two classes over the sides of a
// cut. It depends on the shares within each class only, not on the sizes of the classes (Cieslak
// and Chawla 2008).
inline double hellinger_distance(ClassWeight left, ClassWeight right) {
    const double positive = left.positive + right.positive;
    const double negative = left.negative + right.negative;
    const double one = sqrt(left.positive / positive) - sqrt(left.negative / negative);
    const double other = sqrt(right.positive / positive) - sqrt(right.negative / negative);
    return one * one + other * other;
}

// The gain by a criterion other than Gini and AUC. The class shares of the two sides must differ.
SELDOM double other_gain(CutSearch search, ClassWeight left, double node_cost) {
    const ClassWeight right = search.other_side(left);
    if (search.criterion == Criterion::kHellinger)
        return node_cost * hellinger_distance(left, right);
    const double gain = entropy_weight(search, search.node) - entropy_weight(search, left) -
                        entropy_weight(search, right);
    return gain > node_cost * 1e-12 ? gain : 0;
}

// Returns the gain of a cut by the criterion; 0 if it gains nothing. For a Gini cut that cannot
// gain more than `bar`, 0 may be returned without a division: the slack covers the rounding of both
// sides.
inline double gain_above(const CutSearch& search, ClassWeight left, double bar) {
    const ClassWeight node = search.node;
    const double difference = left.positive * node.negative - node.positive * left.negative;
    if (search.criterion == Criterion::kAuc) return fabs(difference);
    const double left_cost = search.cost(left), node_cost = search.cost(node);
    const double product = left_cost * (node_cost - left_cost);
    if (difference == 0 || product <= 0) return 0;
    if (search.criterion != Criterion::kGini) return other_gain(search, left, node_cost);
    const double square = difference * difference;
    return square > bar * (1 - 1e-9) * product ? square / product : 0;
}
inline double gain_of(const CutSearch& search, ClassWeight left) {
    return gain_above(search, left, 0);
}

// The share of positives if both classes of the cell are given the same weight, clipped to the
// bounds.
inline double bounded_value(const CutSearch& search, ClassWeight weight) {
    const double positive = search.positive_cost * weight.positive;
    const double negative = search.negative_cost * weight.negative;
    const double value = positive / (positive + negative);
    return value < search.lower ? search.lower : search.upper < value ? search.upper : value;
}

SELDOM bool keeps_order(CutSearch search, ClassWeight left, ClassWeight right) {
    const double rise = bounded_value(search, right) - bounded_value(search, left);
    return rise * search.monotonic >= 0;
}

inline bool admissible(const CutSearch& search, ClassWeight left) {
    const ClassWeight right = search.other_side(left);
    if (left.negative + left.positive < search.min_weight_leaf ||
        right.negative + right.positive < search.min_weight_leaf)
        return false;
    return search.monotonic == 0 || keeps_order(search, left, right);
}
