// Orders by a comparison, with ties in the order of the numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace treerank {

// Returns 0, ..., n - 1 in the order of comes_first(a, b). (Clang 19 and later warn of
// std::stable_sort in the standard library of GCC 12, which uses a deprecated function.)
template <class Index = std::size_t, class Compare>
std::vector<Index> stable_order(std::size_t n, const Compare& comes_first) {
    std::vector<Index> order(n);
    std::iota(order.begin(), order.end(), Index{0});
    std::sort(order.begin(), order.end(),
              [&](Index a, Index b) { return comes_first(a, b) || (!comes_first(b, a) && a < b); });
    return order;
}

}  // namespace treerank
