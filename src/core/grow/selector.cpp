#include "core/grow/selector.hpp"

#include <algorithm>

#include "core/grow/leaf_order.hpp"

namespace treerank {

namespace {
// Up to so many nodes a copy is cheaper than room for the next ones.
constexpr std::size_t kManyNodes = 1024;
}  // namespace

bool may_split(const Growing& cell, const TreeRankOptions& options) {
    const bool deep = options.max_depth >= 0 && cell.cell.depth >= options.max_depth;
    const double weight = cell.weight();
    const auto present = std::count_if(cell.class_weight.begin(), cell.class_weight.end(),
                                       [](double m) { return m > 0; });
    return !deep && present > 1 && weight >= options.min_weight_split &&
           weight >= 2 * options.min_weight_leaf;
}

std::vector<ClassPair> pairs_of(const Weights& weight, Tournament tournament) {
    std::vector<ClassPair> pairs;
    const auto n_classes = static_cast<std::int32_t>(weight.size());
    for (std::int32_t worse = 0; worse < n_classes; ++worse) {
        if (weight[worse] == 0) continue;
        for (std::int32_t better = worse + 1; better < n_classes; ++better) {
            if (weight[better] == 0) continue;
            pairs.push_back({worse, better});
            if (tournament == Tournament::kAdjacent) break;
        }
    }
    return pairs;
}

void add_up(const std::vector<LeafRankNode>& nodes, std::size_t n_classes, Weights& weight) {
    for (std::size_t i = nodes.size(); i-- > 0;)  // children come after their parents
        for (std::size_t k = 0; nodes[i].left >= 0 && k < n_classes; ++k)
            weight[i * n_classes + k] =
                weight[nodes[i].left * n_classes + k] + weight[nodes[i].right * n_classes + k];
}

std::optional<Candidate> make_candidate(ClassPair pair, LeafRankTree& grown, const Weights& cell,
                                        Weights test_weight, double min_weight) {
    const std::size_t n_classes = cell.size();
    std::vector<std::int32_t> leaves;
    std::vector<double> size(test_weight.size() / n_classes);
    for (std::size_t i = 0; i < grown.nodes.size(); ++i)
        if (grown.nodes[i].left < 0) leaves.push_back(static_cast<std::int32_t>(i));
    for (std::size_t i = 0; i < test_weight.size(); ++i) size[i / n_classes] += test_weight[i];
    const auto [worse, better] = pair;
    const LeafOrder order = order_leaves(grown.nodes, leaves, grown.values,
                                         {cell[worse], cell[better]}, min_weight, size);
    if (order.n_left == 0) return std::nullopt;
    Candidate candidate{worse, better, {}, std::move(test_weight), grown.category_sets, {}};
    if (grown.nodes.size() < kManyNodes)
        candidate.tests = grown.nodes;
    else
        candidate.tests = std::move(grown.nodes);
    for (std::size_t i = 0; i < order.leaves.size(); ++i)
        candidate.tests[order.leaves[i]].side = i < order.n_left ? 0 : 1;
    if (candidate.test_weight.empty()) {
        candidate.left = {order.left.negative, order.left.positive};
        return candidate;
    }
    candidate.left.resize(n_classes);
    for (std::size_t i = 0; i < order.n_left; ++i)
        for (std::size_t k = 0; k < n_classes; ++k)
            candidate.left[k] += candidate.test_weight[order.leaves[i] * n_classes + k];
    return candidate;
}

void keep_winner(Growing& cell, Candidate& winner, double gain) {
    cell.cell.auc_gain = gain;
    cell.cell.worse_class = winner.worse_class;
    cell.cell.better_class = winner.better_class;
    cell.tests = std::move(winner.tests);
    cell.category_sets = std::move(winner.category_sets);
    cell.test_weight = std::move(winner.test_weight);
}

}  // namespace treerank
