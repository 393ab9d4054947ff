// One shard of the rows, while a ranking tree is grown from sums over the shards: what LevelGrowth
// asks of each of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/data/row_view.hpp"
#include "core/data/types.hpp"
#include "core/grow/driver.hpp"
#include "core/grow/level_growth.hpp"
#include "core/grow/slot_rows.hpp"

namespace treerank {

// Puts the rows of a cell that are of the two classes into the slot of each of its trials;
// those of one cell stand side by side. Rows without weight are not placed. `cell_of_row`: leaf of
// the tree so far.
RowState place_rows(const WeightedRows& rows, std::span<const std::int32_t> cell_of_row,
                    const std::vector<TrialRoot>& roots);

// Histograms of some slots, one after another, all features.
template <class Count, class Code>
std::vector<Count> count_slots(const CodeMatrix<Code>& codes, const std::int64_t* weights,
                               const RowState& placed, const std::vector<std::int32_t>& slots,
                               const Features& features);

// Weights of all classes in the leaves of every trial's tree: nodes x classes.
template <class Code>
std::vector<std::int64_t> trial_weights(const CodeMatrix<Code>& codes, const WeightedRows& rows,
                                        std::span<const std::int32_t> cell_of_row,
                                        const GrownTrials& trials);

// The LeafRank tree below a node whose rows are all here.
template <class Code>
LeafRankNodes grow_node(const Table<Code>& table, std::vector<Row> rows, const GatheredNode& node,
                        const std::vector<std::int32_t>& cell_features,
                        const LeafRankOptions& options, ProgressMonitor& monitor);

}  // namespace treerank
