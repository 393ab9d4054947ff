// The rows of cells in memory: their buffers, compact views for small cells, and the partition of
// rows by the side of their leaf.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/data/partition.hpp"
#include "core/data/row_view.hpp"
#include "core/data/types.hpp"
#include "core/grow/leafrank.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

struct RowBuffers {
    explicit RowBuffers(std::vector<Row> sample)
        : rows(std::move(sample)),
          work(std::make_unique_for_overwrite<Row[]>(rows.size())),
          scratch(std::make_unique_for_overwrite<Row[]>(rows.size())) {}

    std::vector<Row> rows;           // cells are ranges of it, each in ascending order
    std::unique_ptr<Row[]> work;     // LeafRank's copy, permuted into its leaves
    std::unique_ptr<Row[]> scratch;  // buffer for stable partitions
};

// A cell gets a compact view if it has less than a quarter of its view's rows and the view does not
// fit in a core's own cache.
inline constexpr std::size_t kCompactShare = 4;
inline constexpr std::size_t kColumnsPerPass = 4;  // columns that are copied together

// Copies K columns of the rows, from column `first` on, into a column-major view.
template <std::size_t K, class Code>
void copy_columns(const CodeMatrix<Code>& codes, std::size_t first, const Row* rows, std::size_t n,
                  Code* view) {
    const Code* from[K];
    Code* to[K];
    for (std::size_t k = 0; k < K; ++k) {
        from[k] = codes.column(first + k);
        to[k] = view + (first + k) * n;
    }
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t row = row_id(rows[i]);
        for (std::size_t k = 0; k < K; ++k) to[k][i] = from[k][row];
    }
}

// Returns a view in which rows[0, n) are contiguous, and renumbers the rows from 0; null if that
// would not pay. `pool` may be null.
template <class Code>
std::shared_ptr<View<Code>> compact_view(const View<Code>& old, std::size_t n_classes, Row* rows,
                                         std::size_t n, ThreadPool* pool) {
    const std::size_t p = old.codes.features;
    if (n * kCompactShare > old.codes.rows || old.codes.rows * p * sizeof(Code) < kCacheBytes)
        return nullptr;
    auto view = std::make_shared<View<Code>>();
    view->own_codes = std::make_unique_for_overwrite<Code[]>(n * p);
    view->side.resize(n);
    const std::size_t passes = p / kColumnsPerPass;
    run_in(pool, passes + p % kColumnsPerPass, [&](std::size_t pass) {
        const std::size_t first = std::min(pass, passes) * kColumnsPerPass;
        if (pass < passes)
            copy_columns<kColumnsPerPass>(old.codes, first, rows, n, view->own_codes.get());
        else
            copy_columns<1>(old.codes, first + pass - passes, rows, n, view->own_codes.get());
    });
    view->copy_weights(old, rows, n);
    view->copy_classes(old, rows, n, n_classes);
    for (std::size_t i = 0; i < n; ++i) rows[i] = renumbered(rows[i], static_cast<Row>(i));
    view->codes = {view->own_codes.get(), n, p, n};
    return view;
}

// Writes the rows of side 0 to `left` and the others to `right`, one of which may be `rows`.
// Returns the number of rows of side 0. No branch to mispredict.
inline std::size_t split_by_side(const Row* rows, std::size_t n, const std::uint8_t* side,
                                 Row* left, Row* right) {
    std::size_t n_left = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const Row row = rows[i];
        left[n_left] = row;
        right[i - n_left] = row;
        n_left += 1 - side[row_id(row)];
    }
    return n_left;
}

// Stably partitions rows[0, n), which are in ascending order, by the side of the leaf that holds
// them. Both sides stay in ascending order: LeafRank's leaves are scattered, and sorted rows make
// every later pass over the codes run forward. `leaves` are ranges of `work`; `side_of` is indexed
// by node (0: left). Returns the number of rows on the left.
inline std::size_t partition_by_side(const std::vector<LeafRows>& leaves,
                                     const std::vector<std::uint8_t>& side_of, const Row* work,
                                     std::uint8_t* side, Row* rows, std::size_t n, Row* scratch,
                                     ThreadPool* pool) {
    run_in(pool, leaves.size(), [&](std::size_t i) {
        const std::uint8_t value = side_of[leaves[i].node];
        for (std::size_t j = leaves[i].first; j < leaves[i].last; ++j)
            side[row_id(work[j])] = value;
    });
    return partition_stably(rows, n, scratch, pool,
                            [&](const Row* block, std::size_t size, Row* left, Row* right) {
                                return split_by_side(block, size, side, left, right);
                            });
}

}  // namespace treerank
