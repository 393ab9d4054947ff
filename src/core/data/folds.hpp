// Cross-validation folds. Rows are assigned by their content, so that their order does not matter.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/types.hpp"
#include "core/util/thread_pool.hpp"
#include "core/util/unfilled.hpp"

namespace treerank {

// Returns a hash of each row's codes and label. Equal rows have equal hashes, wherever they are in
// the table.
template <class Code>
Unfilled<std::uint64_t> row_hashes(const CodeMatrix<Code>& codes, const std::uint8_t* labels,
                                   std::uint64_t seed, ThreadPool& pool);

// Returns the rows whose hashes do not exceed the bound of their class.
std::vector<std::int64_t> rows_up_to(const std::uint64_t* hashes, const std::uint8_t* labels,
                                     std::size_t n, const std::uint64_t* bounds, ThreadPool& pool);

// Returns the position of a row within its class by which it is assigned to a fold. `place` is its
// position in the order of the hashes, the lighter row first where hashes are equal. If the class
// has no equal rows, this position is used as it is. Equal rows are neighbours in that order:
// assigned in turn, they would be spread evenly over the folds, the held-out rows would have the
// same class shares as the training rows, noise included, and a tree that fits the noise would look
// good. So if there are copies, positions are shuffled.
std::uint64_t place_in_class(std::uint64_t place, std::uint64_t class_size, bool has_copies,
                             std::uint64_t seed, std::size_t class_number);

// Returns the fold that holds out each row: the rows of each class are assigned to folds 0, 1, ...
// in turn, by place_in_class(). `units` may be null.
Unfilled<std::int32_t> assign_folds(const std::uint64_t* hashes, std::size_t n,
                                    const std::uint8_t* labels, const std::int64_t* units,
                                    std::size_t n_classes, std::int32_t n_folds, std::uint64_t seed,
                                    ThreadPool& pool);

}  // namespace treerank
