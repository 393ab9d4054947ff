// One pass over a table of numbers that finds the columns with missing values and any infinite
// value.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/binning.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

struct NumberScan {
    std::vector<std::uint8_t> has_missing;  // by column
    bool has_infinite = false;

    void take(const NumberScan& other);
};

template <class Value>
NumberScan scan_numbers(const NumberMatrix<Value>& numbers, ThreadPool& pool);

}  // namespace treerank
