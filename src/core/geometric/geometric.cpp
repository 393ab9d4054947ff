#include "core/geometric/geometric.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace treerank {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kRowsPerTask = 512;
// The limit on tests that are visited per node of the result. Where paths meet again, a graph can
// have long runs of already decided tests on very many paths.
constexpr std::size_t kTestsPerBox = 64;

// The values that a feature may have inside a box: low < x <= high or a set of codes; and missing.
struct Range {
    double low = -kInfinity;
    double high = kInfinity;
    CategorySet codes;
    bool categorical = false;
    bool missing = true;

    bool has_known() const {
        if (!categorical) return low < high;
        return std::any_of(std::begin(codes.words), std::end(codes.words),
                           [](std::uint64_t word) { return word != 0; });
    }
    bool empty() const { return !missing && !has_known(); }
};

Range whole_range(std::int32_t n_codes) {
    Range range;
    range.categorical = n_codes > 0;
    for (std::int32_t code = 1; code < n_codes; ++code) range.codes.insert(code);
    return range;
}

struct Sides {
    Range left, right;
};

Sides cut(const Range& range, const AxisNode& node, const std::vector<CategorySet>& sets) {
    Sides sides{range, range};
    if (node.set >= 0) {
        const CategorySet& set = sets[node.set];
        for (std::size_t w = 0; w < std::size(set.words); ++w) {
            sides.left.codes.words[w] &= set.words[w];
            sides.right.codes.words[w] &= ~set.words[w];
        }
    } else {
        sides.left.high = std::min(range.high, node.threshold);
        sides.right.low = std::max(range.low, node.threshold);
    }
    (node.missing_left ? sides.right : sides.left).missing = false;
    return sides;
}

class Expander {
  public:
    Expander(const AxisTree& graph, const std::vector<std::int32_t>& n_codes, std::size_t max_nodes)
        : graph_(graph), max_nodes_(max_nodes) {
        for (const std::int32_t n : n_codes) ranges_.push_back(whole_range(n));
        out_.sets = graph.sets;
    }

    AxisTree run() {
        pending_.push_back({});
        while (!pending_.empty()) {
            const Step step = pending_.back();
            pending_.pop_back();
            if (step.feature >= 0) {
                if (step.node >= 0) leave_later(step.feature);
                ranges_[step.feature] = step.range;
            }
            if (step.node >= 0) enter(step);
        }
        return std::move(out_);
    }

  private:
    // Enters a child, whose box is narrower in one feature; or, with node -1, leaves it and
    // restores the range of the feature.
    struct Step {
        std::int32_t node = 0;
        std::int32_t feature = -1;
        Range range = {};
        std::int32_t parent = -1;
        bool right = false;
        std::uint8_t known = 1;
        std::size_t depth = 0;
    };

    void leave_later(std::int32_t feature) {
        Step back;
        back.node = -1;
        back.feature = feature;
        back.range = ranges_[feature];
        pending_.push_back(back);
    }

    void enter(const Step& step) {
        std::size_t depth = step.depth;
        for (std::int32_t at = step.node;; ++depth) {
            if (depth > graph_.nodes.size())
                throw std::invalid_argument("the tree goes round in a circle");
            if (++tests_ / kTestsPerBox > max_nodes_)
                throw std::length_error("the tree has too many boxes");
            AxisNode node = graph_.nodes[at];
            node.known = step.known;
            if (node.left < 0) {
                write(node, step);
                return;
            }
            const Sides sides = cut(ranges_[node.feature], node, graph_.sets);
            if (sides.left.empty() || sides.right.empty()) {
                at = sides.left.empty() ? node.right : node.left;
                continue;
            }
            branch(node, sides, step, depth);
            return;
        }
    }

    void branch(AxisNode node, const Sides& sides, const Step& from, std::size_t depth) {
        const bool left_known = sides.left.has_known(), right_known = sides.right.has_known();
        const std::int32_t left = node.left, right = node.right;
        if (!left_known || !right_known) {
            node.set = -1;
            node.threshold = left_known ? kInfinity : -kInfinity;
        }
        const std::int32_t number = write(node, from);
        const auto known = [&](bool side) {
            return static_cast<std::uint8_t>(from.known != 0 && side);
        };
        pending_.push_back(
            {right, node.feature, sides.right, number, true, known(right_known), depth + 1});
        pending_.push_back(
            {left, node.feature, sides.left, number, false, known(left_known), depth + 1});
    }

