#include "core/split/split_search.hpp"

#include <algorithm>

#include "core/split/imputed_code.hpp"
#include "core/split/random_split.hpp"

namespace treerank {

namespace {
constexpr std::size_t kTeamCounters = 50000;  // fewer are not worth using the pool
// Feature draws and children use the low branches of a node's key; random cuts use branches from
// here on.
constexpr std::uint64_t kRandomCutBranch = std::uint64_t{1} << 32;
}  // namespace

template <class Code, class Count>
SplitSearch<Code, Count>::SplitSearch(const Features& features, const LeafRankOptions& options,
                                      ThreadPool* pool)
    : features_(features), options_(options), pool_(pool), kernels_(kernels<Code, Count>()) {
    add_scratch();
}

template <class Code, class Count>
void SplitSearch<Code, Count>::add_scratch() {
    const std::int32_t widest =
        *std::max_element(features_.n_codes.begin(), features_.n_codes.end());
    Scratch& scratch = scratch_.emplace_back();
    scratch.prefix.resize(widest + kLanes);
    scratch.counters.resize(widest);
    scratch.words.resize((widest + 63) / 64);
    scratch.codes.resize(widest + 1);
    scratch.counts.resize(widest + 1);
}

template <class Code, class Count>
void SplitSearch<Code, Count>::enter(const View<Code>& view, const Row* rows, std::size_t n,
                                     const Count* histogram) {
    view_ = &view;
    cell_.rows = rows;
    cell_.n = n;
    cell_.histogram = histogram;
    if (features_.missing_by_cell_mean()) imputed_code_.assign(features_.size(), -1);
}

// Lists the codes of a feature in a node with few rows, into scratch.codes and scratch.counts.
template <class Code, class Count>
std::int32_t SplitSearch<Code, Count>::list_sparse(const Node& node, std::int32_t feature,
                                                   Scratch& scratch) {
    const auto& codes = view_->codes_for(node.n);
    return kernels_.list(node.rows, node.n, view_->weights, codes.column(feature), codes.step,
                         features_.n_codes[feature], scratch.counters.data(), scratch.words.data(),
                         scratch.codes.data(), scratch.counts.data());
}

// Stores a cut, moved to the middle of the gap between the codes that it separates.
template <class Code, class Count>
void SplitSearch<Code, Count>::take_cut(const BestCut& cut, std::int32_t feature, Split& best) {
    best.gain = cut.gain;
    best.left = cut.left;
    best.condition.feature = feature;
    best.condition.categorical = false;
    best.condition.cut = cut.gap_end < 0 ? features_.n_codes[feature] - 1
                                         : cut.cut + (cut.gap_end - cut.cut - 1) / 2;
    best.condition.missing_left = cut.missing_left;
}

template <class Code, class Count>
void SplitSearch<Code, Count>::take_levels(const BestLevels& levels, const OccupiedCodes& occupied,
                                           std::int32_t feature, const CutSearch& search,
                                           Split& best) {
    best.gain = levels.gain;
    best.left = levels.left;
    best.condition.feature = feature;
    best.condition.categorical = true;
    const bool others_left = is_larger_side(search, levels.left);
    best.set = CategorySet{};
    std::vector<std::int8_t> place(features_.n_codes[feature], others_left ? 1 : 0);
    for (std::size_t i = 0; i < levels.order.size(); ++i)
        place[occupied.codes[levels.order[i]]] = i < levels.n_left;
    for (std::int32_t code = 0; code < features_.n_codes[feature]; ++code)
        if (place[code]) best.set.insert(code);
    best.condition.missing_left = best.set.contains(0);
}

template <class Code, class Count>
const Count* SplitSearch<Code, Count>::histogram_of(const Node& node, std::int32_t feature) const {
    return node.histogram + features_.offset[feature];
}

// Returns the best Gini cut of a histogram if it gains more than `gain`.
template <class Code, class Count>
BestCut SplitSearch<Code, Count>::scan(const Count* histogram, std::int32_t n_codes, bool missing,
                                       const CutSearch& search, Scratch& scratch, double gain) {
    BestCut cut;
    cut.gain = gain;
    kernels_.scan_gini(histogram, n_codes, true, search, scratch.prefix.data(), cut);
    if (missing)
        kernels_.scan_gini(histogram, n_codes, false, search, scratch.prefix.data(), cut);
    else
        cut.missing_left = is_larger_side(search, cut.left);
    return cut;
}

// Scans the histogram or, for a node with few rows, the codes that occur in it.
template <class Code, class Count>
BestCut SplitSearch<Code, Count>::best_gini_cut(const Node& node, std::int32_t feature,
                                                const CutSearch& search, Scratch& scratch,
                                                double gain) {
    if (node.histogram != nullptr) {
        const Count* histogram = histogram_of(node, feature);
        const std::int32_t n_codes = features_.n_codes[feature];
        BestCut cut = scan(histogram, n_codes, !is_empty(histogram[0]), search, scratch, gain);
        if (cut.gain <= gain) return cut;
        for (std::int32_t code = cut.cut + 1; code < n_codes && cut.gap_end < 0; ++code)
            if (!is_empty(histogram[code])) cut.gap_end = code;
        return cut;
    }
    const std::int32_t last = list_sparse(node, feature, scratch);
    const std::int32_t* codes = scratch.codes.data();
    BestCut cut = scan(scratch.counts.data(), last + 1, codes[0] != 0, search, scratch, gain);
    if (cut.gain <= gain) return cut;
    cut.gap_end = cut.cut < last ? codes[cut.cut + 1] : -1;
    cut.cut = codes[cut.cut];
    return cut;
}

// Lists the codes that occur in a node, with their weights, into scratch.occupied.
template <class Code, class Count>
void SplitSearch<Code, Count>::list_occupied(const Node& node, std::int32_t feature,
                                             Scratch& scratch) {
    OccupiedCodes& occupied = scratch.occupied;
    occupied.clear();
    if (node.histogram != nullptr) {
        const Count* histogram = histogram_of(node, feature);
        for (std::int32_t code = 0; code < features_.n_codes[feature]; ++code)
            if (!is_empty(histogram[code])) occupied.add(code, weight_of(histogram[code]));
        return;
    }
    const std::int32_t last = list_sparse(node, feature, scratch);
    if (scratch.codes[0] != 0) occupied.add(0, weight_of(scratch.counts[0]));
    for (std::int32_t i = 1; i <= last; ++i)
        occupied.add(scratch.codes[i], weight_of(scratch.counts[i]));
}

// Whether the node may have missing values that are imputed with the cell's mean.
template <class Code, class Count>
bool SplitSearch<Code, Count>::may_need_imputed_code(const Node& node, std::int32_t feature) const {
    return features_.missing_by_cell_mean() &&
           (node.histogram == nullptr || !is_empty(histogram_of(node, feature)[0]));
}

// Returns the code with which missing values are imputed in this cell. Threads own features, so
// each entry is written by one thread only.
template <class Code, class Count>
std::int32_t SplitSearch<Code, Count>::imputed_code(std::int32_t feature, Scratch& scratch) {
    std::int32_t& code = imputed_code_[feature];
    if (code < 0) {
        list_occupied(cell_, feature, scratch);
        code = impute_code(scratch.occupied, features_, feature);
    }
    return code;
}

template <class Code, class Count>
void SplitSearch<Code, Count>::follow_imputed_code(Split& split) {
    const std::int32_t code = imputed_code(split.condition.feature, scratch_[0]);
    if (split.condition.categorical) {
        split.condition.missing_left = split.set.contains(code);
        split.condition.missing_left ? split.set.insert(0) : split.set.erase(0);
    } else {
        split.condition.missing_left = code <= split.condition.cut;
    }
}

// Uses the histogram if there is one, otherwise the rows.
template <class Code, class Count>
BestCut SplitSearch<Code, Count>::random_cut(const Node& node, std::int32_t feature,
                                             const CutSearch& search, Scratch& scratch) {
    CodeRange<Code> range;
    const Count* histogram = node.histogram != nullptr ? histogram_of(node, feature) : nullptr;
    if (histogram != nullptr) {
        for (std::int32_t code = 0; code < features_.n_codes[feature]; ++code)
            if (!is_empty(histogram[code])) range.add(static_cast<Code>(code));
    } else {
        const auto& codes = view_->codes_for(node.n);
        const Code* column = codes.column(feature);
        for (std::size_t i = 0; i < node.n; ++i)
            range.add(column[row_id(node.rows[i]) * codes.step]);
    }
    if (range.n_cuts() == 0) return {};
    const std::int32_t cut = draw_cut(range, key_of(node.key, kRandomCutBranch + feature));
    Count values{}, missing{};
    if (histogram != nullptr) {
        missing = histogram[0];
        for (std::int32_t code = range.lowest; code <= cut; ++code) values += histogram[code];
    } else {
        Count* sums = scratch.counts.data();
        sums[0] = sums[1] = sums[2] = Count{};
        const auto& codes = view_->codes_for(node.n);
        kernels_.sum_sides(node.rows, node.n, view_->weights, codes.column(feature), codes.step,
                           static_cast<Code>(cut), sums);
        missing = sums[0];
        values = sums[1];
    }
    return judge_cut(range, cut, weight_of(values), weight_of(missing), search);
}

// Returns the cut of a numeric feature. If no cut gains more than `gain`, the result may be any
// cut.
template <class Code, class Count>
BestCut SplitSearch<Code, Count>::cut_of(const Node& node, std::int32_t feature,
                                         const CutSearch& search, std::int32_t missing_as,
                                         Scratch& scratch, double gain) {
    if (options_.random_cuts) return random_cut(node, feature, search, scratch);
    if (search.criterion == Criterion::kGini && search.monotonic == 0 && missing_as == 0)
        return best_gini_cut(node, feature, search, scratch, gain);
    list_occupied(node, feature, scratch);
    scratch.occupied.fill_in(missing_as);
    BestCut cut = best_cut(scratch.occupied, search);
    if (!scratch.occupied.has_missing()) cut.missing_left = is_larger_side(search, cut.left);
    return cut;
}

template <class Code, class Count>
void SplitSearch<Code, Count>::consider(const Node& node, std::int32_t feature, Scratch& scratch,
                                        Split& best) {
    CutSearch search = node.search;
    search.monotonic = features_.monotonic[feature];
    const std::int32_t missing_as =
        may_need_imputed_code(node, feature) ? imputed_code(feature, scratch) : 0;
    if (!features_.categorical[feature]) {
        const BestCut cut = cut_of(node, feature, search, missing_as, scratch, best.gain);
        if (cut.gain > best.gain) take_cut(cut, feature, best);
        return;
    }
    list_occupied(node, feature, scratch);
    scratch.occupied.fill_in(missing_as);
    const BestLevels levels =
        options_.random_cuts
            ? random_levels(scratch.occupied, search, key_of(node.key, kRandomCutBranch + feature))
            : best_levels(scratch.occupied, search);
    if (levels.gain > best.gain) take_levels(levels, scratch.occupied, feature, search, best);
}

// Whether all numeric features of a node can be searched together.
template <class Code, class Count>
bool SplitSearch<Code, Count>::has_few_rows(const Node& node) const {
    return kernels_.cut_few != nullptr && view_->weights == nullptr && node.histogram == nullptr &&
           node.n <= kFewRows && options_.criterion == Criterion::kGini && !options_.random_cuts &&
           !features_.missing_by_cell_mean() && node.search.node.total() <= kFewWeight;
}

// Features that need more than a numeric cut (categories, monotone constraints) or have missing
// values are searched one by one. Of equal gains, the first feature wins.
template <class Code, class Count>
Split SplitSearch<Code, Count>::best_of_few(const Node& node, const std::int32_t* features,
                                            std::size_t n) {
    Scratch& scratch = scratch_[0];
    scratch.numeric.clear();
    scratch.others.clear();
    for (std::size_t i = 0; i < n; ++i) {
        const bool plain = !features_.categorical[features[i]] && !features_.monotonic[features[i]];
        (plain ? scratch.numeric : scratch.others).push_back(features[i]);
    }
    const auto& codes = view_->codes_for(node.n);
    BestCut cut;
    std::int32_t feature = -1;
    for (std::size_t first = 0; first < scratch.numeric.size(); first += kFewFeatures) {
        const std::size_t k = std::min(kFewFeatures, scratch.numeric.size() - first);
        const std::int32_t* numeric = scratch.numeric.data() + first;
        const Code* columns[kFewFeatures];
        for (std::size_t f = 0; f < k; ++f) columns[f] = codes.column(numeric[f]);
        const FewCut found =
            kernels_.cut_few(node.rows, node.n, columns, codes.step, k, node.search, cut);
        if (found.feature >= 0) feature = numeric[found.feature];
        for (std::size_t f = 0; f < k; ++f)
            if (found.missing >> f & 1) scratch.others.push_back(numeric[f]);
    }
    Split best, other;
    if (feature >= 0) {
        cut.missing_left = is_larger_side(node.search, cut.left);
        take_cut(cut, feature, best);
    }
    std::sort(scratch.others.begin(), scratch.others.end());
    for (const std::int32_t f : scratch.others) consider(node, f, scratch, other);
    const bool earlier = other.condition.feature < best.condition.feature;
    return other.gain > best.gain || (other.gain > 0 && other.gain == best.gain && earlier) ? other
                                                                                            : best;
}

template <class Code, class Count>
Split SplitSearch<Code, Count>::best_of(const Node& node, const std::int32_t* features,
                                        std::size_t n) {
    if (has_few_rows(node)) return best_of_few(node, features, n);
    Split best;
    const bool quick = n * features_.histogram_size() < kTeamCounters * features_.size();
    ThreadPool* pool = quick || n < 2 ? nullptr : pool_for(pool_, node.n);
    if (pool == nullptr) {
        for (std::size_t i = 0; i < n; ++i) consider(node, features[i], scratch_[0], best);
        return best;
    }
    const std::size_t chunks = std::min(2 * pool->size(), n);
    while (scratch_.size() < chunks) add_scratch();
    std::vector<Split> bests(chunks);
    pool->run(chunks, [&](std::size_t c) {
        for (std::size_t i = c * n / chunks; i < (c + 1) * n / chunks; ++i)
            consider(node, features[i], scratch_[c], bests[c]);
    });
    for (const Split& split : bests)
        if (split.gain > best.gain) best = split;
    return best;
}

template class SplitSearch<std::uint8_t, PackedCount>;
template class SplitSearch<std::uint8_t, WideCount>;
template class SplitSearch<std::uint16_t, PackedCount>;
template class SplitSearch<std::uint16_t, WideCount>;

}  // namespace treerank
