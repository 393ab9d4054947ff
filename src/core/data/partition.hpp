// Stable partitions of rows, on one thread or on a pool.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "core/data/types.hpp"
#include "core/histogram/kernels.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

// Rows [first, first + n). After a partition, the first `n_left` of them are the left rows.
struct RowSegment {
    std::size_t first = 0, n = 0;
    std::size_t n_left = 0;
};

// Stably partitions the rows of each segment in place. partition(segment, rows, n, scratch) moves
// the left rows of a block to its front, keeps the order within both sides, and returns their
// number. With a pool, blocks of rows are partitioned in parallel and then merged in order. `pool`
// may be null.
template <class Segment, class Partition>
void partition_segments(std::vector<Segment>& segments, Row* rows, Row* scratch, ThreadPool* pool,
                        const Partition& partition) {
    // Smaller blocks are not worth it: one thread is done before others could be told to merge
    // them.
    constexpr std::size_t kMinBlock = 8192, kBlocksPerThread = 2;
    struct Block {
        std::size_t segment, first, n;
        std::size_t n_left = 0, to_left = 0, to_right = 0;
    };
    std::size_t total = 0;
    for (const Segment& segment : segments) total += segment.n;
    const std::size_t size =
        pool == nullptr ? total : std::max(kMinBlock, total / (kBlocksPerThread * pool->size()));
    std::vector<Block> blocks;
    for (std::size_t s = 0; s < segments.size(); ++s) {
        const std::size_t n = segments[s].n,
                          k = std::max<std::size_t>(1, n / std::max<std::size_t>(1, size));
        for (std::size_t b = 0; b < k; ++b)
            blocks.push_back({s, segments[s].first + b * n / k, (b + 1) * n / k - b * n / k});
    }
    const auto each_block = [&](const auto& job) {
        run_with_affinity(pool, blocks.size(), [&](std::size_t b) { job(blocks[b]); });
    };
    each_block([&](Block& block) {
        block.n_left =
            partition(segments[block.segment], rows + block.first, block.n, scratch + block.first);
    });
    for (const Block& block : blocks) segments[block.segment].n_left += block.n_left;
    std::erase_if(blocks, [&](const Block& b) { return b.n == segments[b.segment].n; });
    std::vector<std::size_t> left_before(segments.size());
    for (Block& block : blocks) {
        const Segment& segment = segments[block.segment];
        std::size_t& before = left_before[block.segment];
        block.to_left = segment.first + before;
        block.to_right = block.first + segment.n_left - before;
        before += block.n_left;
    }
    each_block([&](const Block& block) {
        const Row* from = rows + block.first;
        std::copy_n(from, block.n_left, scratch + block.to_left);
        std::copy(from + block.n_left, from + block.n, scratch + block.to_right);
    });
    each_block([&](const Block& block) {
        std::copy_n(scratch + block.first, block.n, rows + block.first);
    });
}

// The same for rows[0, n) and partition(rows, n, scratch). Returns the number of rows at the front.
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

// Stably partitions rows by one LeafRank test. Rows that pass it come first, or last if
// `passing_last`. Returns the number of rows at the front. `set` is used by categorical tests only.
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
    // If missing values go right, code 0 wraps around to the largest code.
    Code shift = condition.missing_left ? 0 : 1;
    Code cut = static_cast<Code>(condition.cut - shift);
    if (passing_last) {  // shift the codes above the cut to the low end
        shift = static_cast<Code>(shift + cut + 1);
        cut = static_cast<Code>(std::numeric_limits<Code>::max() - cut - 1);
    }
    const auto& partition = kernels<Code, Count>().partition;
    return partition_stably(rows, n, scratch, pool, [&](Row* block, std::size_t size, Row* buffer) {
        return partition(block, size, column, codes.step, shift, cut, buffer);
    });
}

}  // namespace treerank
