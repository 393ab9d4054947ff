// Folds: rows are dealt out by their content, so that their order does not matter.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/types.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

// A hash of each row's codes and label: equal rows have equal hashes, wherever
// they stand in the table.
template <class Code>
std::vector<std::uint64_t> row_hashes(const CodeMatrix<Code>& codes, const std::uint8_t* labels,
                                      std::uint64_t seed, ThreadPool& pool);

// The fold that holds each row out. The rows of a class are dealt one by one to fold 0, 1, ... in
// the order of their hashes, of equal ones the lighter first (`units` may be null), so that equal
// rows are spread evenly.
template <class Code>
std::vector<std::int32_t> assign_folds(const CodeMatrix<Code>& codes, const std::uint8_t* labels,
                                       const std::int64_t* units, std::size_t n_classes,
                                       std::int32_t n_folds, std::uint64_t seed, ThreadPool& pool);

}  // namespace treerank
