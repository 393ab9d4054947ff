#include "core/grow/summed_boosting.hpp"

#include <algorithm>
#include <utility>

#include "core/split/newton_split.hpp"

namespace treerank {

namespace {

std::size_t size_of(const Features& features, const std::vector<std::int32_t>& chosen) {
    std::size_t size = 0;
    for (const std::int32_t feature : chosen) size += features.n_codes[feature];
    return size;
}

// Rows are elsewhere: in the place of the first row a segment has the number of its node, by which
// merging the leaves of a cell says where each of them went.
Segment numbered(Segment at, std::int32_t number) {
    at.first = static_cast<std::size_t>(number);
    at.n = 0;
    return at;
}

}  // namespace

SummedBoosting::SummedBoosting(Features features, std::vector<std::int32_t> chosen,
                               const BoostingOptions& options, std::int64_t weight,
                               std::size_t histogram_bytes)
    : features_(std::move(features)),
      chosen_(std::move(chosen)),
      size_(size_of(features_, chosen_)),
      most_at_once_(std::max<std::size_t>(1, histogram_bytes / (size_ * sizeof(GradientSum)))),
      growing_(features_),
      trial_(features_) {
    growing_.reset(options);
    const bool many_levels = std::any_of(chosen_.begin(), chosen_.end(), [&](std::int32_t feature) {
        return needs_row_variance(features_, feature);
    });
    if (many_levels) square_shift_ = GradientSquares::shift_for(weight);
    add_cell({}, 0);
    level_ = {0};
    cells_[0].nodes.push_back({});
    slots_ = {{0, 0}};
    open_ = {{0, 0, 0}};
    pending_ = {{0}};
}

BoostingRequest SummedBoosting::request() {
    BoostingRequest request = std::exchange(moves_, {});
    request.n_slots = static_cast<std::int32_t>(slots_.size());
    request.square_shift = square_shift_;
    n_asked_ = std::min(most_at_once_, pending_.size());
    for (std::size_t i = 0; i < n_asked_; ++i)
        request.wanted.push_back(open_[pending_[i].open].slot);
    return request;
}

void SummedBoosting::answer(const GradientSum* sums, const GradientSquares* squares) {
    for (std::size_t i = 0; i < n_asked_; ++i) {
        auto counts = std::make_shared<Counts>();
        counts->sums.assign(sums + i * size_, sums + (i + 1) * size_);
        if (square_shift_ >= 0) counts->squares = squares[i];
        const Wanted& wanted = pending_[i];
        if (wanted.other >= 0) take(open_[wanted.other], rest(*wanted.whole, *counts));
        take(open_[wanted.open], std::move(counts));
    }
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(n_asked_));
    n_asked_ = 0;
    if (pending_.empty()) advance();
}

SummedBoosting::SharedCounts SummedBoosting::rest(const Counts& whole, const Counts& part) const {
    auto counts = std::make_shared<Counts>();
    counts->sums.resize(size_);
    subtract(counts->sums.data(), whole.sums.data(), part.sums.data(), size_);
    counts->squares = whole.squares - part.squares;
    return counts;
}

// Uses the counts of a node at once, so that they need not be kept.
void SummedBoosting::take(OpenNode& node, SharedCounts counts) {
    BoostedCell& cell = cells_[node.cell];
    if (node.cell == 0 && node.number == 0) {  // the root, of which nothing was known
        for (std::int32_t code = 0; code < features_.n_codes[chosen_[0]]; ++code)
            cell.at.sum += counts->sums[static_cast<std::size_t>(code)];
        cell.nodes[0].at = numbered(cell.at, 0);
    }
    if (depth_ < growing_.options.leafrank_depth) find_cut(node, *counts);
    if (keeps_counts_) node.counts = std::move(counts);
}

void SummedBoosting::find_cut(const OpenNode& node, const Counts& counts) {
    InnerNode& at = inner({node.cell, node.number});
    const double variance =
        square_shift_ < 0
            ? 0
            : counts.squares.variance(at.at.sum, growing_.scale,
                                      growing_.options.independent_weight, square_shift_);
    const NewtonSearch search(at.at.sum, at.at.bounds, growing_.scale,
                              growing_.options.min_weight_leaf, growing_.options.independent_weight,
                              variance);
    std::vector<NewtonCut> cuts;
    const GradientSum* first = counts.sums.data();
    for (const std::int32_t feature : chosen_) {
        const std::int32_t n_codes = features_.n_codes[feature];
        cuts.push_back(search.best(first, n_codes, features_.categorical[feature] != 0,
                                   features_.monotonic[feature]));
        first += n_codes;
    }
    at.cut = best_of(cuts.data(), chosen_);
}

std::int32_t SummedBoosting::add_cell(const Segment& at, std::int32_t depth) {
    cells_.push_back({at, depth});
    return static_cast<std::int32_t>(cells_.size()) - 1;
}

BoostingStep SummedBoosting::test_of(const InnerNode& node) {
    BoostingStep step;
    step.condition = node.cut.condition();
    if (node.cut.categorical) {
        step.condition.cut = static_cast<std::int32_t>(moves_.sets.size());
        moves_.sets.push_back(node.cut.set);
    }
    return step;
}

