// Stable partitions of rows, by one thread or by a pool.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "core/data/types.hpp"
#include "core/histogram/kernels.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

// Rows [first, first + n), of which `n_left` come first once they are partitioned.
struct RowSegment {
    std::size_t first = 0, n = 0;
    std::size_t n_left = 0;
};

// Partitions the rows of each segment in place by partition(segment, rows, n, scratch), which puts
// the left rows of a block first and returns their number; both sides stay in their old order.
// `pool` may be null; else blocks of rows are partitioned, and their sides put together in order.
template <class Segment, class Partition>
void partition_segments(std::vector<Segment>& segments, Row* rows, Row* scratch, ThreadPool* pool,
                        const Partition& partition) {
    // A thread is done with fewer rows before others would have been told to put blocks together.
    constexpr std::size_t kMinBlock = 8192, kBlocksPerThread = 2;
    struct Block {
        std::size_t segment, first, n, n_left, to_left, to_right;
    };
    std::size_t total = 0;
    for (const Segment& segment : segments) total += segment.n;
    const std::size_t size =
        pool == nullptr ? total : std::max(kMinBlock, total / (kBlocksPerThread * pool->size()));
    std::vector<Block> blocks, joined;
    for (std::size_t s = 0; s < segments.size(); ++s) {
        const std::size_t n = segments[s].n,
                          k = std::max<std::size_t>(1, n / std::max<std::size_t>(1, size));
        for (std::size_t b = 0; b < k; ++b)
            blocks.push_back(
                {s, segments[s].first + b * n / k, (b + 1) * n / k - b * n / k, 0, 0, 0});
    }
    run_in(pool, blocks.size(), [&](std::size_t b) {
        Block& block = blocks[b];
        block.n_left =
            partition(segments[block.segment], rows + block.first, block.n, scratch + block.first);
    });
    for (const Block& block : blocks) segments[block.segment].n_left += block.n_left;
    for (std::size_t b = 0; b < blocks.size();) {
        const Segment& segment = segments[blocks[b].segment];
        std::size_t to_left = segment.first, to_right = segment.first + segment.n_left;
        const bool whole = blocks[b].n == segment.n;
        for (const std::size_t s = blocks[b].segment; b < blocks.size() && blocks[b].segment == s;
             ++b) {
            blocks[b].to_left = to_left;
            blocks[b].to_right = to_right;
            to_left += blocks[b].n_left;
            to_right += blocks[b].n - blocks[b].n_left;
            if (!whole) joined.push_back(blocks[b]);
        }
    }
    run_in(pool, joined.size(), [&](std::size_t b) {
        const Block& block = joined[b];
        const Row* from = rows + block.first;
        std::copy_n(from, block.n_left, scratch + block.to_left);
        std::copy(from + block.n_left, from + block.n, scratch + block.to_right);
    });
    run_in(pool, joined.size(), [&](std::size_t b) {
        std::copy_n(scratch + joined[b].first, joined[b].n, rows + joined[b].first);
    });
}

// The same for rows[0, n) and partition(rows, n, scratch); how many come first.
template <class Partition>
std::size_t partition_stably(Row* rows, std::size_t n, Row* scratch, ThreadPool* pool,
                             const Partition& partition) {
    if (pool == nullptr) return partition(rows, n, scratch);
    std::vector<RowSegment> all{{0, n}};
    partition_segments(all, rows, scratch, pool,
                       [&](const RowSegment&, Row* block, std::size_t size, Row* buffer) {
                           return partition(block, size, buffer);
                       });
    return all[0].n_left;
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
    return partition_stably(rows, n, scratch, pool, [&](Row* block, std::size_t size, Row* buffer) {
        return partition(block, size, column, codes.step, shift, cut, buffer);
    });
}

}  // namespace treerank