    std::int32_t write(const AxisNode& node, const Step& from) {
        if (out_.nodes.size() >= max_nodes_) throw std::length_error("the tree has too many boxes");
        const auto number = static_cast<std::int32_t>(out_.nodes.size());
        out_.nodes.push_back(node);
        if (from.parent >= 0) {
            AxisNode& parent = out_.nodes[from.parent];
            (from.right ? parent.right : parent.left) = number;
        }
        return number;
    }

    const AxisTree& graph_;
    const std::size_t max_nodes_;
    std::size_t tests_ = 0;
    AxisTree out_;
    std::vector<Range> ranges_;
    std::vector<Step> pending_;
};

}  // namespace

AxisTree expand(const AxisTree& graph, const std::vector<std::int32_t>& n_codes,
                std::size_t max_nodes) {
    const auto n = static_cast<std::int32_t>(graph.nodes.size());
    const auto n_sets = static_cast<std::int32_t>(graph.sets.size());
    const auto n_features = static_cast<std::int32_t>(n_codes.size());
    if (n == 0) throw std::invalid_argument("the tree has no node");
    for (const std::int32_t codes : n_codes)
        if (codes > kMaxCategoryCodes) throw std::invalid_argument("a feature has too many codes");
    for (const AxisNode& node : graph.nodes) {
        if (node.left < 0) continue;
        const bool inside = node.left < n && node.right >= 0 && node.right < n &&
                            node.feature >= 0 && node.feature < n_features && node.set < n_sets;
        if (!inside || (node.set >= 0) != (n_codes[node.feature] > 0))
            throw std::invalid_argument(
                "a test of the tree names a node or a feature that is not there");
    }
    return Expander(graph, n_codes, max_nodes).run();
}

bool is_sound(const AxisTree& tree, std::size_t n_features, std::size_t n_leaves) {
    const auto n = static_cast<std::int32_t>(tree.nodes.size());
    for (std::int32_t i = 0; i < n; ++i) {
        const AxisNode& node = tree.nodes[i];
        if (node.left < 0) {
            if (node.leaf < 0 || static_cast<std::size_t>(node.leaf) >= n_leaves) return false;
            continue;
        }
        if (node.left <= i || node.left >= n || node.right <= i || node.right >= n) return false;
        if (node.feature < 0 || static_cast<std::size_t>(node.feature) >= n_features) return false;
        if (node.set >= static_cast<std::int32_t>(tree.sets.size())) return false;
    }
    return n > 0;
}

namespace {

// Bit mask of the sides that have leaves below a node.
constexpr std::uint8_t kBothSides = 3;

// A node prepared for one assignment of leaves to sides and one scale per feature.
struct ReadyNode {
    double threshold;
    double inverse_scale;
    std::int32_t left, right;
    std::int32_t feature;
    std::int32_t set;
    std::uint8_t sides;
    std::uint8_t missing_left;
};

std::vector<ReadyNode> make_ready(const AxisTree& tree,
                                  const std::vector<std::uint8_t>& side_of_leaf,
                                  const std::vector<double>& scale) {
    std::vector<ReadyNode> ready(tree.nodes.size());
    for (std::size_t i = ready.size(); i-- > 0;) {
        const AxisNode& node = tree.nodes[i];
        ReadyNode& made = ready[i];
        made = {node.threshold, 0,        node.left, node.right,
                node.feature,   node.set, 0,         node.missing_left};
        if (node.left < 0) {
            made.sides = side_of_leaf[node.leaf] ? 2 : 1;
        } else {
            made.inverse_scale = 1 / scale[node.feature];
            made.sides = ready[node.left].sides | ready[node.right].sides;
        }
    }
    return ready;
}

// Branch and bound. Boxes further down are narrower, so the distance to them can only grow. A
// branch is dropped once it is as far as the best box so far, or if all of its leaves are on the
// row's own side. If all leaves are on the other side, their union is one box.
class Search {
  public:
    Search(const AxisTree& tree, const std::vector<ReadyNode>& nodes, std::size_t n_features)
        : tree_(tree), nodes_(nodes), offset_(n_features, 0.0) {}

