// Stable partitions of rows, by one thread or by a team.
#pragma once

#include <algorithm>
#include <vector>

#include "core/data/types.hpp"
#include "core/histogram/kernels.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

// Parts rows[0, n) by part(rows, n, scratch), which puts its left rows first and
// returns their number. `team` may be null; else each thread parts a block, and the
// blocks' two sides are then put together in order.
template <class Part>
std::size_t part_stably(Row* rows, std::size_t n, Row* scratch, Team* team, const Part& part) {
    if (team == nullptr) return part(rows, n, scratch);
    const std::size_t blocks = team->size();
    std::vector<std::size_t> lefts(blocks);
    const auto begin = [&](std::size_t b) { return b * n / blocks; };
    team->run(blocks, [&](std::size_t b) {
        lefts[b] = part(rows + begin(b), begin(b + 1) - begin(b), scratch + begin(b));
    });
    std::size_t n_left = 0;
    for (const std::size_t left : lefts) n_left += left;
    team->run(blocks, [&](std::size_t b) {
        std::size_t to_left = 0, to_right = n_left;
        for (std::size_t before = 0; before < b; ++before) {
            to_left += lefts[before];
            to_right += begin(before + 1) - begin(before) - lefts[before];
        }
        std::copy(rows + begin(b), rows + begin(b) + lefts[b], scratch + to_left);
        std::copy(rows + begin(b) + lefts[b], rows + begin(b + 1), scratch + to_right);
    });
    team->run(blocks, [&](std::size_t b) {
        std::copy(scratch + begin(b), scratch + begin(b + 1), rows + begin(b));
    });
    return n_left;
}

// Parts rows by one test of LeafRank, those that pass it first. `set` is the test's own
// where it is categorical.
template <class Code, class Count>
std::size_t part_by_test(const Test& test, const CategorySet& set, const CodeMatrix<Code>& codes,
                         Row* rows, std::size_t n, Row* scratch, Team* team) {
    const Code* column = codes.column(test.feature);
    if (test.categorical) {
        Row* left = rows;
        Row* right = scratch;
        for (std::size_t i = 0; i < n; ++i) {
            const Row row = rows[i];
            *(set.contains(column[row_id(row) * codes.step]) ? left++ : right++) = row;
        }
        std::copy(scratch, right, left);
        return left - rows;
    }
    // Missing (code 0) wraps to the largest code when it is to go right.
    const Code shift = test.missing_left ? 0 : 1;
    const Code cut = static_cast<Code>(test.cut - shift);
    const auto& part = kernels<Code, Count>().part;
    return part_stably(rows, n, scratch, team, [&](Row* block, std::size_t size, Row* room) {
        return part(block, size, column, codes.step, shift, cut, room);
    });
}

}  // namespace treerank
