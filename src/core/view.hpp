// The rows that a cell's numbers refer to.
#pragma once

#include <cstdint>
#include <vector>

#include "core/types.hpp"

namespace treerank {

// A cell much smaller than its view gets a view of its own, so that its codes lie
// close together.
template <class Code>
struct View {
    CodeMatrix<Code> codes;
    const std::int64_t* weights = nullptr;  // units, or null when rows carry repeat counts
    const std::uint8_t* classes = nullptr;  // null for two classes: rows carry their labels
    std::vector<Code> own_codes;
    std::vector<std::int64_t> own_weights;
    std::vector<std::uint8_t> own_classes;
    std::vector<std::uint8_t> side;  // by row: the part of the cell it falls into
};

}  // namespace treerank
