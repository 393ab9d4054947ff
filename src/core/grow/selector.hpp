// The tournament of a level: the candidate splits of each cell, and the choice of the winners.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/data/types.hpp"
#include "core/grow/growing_cell.hpp"
#include "core/grow/leafrank_tree.hpp"
#include "core/prune/vus.hpp"

namespace treerank {

using ClassPair = std::pair<std::int32_t, std::int32_t>;  // the worse class first

bool may_split(const Growing& cell, const TreeRankOptions& options);

// A candidate split of a cell: the best cut for one pair of classes.
struct Candidate : CellTests {
    ClassPair pair;
    Weights left;
};

// A cell that may still be split, wherever its rows are.
struct OpenSplit {
    Growing* cell = nullptr;
    std::vector<Candidate> candidates{};
    Weights left{};  // weights of the winner's left side; empty: no split
};

// The LeafRank trees to be grown in a cell: one for each pair of neighbouring classes that occur in
// the cell, or for any two of them; and the features that the split may use.
struct PairTrial {
    ClassPair pair;
    std::uint64_t key;
};
struct CellTrials {
    std::vector<std::int32_t> features;
    std::vector<PairTrial> pairs;
};
CellTrials trials_of(const OpenSplit& open, const Features& features,
                     const TreeRankOptions& options);

// Adds the children of a cell whose winner is known and returns them, the better one first.
std::pair<OpenSplit, OpenSplit> open_children(const OpenSplit& open, const Focus& focus,
                                              GrowingCells& grown);

// Divides the leaves of a tree that was grown for a pair of classes in two and adds the candidate;
// adds none if no cut is admissible. `leaf_weight` (nodes x classes) has the weights of all classes
// in the leaves; it is empty for two classes, whose weights are in the nodes. Takes the nodes of
// the tree if there are many; few are copied, so that their memory can be reused.
void add_candidate(OpenSplit& open, ClassPair pair, LeafRankTree& grown, Weights leaf_weight,
                   double min_weight);

// For two classes: chooses the only candidate if it adds enough to the AUC, which depends on
// nothing outside of the cell. Returns whether the cell is split.
bool choose_winner(OpenSplit& open, const Weights& total, const TreeRankOptions& options);

// Chooses the winners of a level, from the best cell to the worst; `level` must be in that order.
// The gain of a candidate is computed with the winners chosen so far.
void choose_winners(Growing& root, const std::vector<OpenSplit*>& level,
                    const TreeRankOptions& options);

// Level-wise growth: chooses the winners for all open cells of one depth (best first, wherever
// their rows are) and replaces the cells by their children. `stays_whole` is called for each cell
// that is not split; `split` turns the others into pairs of children.
template <class Open, class StaysWhole, class Split>
void descend(Growing& root, std::vector<Open>& level, const TreeRankOptions& options,
             const StaysWhole& stays_whole, const Split& split) {
    std::vector<OpenSplit*> pointers;
    for (Open& open : level) pointers.push_back(&open);
    choose_winners(root, pointers, options);
    std::erase_if(level, [&](const Open& open) {
        if (open.left.empty()) stays_whole(open);
        return open.left.empty();
    });
    std::vector<std::pair<Open, Open>> children = split(level);
    level.clear();
    for (auto& [better, worse] : children) {
        level.push_back(std::move(better));
        level.push_back(std::move(worse));
    }
}

}  // namespace treerank