void SummedBoosting::open(std::vector<OpenNode> nodes, const std::vector<SharedCounts>& wholes) {
    open_ = std::move(nodes);
    keeps_counts_ = open_.size() <= most_at_once_;
    for (std::size_t i = 0; i < open_.size(); i += 2) {
        const SharedCounts& whole = wholes[i / 2];
        const auto weight = [&](const OpenNode& node) {
            return inner({node.cell, node.number}).at.sum.weight;
        };
        const bool a_is_smaller = weight(open_[i]) <= weight(open_[i + 1]);
        const std::size_t small = a_is_smaller ? i : i + 1, large = a_is_smaller ? i + 1 : i;
        if (whole != nullptr && keeps_counts_) {
            pending_.push_back({small, static_cast<std::ptrdiff_t>(large), whole});
        } else {
            pending_.push_back({i});
            pending_.push_back({i + 1});
        }
    }
}

// All counts of the level are known, and so are its cuts.
void SummedBoosting::advance() {
    moves_ = {};
    moves_.moves = true;
    std::vector<SharedCounts> wholes;
    for (OpenNode& node : open_) {
        std::vector<InnerNode>& nodes = cells_[node.cell].nodes;
        if (depth_ == 0) level_counts_.push_back(node.counts);
        if (nodes[node.number].cut.feature < 0) continue;
        const auto left = static_cast<std::int32_t>(nodes.size());
        nodes[node.number].left = left;
        const auto [a, b] = growing_.sides_of(nodes[node.number].at, nodes[node.number].cut, 0);
        nodes.push_back({numbered(a, left)});
        nodes.push_back({numbered(b, left + 1)});
        wholes.push_back(std::move(node.counts));
    }
    if (++depth_ < growing_.options.leafrank_depth && !wholes.empty())
        grow_inside(wholes);
    else
        finish_cells();
}

void SummedBoosting::grow_inside(const std::vector<SharedCounts>& wholes) {
    std::vector<OpenNode> below;
    for (const Place at : std::exchange(slots_, {})) {
        const InnerNode& node = inner(at);
        BoostingStep step;
        if (node.left >= 0) step = test_of(node);
        step.left = static_cast<std::int32_t>(slots_.size());
        if (node.left < 0) {
            slots_.push_back(at);
        } else {
            for (std::int32_t child = node.left; child < node.left + 2; ++child) {
                below.push_back({at.cell, child, static_cast<std::int32_t>(slots_.size())});
                slots_.push_back({at.cell, child});
            }
            step.right = step.left + 1;
        }
        moves_.steps.push_back(step);
    }
    open(std::move(below), wholes);
}

// Merges the leaves of each cell of the level into its halves, which may be grown in turn.
void SummedBoosting::finish_cells() {
    std::vector<std::vector<std::int32_t>> slot_of(cells_.size());  // by cell and leaf
    std::vector<Place> halves;
    std::vector<OpenNode> below;
    std::vector<SharedCounts> wholes;
    for (std::size_t i = 0; i < level_.size(); ++i) {
        const std::int32_t number = level_[i];
        slot_of[number].assign(cells_[number].nodes.size(), BoostingStep::kGone);
        if (!part_cell(number, slot_of[number], static_cast<std::int32_t>(halves.size()))) continue;
        for (const std::int32_t half : {cells_[number].left, cells_[number].right}) {
            below.push_back({half, 0, static_cast<std::int32_t>(halves.size())});
            halves.push_back({half, 0});
        }
        wholes.push_back(std::move(level_counts_[i]));
    }
    for (const Place at : slots_) moves_.steps.push_back(step_into(at, slot_of[at.cell]));
    slots_ = std::move(halves);
    level_counts_.clear();
    level_.clear();
    depth_ = 0;
    for (const OpenNode& node : below) level_.push_back(node.cell);
    open(std::move(below), wholes);
}

bool SummedBoosting::part_cell(std::int32_t number, std::vector<std::int32_t>& slot_of_leaf,
                               std::int32_t left_slot) {
    trial_.reset(growing_.options);
    std::vector<MovedRows> leaves;  // by falling value
    const Halves halves = make_halves(trial_, cells_[number], leaves);
    if (halves.n_left == 0) {
        cells_[number].nodes.clear();
        return false;
    }
    const std::int32_t depth = cells_[number].depth + 1;
    const std::int32_t left = add_cell(halves.left, depth), right = add_cell(halves.right, depth);
    cells_[number].left = left;
    cells_[number].right = right;
    if (depth >= growing_.options.max_depth) return false;
    for (const std::int32_t half : {left, right})
        cells_[half].nodes.push_back({numbered(cells_[half].at, 0)});
    for (std::size_t i = 0; i < leaves.size(); ++i)
        slot_of_leaf[leaves[i].from] = left_slot + (i < halves.n_left ? 0 : 1);
    return true;
}

BoostingStep SummedBoosting::step_into(Place at, const std::vector<std::int32_t>& slot_of_leaf) {
    if (cells_[at.cell].nodes.empty()) return {};  // the cell stays whole
    const InnerNode& node = inner(at);
    BoostingStep step;
    if (node.left < 0) {
        step.left = slot_of_leaf[at.number];
    } else if (slot_of_leaf[node.left] != BoostingStep::kGone) {
        step = test_of(node);
        step.left = slot_of_leaf[node.left];
        step.right = slot_of_leaf[node.left + 1];
    }
    return step;
}

BoostedTree SummedBoosting::compile() {
    // A cell at the last depth, or whose halves were never opened, is a stratum.
    std::vector<LeafStep> steps;  // of rows that are elsewhere
    keep_cells(growing_, cells_, steps);
    return growing_.compile();
}

}  // namespace treerank
