// The rows of a forest's trees, drawn as counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/data/types.hpp"

namespace treerank {

// Rows are drawn in blocks of fixed size: first how many draws fall into each block (a
// function of seed, tree and the number of rows), then the rows of a block (a function of
// seed, tree and block). Whoever holds a block draws its counts without seeing the others.
inline constexpr std::size_t kRowsPerBlock = 65536;

struct Sampling {
    bool replace = true;
    std::size_t n_draws = 0;  // at most as many as there are rows; 0: all rows, no drawing
    std::uint64_t seed = 0;
};

inline std::size_t n_blocks(std::size_t n) { return (n + kRowsPerBlock - 1) / kRowsPerBlock; }

// How often each of the rows [first, first + n) of all was drawn; the sum over all rows is
// n_draws. A count fits the four bits of a packed row: in the rare case that a row is full,
// the draw goes to the next row of its block that is not.
std::vector<std::uint8_t> draw_counts(const Sampling& sampling, std::size_t tree, std::size_t n_all,
                                      std::size_t first, std::size_t n);

// The rows of a tree, in ascending order: those of n that count. `repeats` may be null (each counts
// once), and so may `weights`.
std::vector<Row> rows_that_count(std::size_t n, const std::uint8_t* labels,
                                 const std::uint8_t* repeats, const std::int64_t* weights);

}  // namespace treerank
