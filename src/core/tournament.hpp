// TreeRank Tournament: ranking trees for any number of ordered classes.
//
// In each cell the splitting rule runs on the rows of one pair of classes after the other;
// all rows of the cell are routed through each result, and the candidate that adds most to
// the volume under the ROC surface of the whole ordered partition wins. Histograms and split
// search stay affairs of two classes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/parallel.hpp"
#include "core/treerank.hpp"
#include "core/types.hpp"

namespace treerank {

// Grows one tree, level by level: beyond three classes what a split adds depends on how the
// other cells are cut. `team` may be null; the result does not depend on it.
template <class Code>
RankTree grow_tournament(const Table<Code>& table, std::vector<Row> sample, std::uint64_t key,
                         const TreeRankOptions& options, Team* team, Watch& watch);

}  // namespace treerank
