#include "core/podium.hpp"

#include "core/leaf_order.hpp"

namespace treerank {

double sum_of(const Masses& mass) {
    double sum = 0;
    for (const double m : mass) sum += m;
    return sum;
}

bool may_split(const Growing& cell, const TreeRankOptions& options) {
    const bool deep = options.max_depth >= 0 && cell.cell.depth >= options.max_depth;
    const double mass = sum_of(cell.class_mass);
    return !deep && mass >= options.min_mass_split && mass >= 2 * options.min_mass_leaf;
}

std::vector<ClassPair> pairs_of(const Masses& mass, Tournament tournament) {
    std::vector<ClassPair> pairs;
    const auto n_classes = static_cast<std::int32_t>(mass.size());
    for (std::int32_t worse = 0; worse < n_classes; ++worse) {
        if (mass[worse] == 0) continue;
        for (std::int32_t better = worse + 1; better < n_classes; ++better) {
            if (mass[better] == 0) continue;
            pairs.push_back({worse, better});
            if (tournament == Tournament::kAdjacent) break;
        }
    }
    return pairs;
}

void add_up(const std::vector<LeafRankNode>& nodes, std::size_t n_classes, Masses& mass) {
    for (std::size_t i = nodes.size(); i-- > 0;)  // children come after their parents
        for (std::size_t k = 0; nodes[i].left >= 0 && k < n_classes; ++k)
            mass[i * n_classes + k] =
                mass[nodes[i].left * n_classes + k] + mass[nodes[i].right * n_classes + k];
}

std::optional<Candidate> make_candidate(ClassPair pair, const LeafRankTree& grown,
                                        const Masses& cell, Masses test_mass, double min_mass) {
    const std::size_t n_classes = cell.size();
    std::vector<std::int32_t> leaves;
    std::vector<double> size(grown.nodes.size());
    for (std::size_t i = 0; i < grown.nodes.size(); ++i) {
        if (grown.nodes[i].left < 0) leaves.push_back(static_cast<std::int32_t>(i));
        for (std::size_t k = 0; k < n_classes; ++k) size[i] += test_mass[i * n_classes + k];
    }
    const auto [worse, better] = pair;
    const LeafOrder order = order_leaves(grown.nodes, leaves, grown.values,
                                         {cell[worse], cell[better]}, min_mass, size);
    if (order.n_left == 0) return std::nullopt;
    Candidate candidate{
        worse, better, grown.nodes, std::move(test_mass), grown.category_sets, Masses(n_classes)};
    for (std::size_t i = 0; i < order.leaves.size(); ++i) {
        const std::int32_t leaf = order.leaves[i];
        candidate.tests[leaf].side = i < order.n_left ? 0 : 1;
        for (std::size_t k = 0; i < order.n_left && k < n_classes; ++k)
            candidate.left[k] += candidate.test_mass[leaf * n_classes + k];
    }
    return candidate;
}

}  // namespace treerank
