// Several segments of rows parted at once, each by a test of its own, over one pool.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/data/partition.hpp"
#include "core/data/types.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

// Rows [first, first + n) and their test; `n_left` of them come first.
struct PartedSegment {
    std::size_t first, n;
    SplitCondition condition;
    CategorySet set;            // of a categorical test
    bool passing_last = false;  // which come first: those that pass the test, or the others
    std::size_t n_left = 0;
};

// Parts the rows of each segment in place, both sides in their old order.
// `pool` may be null; else blocks of rows are parted, and their sides put together in order.
template <class Code>
void part_segments(const CodeMatrix<Code>& codes, Row* rows, Row* scratch,
                   std::vector<PartedSegment>& segments, ThreadPool* pool) {
    constexpr std::size_t kLeastBlock = 2048, kBlocksPerThread = 2;
    struct Block {
        std::size_t segment, first, n, n_left, to_left, to_right;
    };
    std::size_t total = 0;
    for (const PartedSegment& segment : segments) total += segment.n;
    const std::size_t size =
        pool == nullptr ? total : std::max(kLeastBlock, total / (kBlocksPerThread * pool->size()));
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
        const PartedSegment& segment = segments[block.segment];
        block.n_left = partition_by_condition<Code, PackedCount>(
            segment.condition, segment.set, codes, rows + block.first, block.n,
            scratch + block.first, nullptr, segment.passing_last);
    });
    for (const Block& block : blocks) segments[block.segment].n_left += block.n_left;
    for (std::size_t b = 0; b < blocks.size();) {
        const PartedSegment& segment = segments[blocks[b].segment];
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

}  // namespace treerank
