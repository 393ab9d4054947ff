#include "core/leafrank.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <queue>

#include "core/histogram.hpp"
#include "core/missing.hpp"
#include "core/partition.hpp"
#include "core/random.hpp"

namespace treerank {

namespace {
constexpr std::size_t kTeamRows = 8192;       // below this a node is not worth calling the team
constexpr std::size_t kTeamCounters = 50000;  // nor is scanning so few counters
// Feature draws and children take the small branches of a node's key, random cuts these.
constexpr std::uint64_t kRandomCutBranch = std::uint64_t{1} << 32;
constexpr std::size_t kRowsPerCheck = 2048;
// Rows of a node that holds fewer than one in so many lie in cache lines of their own: read
// row by row, one line serves all features.
constexpr std::size_t kScattered = 16;
constexpr std::int32_t kGivenHistogram = std::numeric_limits<std::int32_t>::max();
}  // namespace

// beta - alpha adds up over the leaves, so that the best cut is after the last leaf where it
// is not negative: no need to sort, unless that leaves too little on one side (n_left 0).
static LeafOrder part_leaves(const std::vector<LeafRankNode>& nodes,
                             const std::vector<std::int32_t>& leaves, ClassMass cell,
                             double min_mass) {
    LeafOrder order;
    order.leaves.resize(leaves.size());
    std::size_t n_left = 0, n_right = 0;
    for (const std::int32_t leaf : leaves) {
        const ClassMass mass = nodes[leaf].mass;
        const bool better = mass.positive * cell.negative >= mass.negative * cell.positive;
        order.leaves[better ? n_left++ : leaves.size() - ++n_right] = leaf;
        if (better) order.left = order.left + mass;
    }
    const bool enough =
        order.left.total() >= min_mass && cell.total() - order.left.total() >= min_mass;
    if (enough && n_right > 0) order.n_left = n_left;
    return order;
}

LeafOrder order_leaves(const std::vector<LeafRankNode>& nodes,
                       const std::vector<std::int32_t>& leaves, const std::vector<double>& value,
                       ClassMass cell, double min_mass) {
    const bool by_value = !value.empty();
    if (!by_value) {
        LeafOrder parted = part_leaves(nodes, leaves, cell, min_mass);
        if (parted.n_left > 0) return parted;
    }
    LeafOrder order;
    order.leaves = leaves;
    std::sort(order.leaves.begin(), order.leaves.end(), [&](std::int32_t a, std::int32_t b) {
        if (by_value) return value[a] != value[b] ? value[a] > value[b] : a < b;
        const ClassMass x = nodes[a].mass, y = nodes[b].mass;
        const double one = x.positive * y.negative, other = y.positive * x.negative;
        return one != other ? one > other : a < b;
    });
    double best = 0;
    ClassMass left;
    for (std::size_t i = 0; i + 1 < order.leaves.size(); ++i) {
        left = left + nodes[order.leaves[i]].mass;
        if (by_value && value[order.leaves[i]] == value[order.leaves[i + 1]]) continue;
        if (left.total() < min_mass || cell.total() - left.total() < min_mass) continue;
        const double delta = left.positive * cell.negative - left.negative * cell.positive;
        if (delta > 0 && delta >= best) {
            best = delta;
            order.n_left = i + 1;
            order.left = left;
        }
    }
    return order;
}

template <class Code, class Count>
LeafRank<Code, Count>::LeafRank(const Features& features, const LeafRankOptions& options,
                                Watch& watch, Team* team)
    : features_(features),
      options_(options),
      watch_(watch),
      team_(team != nullptr && team->size() > 1 ? team : nullptr),
      kernels_(kernels<Code, Count>()),
      monotonic_(features.any_monotonic()) {
    const std::int32_t widest =
        *std::max_element(features_.n_codes.begin(), features_.n_codes.end());
    // Scanning a histogram costs as many steps as there are codes; below a
    // quarter of that many rows, walking the occupied codes is cheaper.
    sparse_rows_ = features_.histogram_size() / features_.size() / 4;
    scratch_.resize(team_ ? team_->size() * 2 : 1);
    for (auto& scratch : scratch_) {
        scratch.prefix.resize(widest + kLanes);
        scratch.counters.resize(widest);
        scratch.words.resize((widest + 63) / 64);
        scratch.codes.resize(widest + 1);
        scratch.counts.resize(widest + 1);
    }
}

template <class Code, class Count>
Team* LeafRank<Code, Count>::team_for(std::size_t n) const {
    return n >= kTeamRows ? team_ : nullptr;
}

template <class Code, class Count>
std::int32_t LeafRank<Code, Count>::take_histogram() {
    if (free_.empty()) {
        free_.push_back(static_cast<std::int32_t>(pool_.size()));
        pool_.push_back(std::make_unique_for_overwrite<Count[]>(features_.histogram_size()));
    }
    const std::int32_t number = free_.back();
    free_.pop_back();
    return number;
}

template <class Code, class Count>
void LeafRank<Code, Count>::release(std::int32_t& number) {
    if (number >= 0 && number != kGivenHistogram) free_.push_back(number);
    number = -1;
}

template <class Code, class Count>
void LeafRank<Code, Count>::count(const View<Code>& view, const Row* rows, std::size_t n,
                                  const std::vector<std::int32_t>& features, Count* histogram) {
    view_ = &view;
    count_features(codes_for(n), view.weights, rows, n, features_, features, histogram,
                   team_for(n));
}

template <class Code, class Count>
const CodeMatrix<Code>& LeafRank<Code, Count>::codes_for(std::size_t n) const {
    const bool scattered = view_->by_row.data != nullptr && n * kScattered < view_->codes.rows;
    return scattered ? view_->by_row : view_->codes;
}

template <class Code, class Count>
bool LeafRank<Code, Count>::may_split(const Open& open) const {
    const ClassMass mass = nodes[open.node].mass;
    const bool deep = options_.max_depth >= 0 && open.depth >= options_.max_depth;
    return !deep && !mass.pure() && mass.total() >= options_.min_mass_split &&
           mass.total() >= 2 * options_.min_mass_leaf;
}

template <class Code, class Count>
CutSearch LeafRank<Code, Count>::search_of(const Open& open) const {
    CutSearch search;
    search.criterion = options_.criterion;
    search.node = nodes[open.node].mass;
    search.positive_cost = cell_.negative;
    search.negative_cost = cell_.positive;
    search.min_mass_leaf = options_.min_mass_leaf;
    search.lower = open.lower;
    search.upper = open.upper;
    return search;
}

// Lists a feature's few codes into scratch.codes and scratch.counts.
template <class Code, class Count>
std::int32_t LeafRank<Code, Count>::list_sparse(const Open& open, std::int32_t feature,
                                                Scratch& scratch) {
    const auto& codes = codes_for(open.last - open.first);
    return kernels_.list(rows_ + open.first, open.last - open.first, view_->weights,
                         codes.column(feature), codes.step, features_.n_codes[feature],
                         scratch.counters.data(), scratch.words.data(), scratch.codes.data(),
                         scratch.counts.data());
}

// Puts the cut in the middle of the gap between the codes that it parts.
template <class Code, class Count>
void LeafRank<Code, Count>::take_cut(const BestCut& cut, std::int32_t feature, Split& best) {
    best.gain = cut.gain;
    best.left = cut.left;
    best.test.feature = feature;
    best.test.categorical = false;
    best.test.cut = cut.gap_end < 0 ? features_.n_codes[feature] - 1
                                    : cut.cut + (cut.gap_end - cut.cut - 1) / 2;
    best.test.missing_left = cut.missing_left;
}

template <class Code, class Count>
void LeafRank<Code, Count>::take_levels(const BestLevels& levels, const OccupiedCodes& occupied,
                                        std::int32_t feature, const CutSearch& search,
                                        Split& best) {
    best.gain = levels.gain;
    best.left = levels.left;
    best.test.feature = feature;
    best.test.categorical = true;
    // Levels that the node has not seen follow the larger side.
    const bool others_left = 2 * levels.left.total() >= search.node.total();
    best.set = CategorySet{};
    std::vector<std::int8_t> place(features_.n_codes[feature], others_left ? 1 : 0);
    for (std::size_t i = 0; i < levels.order.size(); ++i)
        place[occupied.codes[levels.order[i]]] = i < levels.n_left;
    for (std::int32_t code = 0; code < features_.n_codes[feature]; ++code)
        if (place[code]) best.set.insert(code);
    best.test.missing_left = best.set.contains(0);
}

template <class Code, class Count>
const Count* LeafRank<Code, Count>::histogram_of(const Open& open, std::int32_t feature) const {
    const Count* all = open.histogram == kGivenHistogram ? given_ : pool_[open.histogram].get();
    return all + features_.offset[feature];
}

// The best Gini cut of a histogram, if it gains more than `gain`.
template <class Code, class Count>
BestCut LeafRank<Code, Count>::scan(const Count* histogram, std::int32_t n_codes, bool missing,
                                    const CutSearch& search, Scratch& scratch, double gain) {
    BestCut cut;
    cut.gain = gain;
    kernels_.scan_gini(histogram, n_codes, true, search, scratch.prefix.data(), cut);
    if (missing)
        kernels_.scan_gini(histogram, n_codes, false, search, scratch.prefix.data(), cut);
    else  // missing values to come go to the larger side
        cut.missing_left = 2 * cut.left.total() >= search.node.total();
    return cut;
}

// A node with few rows is scanned over the codes that occur in it.
template <class Code, class Count>
BestCut LeafRank<Code, Count>::best_gini_cut(const Open& open, std::int32_t feature,
                                             const CutSearch& search, Scratch& scratch,
                                             double gain) {
    if (open.histogram >= 0) {
        const Count* histogram = histogram_of(open, feature);
        const std::int32_t n_codes = features_.n_codes[feature];
        BestCut cut = scan(histogram, n_codes, !is_empty(histogram[0]), search, scratch, gain);
        if (cut.gain <= gain) return cut;
        for (std::int32_t code = cut.cut + 1; code < n_codes && cut.gap_end < 0; ++code)
            if (!is_empty(histogram[code])) cut.gap_end = code;
        return cut;
    }
    const std::int32_t last = list_sparse(open, feature, scratch);
    const std::int32_t* codes = scratch.codes.data();
    BestCut cut = scan(scratch.counts.data(), last + 1, codes[0] != 0, search, scratch, gain);
    if (cut.gain <= gain) return cut;
    cut.gap_end = cut.cut < last ? codes[cut.cut + 1] : -1;
    cut.cut = codes[cut.cut];
    return cut;
}

// Lists the codes that occur in a node, with their masses, into scratch.occupied.
template <class Code, class Count>
void LeafRank<Code, Count>::list_occupied(const Open& open, std::int32_t feature,
                                          Scratch& scratch) {
    OccupiedCodes& occupied = scratch.occupied;
    occupied.clear();
    if (open.histogram >= 0) {
        const Count* histogram = histogram_of(open, feature);
        for (std::int32_t code = 0; code < features_.n_codes[feature]; ++code)
            if (!is_empty(histogram[code])) occupied.add(code, mass_of(histogram[code]));
        return;
    }
    const std::int32_t last = list_sparse(open, feature, scratch);
    if (scratch.codes[0] != 0) occupied.add(0, mass_of(scratch.counts[0]));
    for (std::int32_t i = 1; i <= last; ++i)
        occupied.add(scratch.codes[i], mass_of(scratch.counts[i]));
}

// Whether a missing value in the node has to be counted as the cell's mean.
template <class Code, class Count>
bool LeafRank<Code, Count>::may_need_stand_in(const Open& open, std::int32_t feature) const {
    return features_.missing_by_cell_mean() &&
           (open.histogram < 0 || !is_empty(histogram_of(open, feature)[0]));
}

// The code that a missing value counts as in this cell. Threads own features, so
// that each entry is written by one of them.
template <class Code, class Count>
std::int32_t LeafRank<Code, Count>::stand_in(std::int32_t feature, Scratch& scratch) {
    std::int32_t& code = stand_in_[feature];
    if (code < 0) {
        list_occupied(Open{0, 0, 0, n_rows_, 0, 0.0, 1.0, -1}, feature, scratch);  // the whole cell
        code = stand_in_of(scratch.occupied, features_, feature);
    }
    return code;
}

// Missing goes where the code goes that it counts as.
template <class Code, class Count>
void LeafRank<Code, Count>::follow_stand_in(Split& split) {
    const std::int32_t code = stand_in(split.test.feature, scratch_[0]);
    if (split.test.categorical) {
        split.test.missing_left = split.set.contains(code);
        split.test.missing_left ? split.set.insert(0) : split.set.erase(0);
    } else {
        split.test.missing_left = code <= split.test.cut;
    }
}

// Where a feature's values lie in a node, and what a cut of them would part.
template <class Code>
struct CodeRange {
    Code lowest = std::numeric_limits<Code>::max();
    Code highest = 0;  // 0: all values missing
    bool missing = false;

