// A list worked on a stretch at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

namespace treerank {

// Cuts a list into stretches of at most so many, and calls job with each.
template <class Item, class Job>
void in_stretches(std::vector<Item>& items, std::size_t most, const Job& job) {
    for (std::size_t first = 0; first < items.size(); first += most) {
        const auto from = items.begin() + static_cast<std::ptrdiff_t>(first);
        const auto n = static_cast<std::ptrdiff_t>(std::min(most, items.size() - first));
        job(std::vector<Item>(std::make_move_iterator(from), std::make_move_iterator(from + n)));
    }
}

}  // namespace treerank
