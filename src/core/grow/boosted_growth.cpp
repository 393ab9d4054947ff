#include "core/grow/boosted_growth.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "core/grow/gradient_squares.hpp"
#include "core/util/stretches.hpp"

namespace treerank {

namespace {

std::int64_t buffer_of_cell(std::int32_t depth) { return depth % 2; }
std::int64_t buffer_of_node(std::int32_t cell_depth, std::int32_t depth) {
    return depth == 0 ? buffer_of_cell(cell_depth) : 2 + (depth - 1) % 2;
}

// Where the rows of each leaf of the tree inside a cell lie, by their first.
void note_buffers(const BoostedCell& cell, std::int32_t number, std::int32_t depth,
                  std::map<std::size_t, std::int64_t>& buffers) {
    const InnerNode& node = cell.nodes[number];
    if (node.left < 0) {
        buffers[node.at.first] = buffer_of_node(cell.depth, depth);
        return;
    }
    note_buffers(cell, node.left, depth + 1, buffers);
    note_buffers(cell, node.left + 1, depth + 1, buffers);
}

NewtonCut cut_of(const BoostedFoundCut& found) {
    NewtonCut cut;
    cut.gain = found.gain;
    cut.feature = found.feature;
    cut.cut = found.cut;
    cut.missing_left = found.missing_left != 0;
    cut.categorical = found.categorical != 0;
    cut.set = found.set;
    cut.left = found.left;
    return cut;
}

}  // namespace

BoostedGrowth::BoostedGrowth(Features features)
    : features_(std::move(features)), growing_(features_), trial_(features_) {}

void BoostedGrowth::start(const BoostingOptions& options, std::size_t n_rows,
                          const GradientSum& sum, std::size_t most_open) {
    growing_.reset(options);
    most_open_ = std::max<std::size_t>(most_open, 1);
    square_shift_ = GradientSquares::shift_for(sum.weight);
    cells_.clear();
    work_.clear();
    moves_.clear();
    counts_.clear();
    steps_.clear();
    free_histograms_.clear();
    n_histograms_ = 1;
    const std::int32_t root = add_cell({0, n_rows, sum, {}}, 0);
    work_.push_back({Work::kCells, {{root, 0}}});
    advance();
}

std::int32_t BoostedGrowth::add_cell(const Segment& at, std::int32_t depth) {
    cells_.push_back({at, depth});
    return static_cast<std::int32_t>(cells_.size()) - 1;
}

std::int32_t BoostedGrowth::take_histogram() {
    if (free_histograms_.empty()) return n_histograms_++;
    const std::int32_t histogram = free_histograms_.back();
    free_histograms_.pop_back();
    return histogram;
}

std::pair<std::int32_t, std::int32_t> BoostedGrowth::plan_parts(const Segment& a, const Segment& b,
                                                                std::int32_t whole, bool owns_whole,
                                                                std::int64_t buffer) {
    const bool a_is_smaller = a.n <= b.n;
    const Segment& counted = a_is_smaller ? a : b;
    const std::int32_t small = take_histogram();
    const std::int32_t large = owns_whole ? whole : take_histogram();
    counts_.push_back({static_cast<std::int64_t>(counted.first),
                       static_cast<std::int64_t>(counted.n), buffer, small, whole, large});
    if (a_is_smaller) return {small, large};
    return {large, small};
}

void BoostedGrowth::advance() {
    nodes_.clear();
    open_.clear();
    while (!work_.empty()) {
        Work work = std::move(work_.back());
        work_.pop_back();
        if (begin(work)) return;
    }
}

// True: nodes are at hand, whose cuts are needed to go on.
bool BoostedGrowth::begin(Work& work) {
    const auto first = static_cast<std::ptrdiff_t>(work_.size());
    if (work.kind == Work::kHalves) {
        make_halves_of(work.cells);
        return false;
    }
    if (std::max(work.cells.size(), work.nodes.size()) > most_open_) {
        in_stretches(work.cells, most_open_, [&](std::vector<OpenCell> some) {
            work_.push_back({work.kind, std::move(some), {}, work.depth});
        });
        in_stretches(work.nodes, most_open_, [&](std::vector<OpenNode> some) {
            work_.push_back({work.kind, {}, std::move(some), work.depth});
        });
        std::reverse(work_.begin() + first, work_.end());
        return false;
    }
    if (work.kind == Work::kCells) {
        begin_cells(work.cells);
        return false;
    }
    begin_nodes(work);
    return !nodes_.empty();
}

void BoostedGrowth::begin_cells(const std::vector<OpenCell>& level) {
    std::vector<OpenNode> open;
    std::vector<OpenCell> growing;
    for (const OpenCell& cell : level) {
        if (cells_[cell.number].depth >= growing_.options.max_depth) continue;
        cells_[cell.number].nodes.push_back({cells_[cell.number].at});
        open.push_back({cell.number, 0, cell.histogram, false});
        growing.push_back(cell);
    }
    if (growing.empty()) return;
    work_.push_back({Work::kHalves, std::move(growing)});
    if (growing_.options.leafrank_depth > 0)
        work_.push_back({Work::kNodes, {}, std::move(open), 0});
}

void BoostedGrowth::begin_nodes(const Work& work) {
    open_ = work.nodes;
    open_depth_ = work.depth;
    for (const OpenNode& node : open_) {
        const Segment& at = inner(node).at;
        nodes_.push_back({static_cast<std::int64_t>(at.first), static_cast<std::int64_t>(at.n),
                          buffer_of_node(cells_[node.cell].depth, open_depth_), node.histogram,
                          at.sum, at.bounds});
    }
}

void BoostedGrowth::split(const OpenNode& node, const BoostedFoundCut& found,
                          std::vector<OpenNode>& below) {
    std::vector<InnerNode>& nodes = cells_[node.cell].nodes;
    const std::size_t n = nodes[node.number].at.n;
    if (static_cast<std::size_t>(found.feature) >= features_.size() || found.n_left == 0 ||
        found.n_right == 0 || std::size_t{found.n_left} + found.n_right != n)
        throw std::invalid_argument("take: a cut that does not part its rows");
    const auto left = static_cast<std::int32_t>(nodes.size());
    nodes[node.number].cut = cut_of(found);
    nodes[node.number].n_left = found.n_left;
    nodes[node.number].left = left;
    const auto [a, b] =
        growing_.sides_of(nodes[node.number].at, nodes[node.number].cut, found.n_left);
    nodes.push_back({a});
    nodes.push_back({b});
    if (open_depth_ + 1 >= growing_.options.leafrank_depth) {
        if (node.owns_histogram) give_back(node.histogram);
        return;
    }
    const std::int64_t buffer = buffer_of_node(cells_[node.cell].depth, open_depth_ + 1);
    const auto [of_a, of_b] = plan_parts(a, b, node.histogram, node.owns_histogram, buffer);
    below.push_back({node.cell, left, of_a, true});
    below.push_back({node.cell, left + 1, of_b, true});
}

void BoostedGrowth::take(const std::vector<BoostedFoundCut>& cuts) {
    if (cuts.size() != open_.size()) throw std::invalid_argument("take: one cut a node expected");
    moves_.clear();
    counts_.clear();
    std::vector<OpenNode> below;
    // Histograms are given back first: a new one may be counted while none is looked at any more.
    for (std::size_t i = 0; i < cuts.size(); ++i)
        if (cuts[i].feature < 0 && open_[i].owns_histogram) give_back(open_[i].histogram);
    for (std::size_t i = 0; i < cuts.size(); ++i)
        if (cuts[i].feature >= 0) split(open_[i], cuts[i], below);
    if (!below.empty()) work_.push_back({Work::kNodes, {}, std::move(below), open_depth_ + 1});
    advance();
}

void BoostedGrowth::make_halves_of(const std::vector<OpenCell>& level) {
    std::vector<OpenCell> below;
    for (const OpenCell& open : level) {
        trial_.reset(growing_.options);
        std::vector<MovedRows> moved;
        const Halves halves = make_halves(trial_, cells_[open.number], moved);
        if (halves.n_left == 0) {
            cells_[open.number].nodes.clear();
            give_back(open.histogram);
            continue;
        }
        const std::int32_t depth = cells_[open.number].depth + 1;
        std::map<std::size_t, std::int64_t> buffers;
        note_buffers(cells_[open.number], 0, 0, buffers);
        for (const MovedRows& rows : moved)
            moves_.push_back({static_cast<std::int64_t>(rows.from),
                              static_cast<std::int64_t>(rows.to), static_cast<std::int64_t>(rows.n),
                              buffers.at(rows.from), buffer_of_cell(depth)});
        const std::int32_t left = add_cell(halves.left, depth);
        const std::int32_t right = add_cell(halves.right, depth);
        cells_[open.number].left = left;
        cells_[open.number].right = right;
        if (depth >= growing_.options.max_depth) {
            give_back(open.histogram);
            continue;
        }
        const auto [a, b] =
            plan_parts(halves.left, halves.right, open.histogram, true, buffer_of_cell(depth));
        below.push_back({left, a});
        below.push_back({right, b});
    }
    if (!below.empty()) work_.push_back({Work::kCells, std::move(below)});
}

BoostedTree BoostedGrowth::finish() {
    std::vector<LeafStep> steps;
    keep_cells(growing_, cells_, steps);
    for (const LeafStep& step : steps)
        steps_.push_back({static_cast<std::int64_t>(step.first), static_cast<std::int64_t>(step.n),
                          buffer_of_cell(step.depth), step.value});
    return growing_.compile();
}

}  // namespace treerank
