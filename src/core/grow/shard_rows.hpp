// The rows and sums that LevelGrowth requests from each shard while a ranking tree is grown.
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

// Puts each row into the slots of those trials of its cell whose pair has the row's class. The
// trials of one cell must be contiguous. Rows without weight are left out. `cell_of_row` is each
// row's leaf of the tree so far.
RowState place_rows(const WeightedRows& rows, std::span<const std::int32_t> cell_of_row,
                    const std::vector<TrialRoot>& roots);

// Returns the histograms of the given slots, concatenated. Each covers all features.
template <class Count, class Code>
std::vector<Count> count_slots(const CodeMatrix<Code>& codes, const std::int64_t* weights,
                               const RowState& placed, const std::vector<std::int32_t>& slots,
                               const Features& features);

// Returns the weights of all classes in the leaves of every trial's tree (nodes x classes).
template <class Code>
std::vector<std::int64_t> trial_weights(const CodeMatrix<Code>& codes, const WeightedRows& rows,
                                        std::span<const std::int32_t> cell_of_row,
                                        const GrownTrials& trials);

// Grows the LeafRank tree below a node whose rows are all in this table.
template <class Code>
LeafRankNodes grow_node(const Table<Code>& table, std::vector<Row> rows, const GatheredNode& node,
                        const std::vector<std::int32_t>& cell_features,
                        const LeafRankOptions& options, ProgressMonitor& monitor);

}  // namespace treerank
