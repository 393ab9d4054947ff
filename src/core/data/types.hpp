// The plain structs that the stages pass to each other.
//
// Conventions, stated once:
//   code 0 is "missing"; code i >= 1 means t[i-2] < x <= t[i-1] for a numeric
//   feature with thresholds t, or the i-th level of a categorical one;
//   left is better: a cell's left child is ranked above its right child;
//   weights are sums of sample weights, stored as integers ("units"), so that a
//   sum does not depend on its order, on threads or on row blocks.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

namespace treerank {

// A row of a cell, packed into 32 bits so that one load gives a histogram all it needs: 27 bits of
// row number, 1 bit of label, 4 bits of repeat count.
using Row = std::uint32_t;
inline constexpr int kRowShift = 5;
inline constexpr std::size_t kMaxRows = std::size_t{1} << (32 - kRowShift);
inline constexpr std::int64_t kMaxRepeat = 15;
inline constexpr Row kLabelBit = 16;
inline constexpr Row kRepeatMask = 15;

constexpr Row pack_row(std::uint32_t id, bool positive, std::uint32_t repeat) {
    return (id << kRowShift) | (positive ? kLabelBit : 0) | repeat;
}
constexpr std::uint32_t row_id(Row row) { return row >> kRowShift; }
constexpr Row renumbered(Row row, std::uint32_t id) {
    return (id << kRowShift) | (row & (kLabelBit | kRepeatMask));
}

// Ordered classes, worst first: class 0 is ranked below class 1, and so on.
inline constexpr std::size_t kMaxClasses = 32;

// The weights of the two classes that a split separates.
struct ClassWeight {
    double negative = 0;
    double positive = 0;

    double total() const { return negative + positive; }
    bool pure() const { return negative == 0 || positive == 0; }
    ClassWeight operator+(ClassWeight other) const {
        return {negative + other.negative, positive + other.positive};
    }
    ClassWeight operator-(ClassWeight other) const {
        return {negative - other.negative, positive - other.positive};
    }
};

// Histogram counters. Small integer weights share one 64-bit word (negatives
// low, positives high), which halves the work of counting; other weights are
// fixed-point integers, one word per class.
using PackedCount = std::uint64_t;
struct WideCount {
    std::int64_t negative = 0;
    std::int64_t positive = 0;

    WideCount& operator+=(WideCount other) {
        negative += other.negative;
        positive += other.positive;
        return *this;
    }
    WideCount& operator-=(WideCount other) {
        negative -= other.negative;
        positive -= other.positive;
        return *this;
    }
};

inline WideCount widened(PackedCount count) {
    return {static_cast<std::int64_t>(count & 0xffffffffULL),
            static_cast<std::int64_t>(count >> 32)};
}

// Setting the exponent bits of 2^52 converts an integer below 2^52 to a double with a bit operation
// and a subtraction, which every instruction set can vectorise.
inline double small_integer_to_double(std::uint64_t value) {
    return std::bit_cast<double>(value | 0x4330000000000000ULL) - 4503599627370496.0;
}
inline ClassWeight weight_of(PackedCount count) {
    return {small_integer_to_double(count & 0xffffffffULL), small_integer_to_double(count >> 32)};
}
inline ClassWeight weight_of(WideCount count) {
    return {static_cast<double>(count.negative), static_cast<double>(count.positive)};
}
inline bool is_empty(PackedCount count) { return count == 0; }
inline bool is_empty(WideCount count) { return (count.negative | count.positive) == 0; }

// The codes of the table: row i has code data[f * stride + i * step] in feature f. The matrix is
// column-major (step 1), except for a row-major copy (stride 1) from which small nodes are read.
template <class Code>
struct CodeMatrix {
    const Code* data = nullptr;
    std::size_t rows = 0;
    std::size_t features = 0;
    std::size_t stride = 0;
    std::size_t step = 1;

    const Code* column(std::size_t feature) const { return data + feature * stride; }
};

// What the grower needs to know about the features.
struct Features {
    std::vector<std::int32_t> n_codes;  // including the code for missing
    std::vector<std::uint8_t> categorical;
    std::vector<std::int8_t> monotonic;  // -1, 0, +1
    std::vector<std::size_t> offset;     // where each feature starts in a histogram
    // Empty unless missing values are imputed with the mean of their cell. Indexed by offset +
    // code: the mean of the values with this code, and the largest value that can have it.
    std::vector<double> code_mean;
    std::vector<double> code_upper;

    std::size_t size() const { return n_codes.size(); }
    std::size_t histogram_size() const { return offset.back(); }
    // The indices of all features.
    std::vector<std::int32_t> all() const {
        std::vector<std::int32_t> numbers(size());
        std::iota(numbers.begin(), numbers.end(), 0);
        return numbers;
    }
    bool missing_by_cell_mean() const { return !code_mean.empty(); }
    bool any_monotonic() const {
        for (auto sign : monotonic)
            if (sign != 0) return true;
        return false;
    }
};

inline std::vector<std::size_t> offsets_of(const std::vector<std::int32_t>& n_codes) {
    std::vector<std::size_t> offset(n_codes.size() + 1);
    for (std::size_t f = 0; f < n_codes.size(); ++f) offset[f + 1] = offset[f] + n_codes[f];
    return offset;
}

// The left set of a categorical test, one bit per code.
inline constexpr int kMaxCategoryCodes = 256;
struct CategorySet {
    std::uint64_t words[kMaxCategoryCodes / 64] = {};

