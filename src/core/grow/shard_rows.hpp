// One shard of the rows, while a ranking tree is grown from sums over the shards: what LevelGrowth
// asks of each of them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/types.hpp"
#include "core/grow/driver.hpp"
#include "core/grow/level_growth.hpp"
#include "core/grow/slot_rows.hpp"

namespace treerank {

// What a shard knows of its rows. Rows that count nothing (repeat or weight 0) are not placed.
struct ShardSample {
    std::size_t n = 0;
    const std::uint8_t* labels = nullptr;
    const std::uint8_t* repeats = nullptr;  // null: 1 each
    const std::int64_t* weights = nullptr;  // units; null: rows count by their repeats
};

// Puts the rows of a cell that are of the two classes into the slot of each of its trials;
// those of one cell stand side by side. `cell_of_row`: leaf of the tree so far.
RowState place_rows(const ShardSample& sample, const std::int32_t* cell_of_row,
                    const std::vector<TrialRoot>& roots);

// Histograms of some slots, one after another, all features.
template <class Code, class Count>
void count_slots(const CodeMatrix<Code>& codes, const std::int64_t* weights, const RowState& placed,
                 const std::vector<std::int32_t>& slots, const Features& features, Count* out);

// Weights of all classes in the leaves of every trial's tree: nodes x classes.
template <class Code>
std::vector<std::int64_t> trial_weights(const CodeMatrix<Code>& codes, const ShardSample& sample,
                                        const std::int32_t* cell_of_row, const GrownTrials& trials,
                                        std::size_t n_classes);

// The LeafRank tree below a node whose rows are all here.
struct GrownNode {
    std::vector<LeafRankNode> nodes;
    std::vector<CategorySet> category_sets;
    std::vector<double> values;
};
template <class Code>
GrownNode grow_node(const Table<Code>& table, std::vector<Row> rows, const GatheredNode& node,
                    const std::vector<std::int32_t>& cell_features, const LeafRankOptions& options,
                    ProgressMonitor& monitor);

}  // namespace treerank
