// Folds: rows are assigned by their content, so that their order does not matter.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/types.hpp"
#include "core/util/thread_pool.hpp"
#include "core/util/unfilled.hpp"

namespace treerank {

// A hash of each row's codes and label: equal rows have equal hashes, wherever
// they stand in the table.
template <class Code>
Unfilled<std::uint64_t> row_hashes(const CodeMatrix<Code>& codes, const std::uint8_t* labels,
                                   std::uint64_t seed, ThreadPool& pool);

// Rows whose hashes are up to the bound of their class.
std::vector<std::int64_t> rows_up_to(const std::uint64_t* hashes, const std::uint8_t* labels,
                                     std::size_t n, const std::uint64_t* bounds, ThreadPool& pool);

// Places of rows among those of a class, which are in the order of their hashes, of equal ones the
// lighter first. Equal rows are neighbours there: assigned one by one they would be spread evenly,
// the rows held out would have the very shares of the others, noise included, and a tree that
// learns the noise would look good. So where there are equal rows the places are shuffled.
std::uint64_t place_in_class(std::uint64_t place, std::uint64_t class_size, bool has_copies,
                             std::uint64_t seed, std::size_t class_number);

// The fold that holds each row out: the rows of a class are assigned to fold 0, 1, ... by their
// places, those of the hashes. `units` may be null.
Unfilled<std::int32_t> assign_folds(const std::uint64_t* hashes, std::size_t n,
                                    const std::uint8_t* labels, const std::int64_t* units,
                                    std::size_t n_classes, std::int32_t n_folds, std::uint64_t seed,
                                    ThreadPool& pool);

}  // namespace treerank