    void find(const double* x, std::int32_t& leaf, double& distance, std::int32_t& nearest) {
        x_ = x;
        best_ = kInfinity;
        nearest_ = -1;
        leaf = tree_.nodes[walk_to_own_leaf()].leaf;
        // Start with the last test on the path: its far side tends to be the nearest box.
        while (!pending_.empty()) {
            const Branch branch = pending_.back();
            pending_.pop_back();
            if (branch.node < 0)
                offset_[branch.feature] = branch.offset;
            else if (branch.squared < best_)
                explore(branch);
        }
        distance = std::sqrt(best_);
        nearest = nearest_;
    }

  private:
    // A box to be explored and the squared distance to it; `offset` is the distance in the feature
    // of the last test. With node -1: the offset to restore on leaving a box.
    struct Branch {
        std::int32_t node;
        std::int32_t feature;
        double squared;
        double offset;
    };
    struct Outcome {
        std::int32_t near, far;
        double offset;  // distance to the far side
    };

    Outcome test(const ReadyNode& node) const {
        const double value = x_[node.feature];
        bool left;
        double offset;
        if (std::isnan(value)) {
            left = node.missing_left != 0;
            offset = 0;
        } else if (node.set >= 0) {
            left = tree_.sets[node.set].contains(static_cast<std::uint32_t>(value));
            offset = 1;
        } else {
            left = value <= node.threshold;
            offset = std::abs(value - node.threshold) * node.inverse_scale;
        }
        return left ? Outcome{node.left, node.right, offset}
                    : Outcome{node.right, node.left, offset};
    }

    // Descends to the row's leaf. Pushes the far side of each test on the path as a branch if the
    // boundary can be there.
    std::int32_t walk_to_own_leaf() {
        std::int32_t at = 0;
        while (nodes_[at].left >= 0) {
            const Outcome outcome = test(nodes_[at]);
            if (nodes_[at].sides == kBothSides)
                pending_.push_back({outcome.far, nodes_[at].feature,
                                    outcome.offset * outcome.offset, outcome.offset});
            at = outcome.near;
        }
        wanted_ = kBothSides ^ nodes_[at].sides;
        return at;
    }

    void explore(const Branch& branch) {
        if (settle(branch.node, branch.squared)) return;
        const auto feature = static_cast<std::size_t>(branch.feature);
        pending_.push_back({-1, branch.feature, 0, offset_[feature]});
        offset_[feature] = branch.offset;
        std::int32_t at = branch.node;
        do {
            const ReadyNode& node = nodes_[at];
            const Outcome outcome = test(node);
            // The difference of the squared offsets, as a product of non-negative numbers: no
            // cancellation.
            const double old = offset_[node.feature];
            const double grown = std::max(outcome.offset, old);
            const double squared = branch.squared + (grown - old) * (grown + old);
            if (squared < best_ && !settle(outcome.far, squared))
                pending_.push_back({outcome.far, node.feature, squared, grown});
            at = outcome.near;
        } while (!settle(at, branch.squared));
    }

    // Whether a node need not be explored because all leaves below it are on one side. If that is
    // the other side, the node may become the nearest box.
    bool settle(std::int32_t node, double squared) {
        const std::uint8_t sides = nodes_[node].sides;
        if (sides == kBothSides) return false;
        if (sides == wanted_ && squared < best_) {
            best_ = squared;
            nearest_ = node;
        }
        return true;
    }

    const AxisTree& tree_;
    const std::vector<ReadyNode>& nodes_;
    std::vector<double> offset_;  // distance from the row to the current box, by feature
    std::vector<Branch> pending_;
    const double* x_ = nullptr;
    std::uint8_t wanted_ = 0;
    double best_ = 0;
    std::int32_t nearest_ = -1;
};

}  // namespace

Boundary find_boundary(const AxisTree& tree, const std::vector<std::uint8_t>& side_of_leaf,
                       const RowMatrix& rows, const std::vector<double>& scale, ThreadPool& pool) {
    const std::vector<ReadyNode> nodes = make_ready(tree, side_of_leaf, scale);
    Boundary found;
    found.leaf.resize(rows.rows);
    found.distance.resize(rows.rows);
    found.nearest.resize(rows.rows);
    run_blocks(pool, rows.rows, kRowsPerTask, [&](std::size_t first, std::size_t last) {
        Search search(tree, nodes, rows.features);
        for (std::size_t i = first; i < last; ++i) {
            pool.check();
            search.find(rows.data + i * rows.features, found.leaf[i], found.distance[i],
                        found.nearest[i]);
        }
    });
    return found;
}

}  // namespace treerank
