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

// A split of a cell by the best cut of one pair of classes.
struct Candidate {
    std::int32_t worse_class;
    std::int32_t better_class;
    std::vector<LeafRankNode> tests;
    Weights test_weight;  // tests x classes
    std::vector<CategorySet> category_sets;
    Weights left;
};

// Branches of a cell's key where those of its children start.
inline constexpr std::uint64_t kLeftBranch = 0, kRightBranch = 1;

// A cell that may still be split, wherever its rows are.
struct OpenSplit {
    Growing* cell = nullptr;
    std::uint64_t key = 0;
    std::vector<Candidate> candidates;
    Weights left;  // of the winner; empty: the cell stays whole
};

// What one LeafRank tree of a cell is grown for: neighbours among the classes that the cell has,
// or any two of them; with the features that the cell's split may use.
struct PairTrial {
    ClassPair pair;
    std::uint64_t key;
};
struct CellTrials {
    std::vector<std::int32_t> features;
    std::vector<PairTrial> pairs;
};
CellTrials trials_of(const OpenSplit& open, std::size_t n_features, const TreeRankOptions& options);

// Puts the children of a cell whose winner is known below it, the better one first.
std::pair<OpenSplit, OpenSplit> open_children(const OpenSplit& open, const Focus& focus,
                                              GrowingCells& grown);

// Turns weights of the leaves (tests x classes) into weights of all nodes.
void add_up(const std::vector<LeafRankNode>& nodes, std::size_t n_classes, Weights& weight);

// Cuts the leaves of a grown tree in two; nothing where no cut is admissible. The nodes of two
// classes hold their weights: then `test_weight` is empty. Takes the nodes of the tree if there are
// many, and copies few, so that their room serves for the next.
std::optional<Candidate> make_candidate(ClassPair pair, LeafRankTree& grown, const Weights& cell,
                                        Weights test_weight, double min_weight);

// Chooses the candidate of the only pair of two classes if it adds enough. What a split adds to
// the AUC depends on nothing outside of the cell.
bool choose_alone(OpenSplit& open, const Weights& total, const TreeRankOptions& options);

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
    void choose(const std::vector<OpenSplit*>& level);
    // Puts the children of split cells into the places of their parents, down to the leaves.
    void update();

  private:
    bool pick(OpenSplit& open, const Chains& worse, const Chains& better) const;

    const TreeRankOptions& options_;
    const Weights total_;
    const std::size_t n_present_;  // classes that the sample has
    std::vector<Growing*> cells_;
};

// The cells of a level, for the selector.
template <class Open>
std::vector<OpenSplit*> pointers_to(std::vector<Open>& level) {
    std::vector<OpenSplit*> pointers;
    for (Open& open : level) pointers.push_back(&open);
    return pointers;
}

}  // namespace treerank
