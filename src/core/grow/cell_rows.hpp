// The rows of cells in memory: their buffers, views in which few rows lie close together, and their
// partition by the sides of leaves.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/data/row_view.hpp"
#include "core/data/types.hpp"
#include "core/grow/leafrank.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

struct RowBuffers {
    explicit RowBuffers(std::vector<Row> sample);

    std::vector<Row> rows;           // cells are ranges of this, each in ascending order
    std::unique_ptr<Row[]> work;     // LeafRank's copy, permuted into its leaves
    std::unique_ptr<Row[]> scratch;  // buffer of stable partitions
};

// A view in which rows[0, n) lie close together, or null where that would not pay; the
// rows are then numbered anew, from 0. `pool` may be null.
template <class Code>
std::shared_ptr<View<Code>> compact_view(const View<Code>& old, Row* rows, std::size_t n,
                                         ThreadPool* pool);

// Partitions rows[0, n), in ascending order, by the sides of the leaves that hold them, each
// side staying in ascending order: LeafRank's leaves are scattered, and sorted rows make
// every later pass over the codes run forward. `leaves` are ranges of `work`; `side_of`
// is by node: 0 for the left. Returns the number of rows on the left.
std::size_t partition_by_side(const std::vector<LeafRows>& leaves,
                              const std::vector<std::uint8_t>& side_of, const Row* work,
                              std::uint8_t* side, Row* rows, std::size_t n, Row* scratch,
                              ThreadPool* pool);

}  // namespace treerank
