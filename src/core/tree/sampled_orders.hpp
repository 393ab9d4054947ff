// Estimated attributions, for trees with too many paths to follow.
#pragma once

#include "core/tree/attributions.hpp"

namespace treerank {

// Adds the mean contribution of each feature over some orders in which features follow the row,
// drawn at random by the number of the tree, each order together with its reverse. Returns the
// expected value.
template <class Code>
double sample_orders(const AttributedForest& forest, std::size_t tree,
                     const CodeMatrix<Code>& codes, std::size_t begin, std::size_t end,
                     std::size_t n_orders, const ThreadPool& pool, double* values);

}  // namespace treerank
