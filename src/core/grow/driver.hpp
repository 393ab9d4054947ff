// TreeRank: splits cells recursively by LeafRank; left is better.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/data/row_view.hpp"
#include "core/data/types.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

// Where growth starts: at the root, or at a cell further down (two classes only).
struct GrowthStart {
    std::uint64_t key;  // all random draws are functions of it
    std::int32_t depth = 0;
    std::optional<ClassWeight> total = std::nullopt;  // of the whole sample, if larger
};

// Grows one tree, or the part below a cell, on rows in ascending order of their numbers. `pool` may
// be null.
template <class Code>
RankTree grow_tree(const Table<Code>& table, std::vector<Row> sample, const GrowthStart& start,
                   const TreeRankOptions& options, ThreadPool* pool, ProgressMonitor& monitor);

// Grows several trees on one table. `repeats` (trees x rows) is how often each row counts; null:
// once. With soft labels, the table has those of all trees, one after the other. Trees, cells and
// features are distributed over the pool; the result does not depend on its size.
template <class Code>
std::vector<RankTree> grow_trees(const Table<Code>& table, std::size_t n_trees,
                                 const std::uint8_t* repeats, const TreeRankOptions& options,
                                 ThreadPool& pool, ProgressMonitor& monitor);

}  // namespace treerank
