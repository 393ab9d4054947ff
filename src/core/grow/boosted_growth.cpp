#include "core/grow/boosted_growth.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/grow/gradient_squares.hpp"

namespace treerank {

namespace {

constexpr std::int32_t kUnknown = -1;  // a cell that does not exist yet

std::int64_t buffer_of(const BoostedCell& cell, const InnerNode& node) {
    return node.depth == 0 ? buffer_of_cell(cell.depth) : 2 + (node.depth - 1) % 2;
}

// The total gain of all tests of an inner tree from node `number` downwards, summed left branch
// first.
double gain_inside(const BoostedCell& cell, std::int32_t number = 0) {
    const InnerNode& node = cell.nodes[number];
    if (node.left < 0) return 0;
    return node.cut.gain + gain_inside(cell, node.left) + gain_inside(cell, node.left + 1);
}

}  // namespace

BoostedGrowth::BoostedGrowth(Features features)
    : features_(std::move(features)), tree_(features_) {}

void BoostedGrowth::start(const BoostingOptions& options, std::int64_t n_rows,
                          const GradientSum& sum, std::size_t max_open, std::size_t max_ahead) {
    tree_.options = options;
    tree_.cells.clear();
    max_open_ = std::max<std::size_t>(max_open, 1);
    // Cells are halved ahead of their turn only if inner trees are single tests: rows that a deeper
    // inner tree has moved could not be restored.
    max_ahead_ = options.leafrank_depth == 1 ? std::max<std::size_t>(max_ahead, 1) : 1;
    square_shift_ = GradientSquares::shift_for(sum.weight);
    n_strata_ = 1;
    work_.clear();
    waiting_.clear();
    ready_.clear();
    partitions_.clear();
    clear_requests();
    free_histograms_.clear();
    n_histograms_ = 1;
    const std::int32_t root = add_cell({0, n_rows, sum, {}}, 0, options.max_depth > 0);
    if (options.max_depth > 0) work_.push_back({Work::kCells, {{{root, 0}, 0, false}}});
    advance();
}

void BoostedGrowth::clear_requests() {
    restored_.clear();
    moves_.clear();
    counts_.clear();
    counted_.clear();
}

std::int32_t BoostedGrowth::add_cell(const Segment& at, std::int32_t depth, bool opens) {
    tree_.cells.push_back({at, depth});
    if (opens) tree_.cells.back().nodes.push_back({at});
    return static_cast<std::int32_t>(tree_.cells.size()) - 1;
}

std::int32_t BoostedGrowth::take_histogram() {
    if (free_histograms_.empty()) return n_histograms_++;
    const std::int32_t histogram = free_histograms_.back();
    free_histograms_.pop_back();
    return histogram;
}

std::pair<std::int32_t, std::int32_t> BoostedGrowth::plan_histograms(NodeOfCell a, NodeOfCell b,
                                                                     std::int32_t whole,
                                                                     bool owns_whole) {
    const bool a_is_smaller = inner(a).at.n <= inner(b).at.n;
    const NodeOfCell counted = a_is_smaller ? a : b;
    const InnerNode& node = inner(counted);
    const std::int32_t small = take_histogram();
    const std::int32_t large = owns_whole ? whole : take_histogram();
    counts_.push_back({node.at.first, node.at.n, buffer_of(tree_.cells[counted.cell], node), small,
                       whole, large});
    counted_.push_back(counted);
    if (a_is_smaller) return {small, large};
    return {large, small};
}

void BoostedGrowth::advance() {
    nodes_.clear();
    open_.clear();
    while (!work_.empty() || begin_best()) {
        Work work = std::move(work_.back());
        work_.pop_back();
        if (begin(std::move(work))) return;
    }
}

// Returns true if the source has to act before growth can continue.
bool BoostedGrowth::begin(Work work) {
    if (work.kind <= Work::kNodes && work.open.size() > max_open_) {
        const auto first = work.open.begin() + static_cast<std::ptrdiff_t>(max_open_);
        work_.push_back({work.kind, {first, work.open.end()}});
        work.open.erase(first, work.open.end());
    }
    if (work.kind >= Work::kChildren && request_partitions(work)) {
        work_.push_back(std::move(work));
        return true;
    }
    switch (work.kind) {
        case Work::kCells:
            work_.push_back({Work::kGrown, work.open});
            work_.push_back({Work::kNodes, std::move(work.open)});
            break;
        case Work::kNodes:
            begin_nodes(std::move(work.open));
            break;
        case Work::kGrown:
            finish_trees(work.open);
            break;
        case Work::kChildren:
            open_children(work.open);
            break;
        case Work::kHalves:
            halve(work.open);
            break;
    }
    return !nodes_.empty();
}

// Takes waiting cells to be halved next. Returns false if growth is complete.
bool BoostedGrowth::begin_best() {
    while (!waiting_.empty() && n_strata_ < tree_.options.max_leaf_nodes) {
        const std::int32_t best = waiting_.front().at.cell;
        if (tree_.cells[best].left < 0) {
            work_.push_back({Work::kHalves, best_waiting()});
            return true;
        }
        keep_halves(best);
    }
    finish_waiting();
    return false;
}

// Returns the best cell and others that will probably be split as well. To find them, the remaining
// splits are played through as if each gave two halves with a fixed share of the gain. Halving a
// cell that is not split in the end costs time, but does not change the tree.
std::vector<BoostedGrowth::Open> BoostedGrowth::best_waiting() const {
    constexpr double kGainOfHalf = 0.6;  // rather high: fewer cells are halved in vain
    std::vector<Open> found, open = waiting_;
    const auto push = [&](const Open& cell) {
        open.push_back(cell);
        std::push_heap(open.begin(), open.end());
    };
    for (std::int32_t n = n_strata_; n < tree_.options.max_leaf_nodes; ++n) {
        if (open.empty() || found.size() == max_ahead_) break;
        std::pop_heap(open.begin(), open.end());
        Open best = open.back();
        open.pop_back();
        const bool is_known = best.at.cell != kUnknown;
        if (is_known && tree_.cells[best.at.cell].left >= 0) {
            for (const Open& cell : ready_)
                if (is_half(cell, best.at.cell)) push(cell);
            continue;
        }
        if (is_known) found.push_back(best);
        best.at.cell = kUnknown;
        best.gain *= kGainOfHalf;
        push(best);
        push(best);
    }
    return found;
}

// Accepts the split of the best cell, which has been halved; its children now wait for their turn.
void BoostedGrowth::keep_halves(std::int32_t cell) {
    std::pop_heap(waiting_.begin(), waiting_.end());
    waiting_.pop_back();
    ++n_strata_;
    for (Open open : ready_) {
        if (!is_half(open, cell)) continue;
        open.turn = 2 * n_strata_ + (open.at.cell == tree_.cells[cell].right ? 1 : 0);
        waiting_.push_back(open);
        std::push_heap(waiting_.begin(), waiting_.end());
    }
    std::erase_if(ready_, [&](const Open& open) { return is_half(open, cell); });
}

// Cells that still wait are not split, including those that were halved ahead of their turn.
void BoostedGrowth::finish_waiting() {
    for (const Open& open : std::exchange(waiting_, {})) {
        BoostedCell& cell = tree_.cells[open.at.cell];
        if (cell.left < 0) {
            keep_whole(open);
        } else {
            cell.nodes.clear();
            cell.left = cell.right = -1;
        }
    }
}

// Requests partitions of rows. The rows below the last tests of an inner tree need not be
// partitioned before the cell is halved.
bool BoostedGrowth::request_partitions(const Work& work) {
    for (const Open& open : work.open) {
        if (work.kind == Work::kChildren) request_partition(open.at);
        const std::size_t n = tree_.cells[open.at.cell].nodes.size();
        for (std::size_t i = 0; i < n && work.kind == Work::kHalves; ++i)
            request_partition({open.at.cell, static_cast<std::int32_t>(i)});
    }
    return !partitions_.empty();
}

void BoostedGrowth::request_partition(NodeOfCell at) {
    const InnerNode& node = inner(at);
    if (node.left < 0 || node.is_partitioned) return;
    // If the two sides are the halves of a cell, the better one is placed first, so that no row has
    // to be moved again.
    const std::vector<InnerNode>& nodes = tree_.cells[at.cell].nodes;
    const bool right_first =
        tree_.options.leafrank_depth == 1 &&
        tree_.value(nodes[node.left + 1].at) > tree_.value(nodes[node.left].at);
    partitions_.push_back(
        {{static_cast<std::size_t>(node.at.first), static_cast<std::size_t>(node.at.n)},
         node.cut.condition(),
         node.cut.set,
         right_first});
    partitioned_.push_back(at);
}

void BoostedGrowth::partitioned() {
    for (std::size_t i = 0; i < partitions_.size(); ++i) {
        const NodePartition& node = partitions_[i];
        const std::size_t n_left = node.passing_last ? node.n - node.n_left : node.n_left;
        place_children(partitioned_[i], static_cast<std::int64_t>(n_left), node.passing_last);
    }
    partitions_.clear();
    partitioned_.clear();
    advance();
}

void BoostedGrowth::place_children(NodeOfCell at, std::int64_t n_left, bool right_first) {
    InnerNode& node = inner(at);
    Segment &left = inner({at.cell, node.left}).at, &right = inner({at.cell, node.left + 1}).at;
    left.n = n_left;
    right.n = node.at.n - n_left;
    left.first = node.at.first + (right_first ? right.n : 0);
    right.first = node.at.first + (right_first ? 0 : left.n);
    node.is_partitioned = true;
}

void BoostedGrowth::begin_nodes(std::vector<Open> open) {
    open_ = std::move(open);
    for (const Open& some : open_) {
        const InnerNode& node = inner(some.at);
        nodes_.push_back({node.at.first, node.at.n, buffer_of(tree_.cells[some.at.cell], node),
                          some.histogram, node.at.sum, node.at.bounds});
    }
}

void BoostedGrowth::take(const std::vector<BoostedFoundCut>& found) {
    if (found.size() != open_.size())
        throw std::invalid_argument("take: one cut per node expected");
    std::vector<NewtonCut> cuts;
    std::vector<std::int64_t> n_left;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const auto& [cut, left, right] = found[i];
        const bool splits = left > 0 && right > 0 && std::int64_t{left} + right == nodes_[i].n;
        if (cut.feature >= static_cast<std::int64_t>(features_.size()) ||
            (cut.feature >= 0 && !splits))
            throw std::invalid_argument("take: a cut that does not split its rows");
        cuts.push_back(cut);
        n_left.push_back(left);
    }
    take(cuts, n_left);
}

