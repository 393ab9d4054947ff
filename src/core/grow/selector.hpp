// The tournament of a level: candidates for the split of each cell, and which of them wins.
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

// A split of a cell by the best cut of one pair of classes.
struct Candidate : CellTests {
    ClassPair pair;
    Weights left;
};

// A cell that may still be split, wherever its rows are.
struct OpenSplit {
    Growing* cell = nullptr;
    std::vector<Candidate> candidates{};
    Weights left{};  // of the winner; empty: the cell stays whole
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
CellTrials trials_of(const OpenSplit& open, const Features& features,
                     const TreeRankOptions& options);

// Puts the children of a cell whose winner is known below it, the better one first.
std::pair<OpenSplit, OpenSplit> open_children(const OpenSplit& open, const Focus& focus,
                                              GrowingCells& grown);

// Cuts the leaves of a tree that was grown for a pair of classes in two; no candidate where no cut
// is admissible. `leaf_weight` (nodes x classes) has the weights of all classes in the leaves; of
// two classes the nodes hold them, and it is empty. Takes the nodes of the tree if there are many,
// and copies few, so that their memory serves for the next.
void add_candidate(OpenSplit& open, ClassPair pair, LeafRankTree& grown, Weights leaf_weight,
                   double min_weight);

// Chooses the candidate of the only pair of two classes if it adds enough. What a split adds to
// the AUC depends on nothing outside of the cell.
bool choose_alone(OpenSplit& open, const Weights& total, const TreeRankOptions& options);

// Chooses the winners of a level, from the best cell to the worst; `level` has them in that order.
// What a candidate adds is computed with the winners chosen so far.
void choose_winners(Growing& root, const std::vector<OpenSplit*>& level,
                    const TreeRankOptions& options);

// Level-wise growth: chooses the winners of all open cells of one depth, best first, wherever their
// rows are, and replaces the cells by their children. `stays_whole` is told of each cell that is
// not split, and `split` turns the others into pairs of children.
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
