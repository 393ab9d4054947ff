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

// Stably partitions the rows of each segment in place. split(segment, rows, n, left, right) writes
// the left rows of a block to `left` and the others to `right`, each in their order, and returns
// the number of left rows; one of the two may be `rows`. With a pool, blocks of rows are split in
// parallel and then put together in order. `pool` may be null.
template <class Segment, class Split>
void partition_segments(std::vector<Segment>& segments, Row* rows, Row* scratch, ThreadPool* pool,
                        const Split& split) {
    // Smaller blocks are not worth it: one thread is done before others could be told to join them.
    constexpr std::size_t kMinBlock = 6144, kBlocksPerThread = 2;
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
    const auto is_whole = [&](const Block& b) { return b.n == segments[b.segment].n; };
    // A whole segment stays where it is; blocks of others are split into the scratch buffer.
    each_block([&](Block& block) {
        Row *own = rows + block.first, *other = scratch + block.first;
        Row *left = is_whole(block) ? own : other, *right = is_whole(block) ? other : own;
        block.n_left = split(segments[block.segment], own, block.n, left, right);
        std::copy_n(right, block.n - block.n_left, left + block.n_left);
    });
    for (const Block& block : blocks) segments[block.segment].n_left += block.n_left;
    std::erase_if(blocks, is_whole);
    std::vector<std::size_t> left_before(segments.size());
    for (Block& block : blocks) {
        const Segment& segment = segments[block.segment];
        std::size_t& before = left_before[block.segment];
        block.to_left = segment.first + before;
        block.to_right = block.first + segment.n_left - before;
        before += block.n_left;
    }
    each_block([&](const Block& block) {
        const Row* from = scratch + block.first;
        std::copy_n(from, block.n_left, rows + block.to_left);
        std::copy(from + block.n_left, from + block.n, rows + block.to_right);
    });
}

// The same for rows[0, n) and split(rows, n, left, right). Returns the number of rows at the front.
template <class Split>
std::size_t partition_stably(Row* rows, std::size_t n, Row* scratch, ThreadPool* pool,
                             const Split& split) {
    if (pool == nullptr) {
        const std::size_t n_left = split(rows, n, rows, scratch);
        std::copy_n(scratch, n - n_left, rows + n_left);
        return n_left;
    }
    std::vector<RowSegment> all{{0, n}};
    partition_segments(all, rows, scratch, pool,
                       [&](const RowSegment&, const Row* block, std::size_t size, Row* left,
                           Row* right) { return split(block, size, left, right); });
    return all[0].n_left;
}

// Splits rows by one LeafRank test, as for partition_segments(). Rows that pass it go left, or
// right if `passing_last`. `set` is used by categorical tests only.
template <class Code, class Count>
std::size_t split_by_condition(const SplitCondition& condition, const CategorySet& set,
                               const CodeMatrix<Code>& codes, const Row* rows, std::size_t n,
                               Row* left, Row* right, bool passing_last = false) {
    const Code* column = codes.column(condition.feature);
    if (condition.categorical) {
        const Row* first = left;
        for (std::size_t i = 0; i < n; ++i) {
            const Row row = rows[i];
            const bool passes = set.contains(column[row_id(row) * codes.step]);
            *(passes != passing_last ? left++ : right++) = row;
        }
        return left - first;
    }
    // If missing values go right, code 0 wraps around to the largest code.
    Code shift = condition.missing_left ? 0 : 1;
    Code cut = static_cast<Code>(condition.cut - shift);
    if (passing_last) {  // shift the codes above the cut to the low end
        shift = static_cast<Code>(shift + cut + 1);
        cut = static_cast<Code>(std::numeric_limits<Code>::max() - cut - 1);
    }
    return kernels<Code, Count>().split(rows, n, column, codes.step, shift, cut, left, right);
}

// Stably partitions rows by one LeafRank test and returns the number of rows that pass it, which
// come first. `set` is used by categorical tests only.
template <class Code, class Count>
std::size_t partition_by_condition(const SplitCondition& condition, const CategorySet& set,
                                   const CodeMatrix<Code>& codes, Row* rows, std::size_t n,
                                   Row* scratch, ThreadPool* pool) {
    return partition_stably(
        rows, n, scratch, pool, [&](const Row* block, std::size_t size, Row* left, Row* right) {
            return split_by_condition<Code, Count>(condition, set, codes, block, size, left, right);
        });
}

}  // namespace treerank