void BoostedGrowth::take(const std::vector<NewtonCut>& cuts,
                         const std::vector<std::int64_t>& n_left) {
    clear_requests();
    std::vector<Open> split;
    for (std::size_t i = 0; i < cuts.size(); ++i) {
        const Open& open = open_[i];
        std::vector<InnerNode>& nodes = tree_.cells[open.at.cell].nodes;
        const std::int32_t depth = nodes[open.at.node].depth + 1;
        const bool goes_on = cuts[i].feature >= 0 && depth < tree_.options.leafrank_depth;
        if (goes_on) split.push_back(open);
        // A histogram that is no longer needed may be reused for a new one.
        if (!goes_on && open.owns_histogram) give_back(open.histogram);
        if (cuts[i].feature < 0) continue;
        nodes[open.at.node].cut = cuts[i];
        nodes[open.at.node].left = static_cast<std::int32_t>(nodes.size());
        const auto [left, right] = tree_.sides_of(nodes[open.at.node].at, cuts[i]);
        nodes.push_back({left, depth});
        nodes.push_back({right, depth});
        if (!n_left.empty()) place_children(open.at, n_left[i], false);
    }
    if (!split.empty()) work_.push_back({Work::kChildren, std::move(split)});
    advance();
}

void BoostedGrowth::open_children(const std::vector<Open>& nodes) {
    std::vector<Open> below;
    for (const Open& open : nodes) {
        const NodeOfCell left{open.at.cell, inner(open.at).left};
        const NodeOfCell right{left.cell, left.node + 1};
        const auto [a, b] = plan_histograms(left, right, open.histogram, open.owns_histogram);
        below.push_back({left, a, true});
        below.push_back({right, b, true});
    }
    work_.push_back({Work::kNodes, std::move(below)});
}

