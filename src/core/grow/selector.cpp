#include "core/grow/selector.hpp"

#include <algorithm>

#include "core/data/random.hpp"
#include "core/grow/leaf_order.hpp"

namespace treerank {

namespace {
// With fewer nodes, copying them is faster than allocating memory for the next ones.
constexpr std::size_t kManyNodes = 1024;

// The parts of a cell below the top stay below it, so local and partial AUC do not change. The
// first few levels are split all the same, so that the rest of the ranking is of some use.
constexpr std::int32_t kDepthBelowTop = 5;

// Branches of a cell's key besides those of its children: the draw of features, then the pairs of
// classes.
constexpr std::uint64_t kFeatureBranch = 2, kPairBranch = 3;

std::vector<std::int32_t> draw_features(const Features& features, std::int32_t max_features,
                                        std::uint64_t key) {
    std::vector<std::int32_t> drawn = features.all();
    if (max_features >= 0) {
        const auto wanted = std::min(drawn.size(), static_cast<std::size_t>(max_features));
        draw_to_front(drawn, 0, wanted, key);
        drawn.resize(wanted);
        std::sort(drawn.begin(), drawn.end());
    }
    return drawn;
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

// Fills in the weights of inner nodes from those of the leaves (nodes x classes).
void add_up(const std::vector<LeafRankNode>& nodes, std::size_t n_classes, Weights& weight) {
    for (std::size_t i = nodes.size(); i-- > 0;)  // children come after their parents
        for (std::size_t k = 0; nodes[i].left >= 0 && k < n_classes; ++k)
            weight[i * n_classes + k] =
                weight[nodes[i].left * n_classes + k] + weight[nodes[i].right * n_classes + k];
}

// Makes a candidate the split of its cell.
void keep_winner(OpenSplit& open, Candidate& winner, double gain) {
    Growing& cell = *open.cell;
    cell.cell.auc_gain = gain;
    cell.cell.worse_class = winner.pair.first;
    cell.cell.better_class = winner.pair.second;
    open.left = std::move(winner.left);
    static_cast<CellTests&>(cell) = std::move(winner);
}

// Picks the candidate with the largest gain, on ties that of the lower pair of classes. Returns
// false if none gains enough. `worse` and `better` are the chains of the other cells; `none_better`
// is the chain without any better cell.
bool pick(OpenSplit& open, const Chains& worse, const Chains& better, const Chains& none_better,
          const Weights& total, const TreeRankOptions& options) {
    const bool local = options.tournament_gain == TournamentGain::kLocal;
    const Chains none_worse = no_worse_cell();
    const auto gain_of = [&](const Candidate& candidate, bool alone) {
        return vus_increase(alone ? none_worse : worse, alone ? none_better : better,
                            open.cell->class_weight, candidate.left, total);
    };
    double best = options.min_auc_gain;
    Candidate* winner = nullptr;
    for (Candidate& candidate : open.candidates) {
        const double gain = gain_of(candidate, local);
        if (!(gain > best)) continue;
        best = gain;
        winner = &candidate;
    }
    if (winner == nullptr) return false;
    keep_winner(open, *winner, local ? gain_of(*winner, false) : best);
    return true;
}

}  // namespace

bool may_split(const Growing& cell, const TreeRankOptions& options) {
    const bool deep = options.max_depth >= 0 && cell.cell.depth >= options.max_depth;
    const double weight = cell.weight();
    const auto present = std::count_if(cell.class_weight.begin(), cell.class_weight.end(),
                                       [](double m) { return m > 0; });
    const bool in_reach = cell.reach > 0 || cell.cell.depth < kDepthBelowTop;
    return !deep && in_reach && present > 1 && weight >= options.min_weight_split &&
           weight >= 2 * options.min_weight_leaf;
}

CellTrials trials_of(const OpenSplit& open, const Features& features,
                     const TreeRankOptions& options) {
    CellTrials trials;
    trials.features =
        draw_features(features, options.max_features, key_of(open.cell->key, kFeatureBranch));
    std::uint64_t branch = kPairBranch;
    for (const ClassPair& pair : pairs_of(open.cell->class_weight, options.tournament))
        trials.pairs.push_back({pair, key_of(open.cell->key, branch++)});
    return trials;
}

std::pair<OpenSplit, OpenSplit> open_children(const OpenSplit& open, const Focus& focus,
                                              GrowingCells& grown) {
    add_children(*open.cell, open.left, focus, grown);
    return {OpenSplit{open.cell->left}, OpenSplit{open.cell->right}};
}

void add_candidate(OpenSplit& open, ClassPair pair, LeafRankTree& grown, Weights leaf_weight,
                   double min_weight) {
    if (grown.nodes.size() < 3) return;  // a single leaf: no split
    const Weights& cell = open.cell->class_weight;
    const std::size_t n_classes = cell.size();
    std::vector<double> size(leaf_weight.size() / n_classes);
    for (std::size_t i = 0; i < leaf_weight.size(); ++i) size[i / n_classes] += leaf_weight[i];
    const LeafOrder order =
        order_leaves(grown, {cell[pair.first], cell[pair.second]}, min_weight, size);
    if (order.n_left == 0) return;
    if (!leaf_weight.empty()) add_up(grown.nodes, n_classes, leaf_weight);
    Candidate candidate{{{}, std::move(leaf_weight), grown.category_sets}, pair, {}};
    if (grown.nodes.size() < kManyNodes)
        candidate.tests = grown.nodes;
    else
        candidate.tests = std::move(grown.nodes);
    for (std::size_t i = 0; i < order.leaves.size(); ++i)
        candidate.tests[order.leaves[i]].side = i < order.n_left ? 0 : 1;
    if (candidate.test_weight.empty())
        candidate.left = {order.left.negative, order.left.positive};
    else
        candidate.left.resize(n_classes);
    for (std::size_t i = 0; i < order.n_left && !candidate.test_weight.empty(); ++i)
        for (std::size_t k = 0; k < n_classes; ++k)
            candidate.left[k] += candidate.test_weight[order.leaves[i] * n_classes + k];
    open.candidates.push_back(std::move(candidate));
}

bool choose_winner(OpenSplit& open, const Weights& total, const TreeRankOptions& options) {
    if (open.candidates.empty()) return false;
    Candidate& only = open.candidates.front();
    const double gain = vus_increase({}, {}, open.cell->class_weight, only.left, total);
    if (!(gain > options.min_auc_gain)) return false;
    keep_winner(open, only, gain);
    return true;
}

void choose_winners(Growing& root, const std::vector<OpenSplit*>& level,
                    const TreeRankOptions& options) {
    const std::vector<Growing*> cells = leaves_of(root);  // the ordered partition, best first
    const Weights& total = root.class_weight;
    std::vector<Chains> worse(cells.size());
    Chains below = no_worse_cell();
    for (std::size_t i = cells.size(); i-- > 0;) {
        worse[i] = below;
        append_better(below, shares_of(cells[i]->class_weight, total));
    }
    const Chains none_better = no_better_cell(shares_of(total, total).size());
    Chains above = none_better;
    std::size_t next = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        Weights first = cells[i]->class_weight, second(total.size());
        if (next < level.size() && level[next]->cell == cells[i]) {
            OpenSplit& open = *level[next++];
            if (pick(open, worse[i], above, none_better, total, options)) {
                first = open.left;
                for (std::size_t k = 0; k < second.size(); ++k)
                    second[k] = open.cell->class_weight[k] - first[k];
            }
        }
        append_worse(above, shares_of(first, total));
        append_worse(above, shares_of(second, total));
    }
}

}  // namespace treerank
