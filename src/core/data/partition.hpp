// Stable partitions of rows, by one thread or by a pool.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "core/data/types.hpp"
#include "core/histogram/kernels.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

// Partitions rows[0, n) by partition(rows, n, scratch), which puts its left rows first and
// returns their number. `pool` may be null; else each thread partitions a block, and the
// blocks' two sides are then put together in order.
template <class Partition>
std::size_t partition_stably(Row* rows, std::size_t n, Row* scratch, ThreadPool* pool,
                             const Partition& partition) {
    if (pool == nullptr) return partition(rows, n, scratch);
    const std::size_t blocks = pool->size();
    std::vector<std::size_t> lefts(blocks);
    const auto begin = [&](std::size_t b) { return b * n / blocks; };
    pool->run(blocks, [&](std::size_t b) {
        lefts[b] = partition(rows + begin(b), begin(b + 1) - begin(b), scratch + begin(b));
    });
    std::size_t n_left = 0;
    for (const std::size_t left : lefts) n_left += left;
    pool->run(blocks, [&](std::size_t b) {
        std::size_t to_left = 0, to_right = n_left;
        for (std::size_t before = 0; before < b; ++before) {
            to_left += lefts[before];
            to_right += begin(before + 1) - begin(before) - lefts[before];
        }
        std::copy(rows + begin(b), rows + begin(b) + lefts[b], scratch + to_left);
        std::copy(rows + begin(b) + lefts[b], rows + begin(b + 1), scratch + to_right);
    });
    pool->run(blocks, [&](std::size_t b) {
        std::copy(scratch + begin(b), scratch + begin(b + 1), rows + begin(b));
    });
    return n_left;
}

// Partitions rows by one test of LeafRank, those that pass it first, or last if `passing_last`; how
// many come first. `set` is the test's own where it is categorical.
template <class Code, class Count>
std::size_t partition_by_condition(const SplitCondition& condition, const CategorySet& set,
                                   const CodeMatrix<Code>& codes, Row* rows, std::size_t n,
                                   Row* scratch, ThreadPool* pool, bool passing_last = false) {
    const Code* column = codes.column(condition.feature);
    if (condition.categorical) {
        Row* left = rows;
        Row* right = scratch;
        for (std::size_t i = 0; i < n; ++i) {
            const Row row = rows[i];
            const bool passes = set.contains(column[row_id(row) * codes.step]);
            *(passes != passing_last ? left++ : right++) = row;
        }
        std::copy(scratch, right, left);
        return left - rows;
    }
    // Missing (code 0) wraps to the largest code when it is to go right.
    Code shift = condition.missing_left ? 0 : 1;
    Code cut = static_cast<Code>(condition.cut - shift);
    if (passing_last) {  // codes beyond the cut, counted from there, are the low ones
        shift = static_cast<Code>(shift + cut + 1);
        cut = static_cast<Code>(std::numeric_limits<Code>::max() - cut - 1);
    }
    const auto& partition = kernels<Code, Count>().partition;
    return partition_stably(rows, n, scratch, pool, [&](Row* block, std::size_t size, Row* room) {
        return partition(block, size, column, codes.step, shift, cut, room);
    });
}

}  // namespace treerank