    void add(Code code) {
        if (code == 0) {
            missing = true;
            return;
        }
        lowest = std::min(lowest, code);
        highest = std::max(highest, code);
    }
};

// One cut, uniform between the lowest and the highest code of the node: a function of the
// node's key and the feature alone. No histogram is needed where none is at hand.
template <class Code, class Count>
BestCut LeafRank<Code, Count>::random_cut(const Open& open, std::int32_t feature,
                                          const CutSearch& search, Scratch& scratch) {
    CodeRange<Code> range;
    const Count* histogram = open.histogram >= 0 ? histogram_of(open, feature) : nullptr;
    const auto& codes = codes_for(open.last - open.first);
    const Code* column = codes.column(feature);
    if (histogram != nullptr) {
        for (std::int32_t code = 0; code < features_.n_codes[feature]; ++code)
            if (!is_empty(histogram[code])) range.add(static_cast<Code>(code));
    } else {
        for (std::size_t i = open.first; i < open.last; ++i)
            range.add(column[row_id(rows_[i]) * codes.step]);
    }
    BestCut best;
    // With missing on the right, "all values left" is a cut too.
    const std::int32_t choices = range.highest - range.lowest + (range.missing ? 1 : 0);
    if (range.highest == 0 || choices == 0) return best;
    const std::uint64_t bits = key_of(open.key, kRandomCutBranch + feature);
    const auto cut = static_cast<std::int32_t>(
        range.lowest + uniform_below(bits, static_cast<std::uint32_t>(choices)));
    Count values{}, missing{};
    if (histogram != nullptr) {
        missing = histogram[0];
        for (std::int32_t code = range.lowest; code <= cut; ++code) values += histogram[code];
    } else {
        Count* sums = scratch.counts.data();
        sums[0] = sums[1] = sums[2] = Count{};
        kernels_.sum_sides(rows_ + open.first, open.last - open.first, view_->weights, column,
                           codes.step, static_cast<Code>(cut), sums);
        missing = sums[0];
        values = sums[1];
    }
    const auto try_side = [&](bool missing_left) {
        const ClassMass left = missing_left ? mass_of(values) + mass_of(missing) : mass_of(values);
        if (!admissible(search, left)) return;
        const double gain = gain_of(search, left);
        if (gain > best.gain) best = {gain, cut, cut + 1, missing_left, left};
    };
    if (cut < range.highest) try_side(true);
    if (range.missing)
        try_side(false);
    else  // missing values to come go to the larger side
        best.missing_left = 2 * best.left.total() >= search.node.total();
    return best;
}

// A random half of the levels, by one bit each; at least one level on either side.
static BestLevels random_levels(const OccupiedCodes& occupied, const CutSearch& search,
                                std::uint64_t key) {
    BestLevels levels;
    const std::size_t n = occupied.codes.size();
    if (n < 2) return levels;
    std::vector<std::uint8_t> left(n);
    for (std::size_t i = 0; i < n; ++i) left[i] = key_of(key, occupied.codes[i]) >> 63;
    const auto ones = static_cast<std::size_t>(std::count(left.begin(), left.end(), 1));
    if (ones == 0 || ones == n) left[uniform_below(mix(key), static_cast<std::uint32_t>(n))] ^= 1;
    for (const std::uint8_t side : {1, 0}) {
        for (std::size_t i = 0; i < n; ++i)
            if (left[i] == side) levels.order.push_back(static_cast<std::int32_t>(i));
        if (side == 1) levels.n_left = levels.order.size();
    }
    for (std::size_t i = 0; i < levels.n_left; ++i)
        levels.left = levels.left + occupied.masses[levels.order[i]];
    if (admissible(search, levels.left)) levels.gain = gain_of(search, levels.left);
    return levels;
}

template <class Code, class Count>
void LeafRank<Code, Count>::consider(const Open& open, std::int32_t feature,
                                     const CutSearch& node_search, Scratch& scratch, Split& best) {
    CutSearch search = node_search;
    search.monotonic = features_.monotonic[feature];
    const bool fill_in = may_need_stand_in(open, feature);
    const std::int32_t missing_as = fill_in ? stand_in(feature, scratch) : 0;
    if (features_.categorical[feature]) {
        list_occupied(open, feature, scratch);
        scratch.occupied.fill_in(missing_as);
        const BestLevels levels = options_.random_cuts
                                      ? random_levels(scratch.occupied, search,
                                                      key_of(open.key, kRandomCutBranch + feature))
                                      : best_levels(scratch.occupied, search);
        if (levels.gain > best.gain) take_levels(levels, scratch.occupied, feature, search, best);
        return;
    }
    BestCut cut;
    if (options_.random_cuts) {
        cut = random_cut(open, feature, search, scratch);
    } else if (search.criterion == Criterion::kGini && search.monotonic == 0 && !fill_in) {
        cut = best_gini_cut(open, feature, search, scratch, best.gain);
    } else {
        list_occupied(open, feature, scratch);
        scratch.occupied.fill_in(missing_as);
        cut = best_cut(scratch.occupied, search);
        // Missing values to come go to the larger side.
        if (!scratch.occupied.has_missing())
            cut.missing_left = 2 * cut.left.total() >= search.node.total();
    }
    if (cut.gain > best.gain) take_cut(cut, feature, best);
}

template <class Code, class Count>
typename LeafRank<Code, Count>::Split LeafRank<Code, Count>::best_of(const Open& open,
                                                                     const std::int32_t* features,
                                                                     std::size_t n) {
    const CutSearch search = search_of(open);
    Split best;
    const bool quick = n * features_.histogram_size() < kTeamCounters * features_.size();
    if (quick || n < 2 || team_for(open.last - open.first) == nullptr) {
        for (std::size_t i = 0; i < n; ++i) consider(open, features[i], search, scratch_[0], best);
        return best;
    }
    const std::size_t chunks = std::min(scratch_.size(), n);
    std::vector<Split> bests(chunks);
    team_->run(chunks, [&](std::size_t c) {
        for (std::size_t i = c * n / chunks; i < (c + 1) * n / chunks; ++i)
            consider(open, features[i], search, scratch_[c], bests[c]);
    });
    for (const Split& split : bests)
        if (split.gain > best.gain) best = split;
    return best;
}

// Draws features until some of them can split: as many as asked for at first,
// then, if none of those has a cut, one after another.
template <class Code, class Count>
typename LeafRank<Code, Count>::Split LeafRank<Code, Count>::find_split(Open& open) {
    const std::size_t n = open.last - open.first;
    const std::size_t all = cell_features_.size();
    const auto wanted = static_cast<std::size_t>(options_.max_features);
    if (uses_all_features() || wanted >= all) {
        if (open.histogram < 0 && !is_sparse(n)) {
            open.histogram = take_histogram();
            count(*view_, rows_ + open.first, n, cell_features_, pool_[open.histogram].get());
        }
        return best_of(open, cell_features_.data(), all);
    }
    std::vector<std::int32_t>& order = order_;
    order = cell_features_;
    Split best;
    for (std::size_t first = 0; first < all && best.gain <= 0;) {
        const std::size_t k = first == 0 ? wanted : 1;
        draw_to_front(order, first, k, open.key);
        drawn_.assign(order.begin() + first, order.begin() + first + k);
        std::sort(drawn_.begin(), drawn_.end());
        if (!is_sparse(n)) {
            if (open.histogram < 0) open.histogram = take_histogram();
            count(*view_, rows_ + open.first, n, drawn_, pool_[open.histogram].get());
        }
        best = best_of(open, drawn_.data(), drawn_.size());
        first += k;
    }
    return best;
}

template <class Code, class Count>
std::size_t LeafRank<Code, Count>::part_rows(const Open& open, const Split& split) {
    const std::size_t n = open.last - open.first;
    const auto& codes = codes_for(n);
    const Code* column = codes.column(split.test.feature);
    Row* rows = rows_ + open.first;
    Row* scratch = scratch_rows_ + open.first;
    if (split.test.categorical) {
        Row* left = rows;
        Row* right = scratch;
        for (std::size_t i = 0; i < n; ++i) {
            const Row row = rows[i];
            *(split.set.contains(column[row_id(row) * codes.step]) ? left++ : right++) = row;
        }
        std::copy(scratch, right, left);
        return left - rows;
    }
    // Missing (code 0) wraps to the largest code when it is to go right.
    const Code shift = split.test.missing_left ? 0 : 1;
    const Code cut = static_cast<Code>(split.test.cut - shift);
    return part_stably(rows, n, scratch, team_for(n), [&](Row* block, std::size_t size, Row* room) {
        return kernels_.part(block, size, column, codes.step, shift, cut, room);
    });
}

// The larger child inherits the parent's histogram less the smaller child's.
template <class Code, class Count>
void LeafRank<Code, Count>::hand_down(const Open& parent, Open& left, Open& right) {
    std::int32_t held = parent.histogram;
    if (held < 0) return;
    const auto wants = [&](const Open& child) {
        return uses_all_features() && may_split(child) && !is_sparse(child.last - child.first);
    };
    const bool left_smaller = left.last - left.first <= right.last - right.first;
    Open& small = left_smaller ? left : right;
    Open& large = left_smaller ? right : left;
    Count* histogram = held == kGivenHistogram ? given_ : pool_[held].get();
    if (!wants(large)) return release(held);
    const std::size_t n_small = small.last - small.first;
    large.histogram = held;
    if (!wants(small) && n_small * cell_features_.size() <= features_.histogram_size() / 2) {
        const auto& codes = codes_for(n_small);
        for (std::size_t f = 0; f < cell_features_.size(); ++f) {
            const Code* column = codes.column(cell_features_[f]);
            Count* counters = histogram + features_.offset[cell_features_[f]];
            kernels_.uncount(rows_ + small.first, n_small, view_->weights, &column, codes.step,
                             &counters, 1);
        }
        return;
    }
    small.histogram = take_histogram();
    Count* counted = pool_[small.histogram].get();
    count(*view_, rows_ + small.first, n_small, cell_features_, counted);
    for (const std::int32_t feature : cell_features_) {
        const std::size_t at = features_.offset[feature];
        kernels_.subtract(histogram + at, histogram + at, counted + at, features_.n_codes[feature]);
    }
    if (!wants(small)) release(small.histogram);
}

template <class Code, class Count>
std::pair<typename LeafRank<Code, Count>::Open, typename LeafRank<Code, Count>::Open>
LeafRank<Code, Count>::apply(Open open, Split split) {
    if (features_.missing_by_cell_mean()) follow_stand_in(split);
    const std::size_t middle = open.first + part_rows(open, split);
    const auto left_node = static_cast<std::int32_t>(nodes.size());
    const ClassMass mass = nodes[open.node].mass;
    nodes.resize(nodes.size() + 2);
    nodes[left_node].mass = split.left;
    nodes[left_node + 1].mass = mass - split.left;
    LeafRankNode& node = nodes[open.node];
    node.test = split.test;
    node.left = left_node;
    node.right = left_node + 1;
    if (split.test.categorical) {
        node.test.cut = static_cast<std::int32_t>(category_sets.size());
        category_sets.push_back(split.set);
    }
    Open left{left_node,           open.depth + 1, open.first, middle,
              key_of(open.key, 0), open.lower,     open.upper, -1};
    Open right{left_node + 1,       open.depth + 1, middle,     open.last,
               key_of(open.key, 1), open.lower,     open.upper, -1};
    const std::int8_t sign = features_.monotonic[split.test.feature];
    if (sign != 0) {
        const CutSearch search = search_of(open);
        const double mid =
            (bounded_value(search, split.left) + bounded_value(search, mass - split.left)) / 2;
        (sign > 0 ? left : right).upper = mid;
        (sign > 0 ? right : left).lower = mid;
    }
    hand_down(open, left, right);
    return {left, right};
}

template <class Code, class Count>
void LeafRank<Code, Count>::close(const Open& open) {
    leaves.push_back({open.node, open.first, open.last});
    if (!monotonic_) return;
    leaf_value_.resize(nodes.size());
    leaf_value_[open.node] = bounded_value(search_of(open), nodes[open.node].mass);
}

template <class Code, class Count>
void LeafRank<Code, Count>::grow_depth_first(Open root) {
    std::vector<Open> stack{root};
    std::size_t rows_since_check = kRowsPerCheck;
    while (!stack.empty()) {
        Open open = stack.back();
        stack.pop_back();
        rows_since_check += open.last - open.first;
        if (rows_since_check >= kRowsPerCheck) {  // reading the clock outweighs a small node
            watch_.check();
            rows_since_check = 0;
        }
        Split split;
        if (may_split(open)) split = find_split(open);
        if (split.gain <= 0) {
            release(open.histogram);
            close(open);
            continue;
        }
        const auto [left, right] = apply(open, split);
        stack.push_back(right);
        stack.push_back(left);
    }
}

// Always splits the leaf whose split lowers the cell's impurity most.
template <class Code, class Count>
void LeafRank<Code, Count>::grow_best_first(Open root) {
    struct Candidate {
        double priority;
        Open open;
        Split split;
        bool operator<(const Candidate& other) const {
            if (priority != other.priority) return priority < other.priority;
            return open.node > other.open.node;
        }
    };
    std::priority_queue<Candidate> queue;
    std::int32_t n_leaves = 1;
    const auto enqueue = [&](Open open) {
        watch_.check();
        Split split;
        if (may_split(open)) split = find_split(open);
        if (split.gain <= 0) {
            release(open.histogram);
            return close(open);
        }
        const double cost = options_.criterion == Criterion::kGini
                                ? search_of(open).cost(nodes[open.node].mass)
                                : 1;
        queue.push({split.gain / cost, open, split});
    };
    enqueue(root);
    while (!queue.empty()) {
        Candidate best = queue.top();
        queue.pop();
        if (n_leaves >= options_.max_leaf_nodes) {
            release(best.open.histogram);
            close(best.open);
            continue;
        }
        ++n_leaves;
        const auto [left, right] = apply(best.open, best.split);
        enqueue(left);
        enqueue(right);
    }
}

template <class Code, class Count>
void LeafRank<Code, Count>::grow(const View<Code>& view, Row* rows, std::size_t n, Row* scratch,
                                 ClassMass cell, const std::vector<std::int32_t>& features,
                                 std::uint64_t key, Count* root) {
    view_ = &view;
    rows_ = rows;
    n_rows_ = n;
    scratch_rows_ = scratch;
    cell_ = cell;
    cell_features_ = features;
    given_ = root;
    nodes.assign(1, LeafRankNode{});
    nodes[0].mass = cell;
    category_sets.clear();
    leaves.clear();
    leaf_value_.clear();
    if (features_.missing_by_cell_mean()) stand_in_.assign(features_.size(), -1);
    const bool known = root != nullptr && uses_all_features() && !is_sparse(n);
    const Open open{0, 0, 0, n, key, 0.0, 1.0, known ? kGivenHistogram : -1};
    if (options_.max_leaf_nodes >= 0)
        grow_best_first(open);
    else
        grow_depth_first(open);
}

template <class Code, class Count>
LeafOrder LeafRank<Code, Count>::cut(ClassMass cell, double min_mass) const {
    std::vector<std::int32_t> numbers;
    numbers.reserve(leaves.size());
    for (const Leaf& leaf : leaves) numbers.push_back(leaf.node);
    return order_leaves(nodes, numbers, leaf_value_, cell, min_mass);
}

template class LeafRank<std::uint8_t, PackedCount>;
template class LeafRank<std::uint8_t, WideCount>;
template class LeafRank<std::uint16_t, PackedCount>;
template class LeafRank<std::uint16_t, WideCount>;

}  // namespace treerank
