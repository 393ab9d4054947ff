// The tournament of a level: candidates for the split of each cell, and which of them wins.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/data/types.hpp"
#include "core/grow/growing_cell.hpp"
#include "core/grow/leafrank_tree.hpp"
#include "core/prune/vus.hpp"

namespace treerank {

using Weights = std::vector<double>;                      // by class, in units
using ClassPair = std::pair<std::int32_t, std::int32_t>;  // the worse class first

bool may_split(const Growing& cell, const TreeRankOptions& options);

// Neighbours among the classes that the cell has, or all pairs of them.
std::vector<ClassPair> pairs_of(const Weights& weight, Tournament tournament);

// A split of a cell by the best cut of one pair of classes.
struct Candidate {
    std::int32_t worse_class;
    std::int32_t better_class;
    std::vector<LeafRankNode> tests;
    Weights test_weight;  // tests x classes
    std::vector<CategorySet> category_sets;
    Weights left;
};

// Turns weights of the leaves (tests x classes) into weights of all nodes.
void add_up(const std::vector<LeafRankNode>& nodes, std::size_t n_classes, Weights& weight);

// Cuts the leaves of a grown tree in two; nothing where no cut is admissible. The nodes of two
// classes hold their weights: then `test_weight` is empty. Takes the nodes of the tree if there are
// many, and copies few, so that their room serves for the next.
std::optional<Candidate> make_candidate(ClassPair pair, LeafRankTree& grown, const Weights& cell,
                                        Weights test_weight, double min_weight);

// Makes a candidate the split of the cell.
void keep_winner(Growing& cell, Candidate& winner, double gain);

// Chooses the candidate of the only pair of two classes if it adds enough. What a split adds to
// the AUC depends on nothing outside of the cell.
template <class Open>
bool choose_alone(Open& open, const Weights& total, const TreeRankOptions& options) {
    if (open.candidates.empty()) return false;
    Candidate& only = open.candidates.front();
    const double gain = vus_increase({}, {}, open.cell->class_weight, only.left, total);
    if (!(gain > options.min_auc_gain)) return false;
    keep_winner(*open.cell, only, gain);
    open.left = std::move(only.left);
    return true;
}

// The ordered partition while it grows, best cell first.
class Selector {
  public:
    Selector(Growing& root, const TreeRankOptions& options)
        : options_(options),
          total_(root.class_weight),
          n_present_(shares_of(total_, total_).size()),
          cells_{&root} {}

    // Chooses the winners of a level, from the best cell to the worst; the cells of the level
    // are in that order too. What a candidate adds is computed with the winners chosen so far.
    template <class Open>
    void choose(std::vector<Open>& level) {
        std::vector<Chains> worse(cells_.size());
        Chains below = no_worse_cell();
        for (std::size_t i = cells_.size(); i-- > 0;) {
            worse[i] = below;
            append_better(below, shares_of(cells_[i]->class_weight, total_));
        }
        Chains above = no_better_cell(n_present_);
        std::size_t next = 0;
        for (std::size_t i = 0; i < cells_.size(); ++i) {
            Weights first = cells_[i]->class_weight, second(total_.size());
            if (next < level.size() && level[next].cell == cells_[i]) {
                Open& open = level[next++];
                if (pick(open, worse[i], above)) {
                    first = open.left;
                    for (std::size_t k = 0; k < second.size(); ++k)
                        second[k] = open.cell->class_weight[k] - first[k];
                }
            }
            append_worse(above, shares_of(first, total_));
            append_worse(above, shares_of(second, total_));
        }
    }

    // Puts the children of split cells into the places of their parents.
    void update() {
        std::vector<Growing*> now;
        for (Growing* cell : cells_) {
            if (cell->left == nullptr) {
                now.push_back(cell);
            } else {
                now.push_back(cell->left);
                now.push_back(cell->right);
            }
        }
        cells_ = std::move(now);
    }

    // Goes down from the root to the cells that are not split.
    void update_to_leaves() {
        for (std::size_t before = 0; before != cells_.size();) {
            before = cells_.size();
            update();
        }
    }

  private:
    // The largest gain wins; on ties the pair of lower classes.
    template <class Open>
    bool pick(Open& open, const Chains& worse, const Chains& better) const {
        const bool local = options_.tournament_gain == TournamentGain::kLocal;
        const Chains nothing_below = no_worse_cell();
        const Chains nothing_above = no_better_cell(n_present_);
        double best = options_.min_auc_gain;
        Candidate* winner = nullptr;
        for (Candidate& candidate : open.candidates) {
            const double gain =
                vus_increase(local ? nothing_below : worse, local ? nothing_above : better,
                             open.cell->class_weight, candidate.left, total_);
            if (!(gain > best)) continue;
            best = gain;
            winner = &candidate;
        }
        if (winner == nullptr) return false;
        if (local)
            best = vus_increase(worse, better, open.cell->class_weight, winner->left, total_);
        keep_winner(*open.cell, *winner, best);
        open.left = std::move(winner->left);
        return true;
    }

    const TreeRankOptions& options_;
    const Weights total_;
    const std::size_t n_present_;  // classes that the sample has
    std::vector<Growing*> cells_;
};

}  // namespace treerank