    bool contains(std::uint32_t code) const { return (words[(code >> 6) & 3] >> (code & 63)) & 1; }
    void insert(std::uint32_t code) { words[code >> 6] |= std::uint64_t{1} << (code & 63); }
    void erase(std::uint32_t code) { words[code >> 6] &= ~(std::uint64_t{1} << (code & 63)); }
};

// A test of a LeafRank tree: "code <= cut" or, if categorical, "code in category set number cut".
struct SplitCondition {
    std::int32_t feature = -1;  // -1: a leaf
    std::int32_t cut = 0;
    std::uint8_t categorical = 0;
    std::uint8_t missing_left = 0;
    std::uint16_t unused = 0;
};

inline bool goes_left(const SplitCondition& condition, std::uint32_t code,
                      const std::vector<CategorySet>& sets) {
    if (condition.categorical) return sets[condition.cut].contains(code);
    return code == 0 ? condition.missing_left : static_cast<std::int32_t>(code) <= condition.cut;
}

enum class Criterion : int;  // core/split/gain.hpp

struct LeafRankOptions {
    Criterion criterion{};             // the first enumerator: Gini
    std::int32_t max_depth = 2;        // < 0: no limit
    std::int32_t max_leaf_nodes = -1;  // < 0: depth first; else best first
    double min_weight_leaf = 1;        // in units
    double min_weight_split = 2;
    std::int32_t max_features = -1;  // drawn at every node; < 0: all
    bool random_cuts = false;        // one random cut per feature instead of the best one
    bool pruning = false;            // by cross-validation inside the cell
    double row_weight = 1;           // units of weight per row
    // Units of weight that count as one independent row in estimates of sampling noise. More than
    // `row_weight` if weights are uneven or rows are drawn several times.
    double independent_weight = 1;
};

// With more than two classes, the candidate splits of a cell are the best splits for pairs of
// classes.
enum class Tournament { kAdjacent, kAll };
// The value of a candidate: the increase of the volume under the ROC surface (VUS) of the whole
// ordered partition, or of the cell alone.
enum class TournamentGain { kVus, kLocal };

// The part of a ranking that counts: all of it, the top share of the rows (local AUC), or a range
// of false positive rates (partial AUC). The last two require two classes.
struct Focus {
    enum class Of { kAll, kRows, kNegatives };
    Of of = Of::kAll;
    double low = 0;
    double high = 1;

    // The part of `weight` (negatives, positives) that `low` and `high` refer to: the negatives, or
    // all rows.
    template <class Weight>
    double counted(const Weight* weight) const {
        const auto negative = static_cast<double>(weight[0]);
        return of == Of::kNegatives ? negative : negative + static_cast<double>(weight[1]);
    }
};

struct TreeRankOptions {
    LeafRankOptions leafrank;
    Tournament tournament = Tournament::kAdjacent;
    TournamentGain tournament_gain = TournamentGain::kVus;
    std::int32_t max_depth = -1;
    double min_weight_leaf = 1;
    double min_weight_split = 2;
    double min_auc_gain = 0;
    std::int32_t max_features = -1;  // drawn at every cell; < 0: all
    std::uint64_t seed = 0;
    std::uint64_t first_tree = 0;  // index of the first tree; random draws are keyed by it
    Focus focus;                   // cells below it are split at small depths only
};

// A node of the LeafRank tree of a cell. `left` and `right` are indices in the same LeafRank tree;
// a leaf stores the side of the cell to which it belongs.
struct LeafRankNode {
    SplitCondition condition;
    std::int32_t left = -1;
    std::int32_t right = -1;
    std::int32_t side = -1;  // leaves only: 0 left (better), 1 right
    ClassWeight weight;
};
static_assert(sizeof(LeafRankNode) == 40, "shared with NumPy byte for byte");

// A node of the ranking tree: a cell of the feature space, split or not.
struct Cell {
    std::int32_t parent = -1;
    std::int32_t left = -1;
    std::int32_t right = -1;
    std::int32_t depth = 0;
    std::int32_t first_test = -1;  // its LeafRank tree is [first_test, last_test)
    std::int32_t last_test = -1;
    std::int32_t worse_class = -1;  // the pair of classes that its split separates
    std::int32_t better_class = -1;
    double auc_gain = 0;  // Delta / 2 of its split; with more than two classes, the VUS gain
};
static_assert(sizeof(Cell) == 40, "shared with NumPy byte for byte");

// The LeafRank trees that split the cells, concatenated.
struct CellTests {
    std::vector<LeafRankNode> tests;
    std::vector<double> test_weight;  // tests x classes; empty for two classes (see tests)
    std::vector<CategorySet> category_sets;
};

struct RankTree : CellTests {
    std::int32_t n_classes = 2;
    std::vector<Cell> cells;          // preorder; cells[0] is the root
    std::vector<double> cell_weight;  // cells x classes, in units
};

}  // namespace treerank
