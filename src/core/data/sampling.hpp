// The row samples of a forest's trees, drawn as counts per row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/data/types.hpp"

namespace treerank {

// Rows are drawn in blocks of fixed size: first the number of draws in each block (a function of
// seed, tree and number of rows), then the rows of a block (a function of seed, tree and block). So
// a worker that holds a block can draw its counts without seeing the other blocks.
inline constexpr std::size_t kRowsPerBlock = 65536;

struct Sampling {
    bool replace = true;
    std::size_t n_draws = 0;  // at most the number of rows; 0: use every row once
    std::uint64_t seed = 0;
};

inline std::size_t n_blocks(std::size_t n) { return (n + kRowsPerBlock - 1) / kRowsPerBlock; }

// Returns how often each of the rows [first, first + n) was drawn. The counts of all `n_all` rows
// sum to n_draws. A count must fit the four bits of a packed row: in the rare case that a row is
// full, the draw goes to the next row of its block that is not.
std::vector<std::uint8_t> draw_counts(const Sampling& sampling, std::size_t tree, std::size_t n_all,
                                      std::size_t first, std::size_t n);

// Returns the packed rows of a tree in ascending order: those of the n rows whose repeat count and
// weight are not 0. `repeats` may be null (every row counts once), and so may `weights`.
std::vector<Row> rows_that_count(std::size_t n, const std::uint8_t* labels,
                                 const std::uint8_t* repeats, const std::int64_t* weights);

}  // namespace treerank
