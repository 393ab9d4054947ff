// Numbers integer labels from a small range by their order, in two passes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/util/unfilled.hpp"

namespace treerank {

template <class Value>
struct NumberedLabels {
    std::vector<Value> distinct;    // ascending
    Unfilled<std::uint8_t> number;  // index of each row's label in `distinct`
};

// Returns nullopt if the smallest and the largest label are 256 or more apart.
template <class Value>
std::optional<NumberedLabels<Value>> number_labels(const Value* labels, std::size_t n);

// Counts the rows of each class number. The result has at least `n_classes` entries.
std::vector<std::int64_t> count_labels(const std::uint8_t* labels, std::size_t n,
                                       std::size_t n_classes);

}  // namespace treerank
