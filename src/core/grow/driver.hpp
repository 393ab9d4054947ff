// TreeRank: cells split again and again by LeafRank; left is better.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/data/types.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

// The training table as the grower sees it.
template <class Code>
struct Table {
    CodeMatrix<Code> codes;
    CodeMatrix<Code> by_row;  // the same row by row, for forests; or nothing
    Features features;
    const std::uint8_t* labels = nullptr;   // class numbers, worst class first
    const std::int64_t* weights = nullptr;  // units; null: every row counts by its repeats
    std::size_t n_classes = 2;
};

// Rows of one tree, in ascending order of their numbers: a bootstrap sample, the
// rows outside a fold, or all.
using SampleOf = std::function<std::vector<Row>(std::size_t tree)>;

// Where growth begins: at the root, or at a cell of two classes further down.
struct GrowthStart {
    std::uint64_t key;  // all draws are a function of it
    std::int32_t depth = 0;
    std::optional<ClassWeight> total = std::nullopt;  // of the whole sample, if that is larger
};

// Grows one tree, or what is below a cell. `pool` may be null.
template <class Code>
RankTree grow_tree(const Table<Code>& table, std::vector<Row> sample, const GrowthStart& start,
                   const TreeRankOptions& options, ThreadPool* pool, ProgressMonitor& monitor);

// Grows several trees on one table. Trees, cells and features are distributed over
// the pool; the result does not depend on its size.
template <class Code>
std::vector<RankTree> grow_trees(const Table<Code>& table, std::size_t n_trees,
                                 const SampleOf& sample, const TreeRankOptions& options,
                                 ThreadPool& pool, ProgressMonitor& monitor);

}  // namespace treerank