void BoostedGrowth::finish_trees(const std::vector<Open>& cells) {
    std::vector<Open> halved;
    for (Open open : cells) {
        const BoostedCell& cell = tree_.cells[open.at.cell];
        // Under constraints, the leaves may all have the same value.
        if (cell.nodes.size() == 1 ||
            (features_.any_monotonic() && tree_.halves_of(cell).n_left == 0)) {
            keep_whole(open);
        } else if (is_best_first()) {
            open.gain = gain_inside(cell);
            (open.at.cell == 0 ? waiting_ : ready_).push_back(open);
        } else {
            halved.push_back(open);
        }
    }
    if (!halved.empty()) work_.push_back({Work::kHalves, std::move(halved)});
}

void BoostedGrowth::keep_whole(const Open& open) {
    BoostedCell& cell = tree_.cells[open.at.cell];
    if (cell.nodes[0].is_partitioned) restored_.push_back(cell.at);
    cell.nodes.clear();
    give_back(open.histogram);
}

void BoostedGrowth::halve(const std::vector<Open>& cells) {
    std::vector<Open> below;
    for (const Open& open : cells) {
        const Halves halves = tree_.halves_of(tree_.cells[open.at.cell]);
        const std::int32_t depth = tree_.cells[open.at.cell].depth + 1;
        const bool opens = depth < tree_.options.max_depth &&
                           (!is_best_first() || n_strata_ + 1 < tree_.options.max_leaf_nodes);
        const std::int32_t left = add_cell(halves.left, depth, opens);
        const std::int32_t right = add_cell(halves.right, depth, opens);
        BoostedCell& cell = tree_.cells[open.at.cell];
        cell.left = left;
        cell.right = right;
        std::int64_t to = cell.at.first;
        for (std::size_t i = 0; i < halves.leaves.size(); ++i) {
            InnerNode& leaf = cell.nodes[halves.leaves[i]];
            leaf.half = i < halves.n_left ? left : right;
            moves_.push_back(
                {leaf.at.first, to, leaf.at.n, buffer_of(cell, leaf), buffer_of_cell(depth)});
            leaf.at.first = to;
            to += leaf.at.n;
        }
        if (!opens) {
            give_back(open.histogram);
            continue;
        }
        const auto [a, b] = plan_histograms({left, 0}, {right, 0}, open.histogram, true);
        below.push_back({{left, 0}, a, false});
        below.push_back({{right, 0}, b, false});
    }
    if (!below.empty()) work_.push_back({Work::kCells, std::move(below)});
}

NewtonSearch BoostedGrowth::search(const BoostedOpenNode& node, double row_variance) const {
    return {node.sum,
            node.bounds,
            tree_.options.scale,
            tree_.options.min_weight_leaf,
            tree_.options.independent_weight,
            row_variance};
}

double BoostedGrowth::row_variance(const BoostedOpenNode& node,
                                   const GradientSquares& squares) const {
    return squares.variance(node.sum, tree_.options.scale, tree_.options.independent_weight,
                            square_shift_);
}

}  // namespace treerank
