// The rows of one shard by slot, and how they move while a tree is grown from sums over the shards.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/types.hpp"

namespace treerank {

// Rows by slot: slot s has rows[starts[s], starts[s + 1]), in ascending order.
struct RowState {
    std::vector<Row> rows;
    std::vector<std::int64_t> starts{0};

    std::size_t n_slots() const { return starts.size() - 1; }
    const Row* begin(std::size_t slot) const { return rows.data() + starts[slot]; }
    std::size_t size(std::size_t slot) const {
        return static_cast<std::size_t>(starts[slot + 1] - starts[slot]);
    }
};

// Where the rows of a slot go: to one slot, or to two by a test. The category set of a test is
// number `condition.cut`.
struct SlotStep {
    static constexpr std::int32_t kGone = -1;
    SplitCondition condition;  // feature -1: all rows go left
    std::int32_t left = kGone;
    std::int32_t right = kGone;

    // Sets the test and appends its category set, if any, to `sets`.
    void set_test(SplitCondition test, const CategorySet& set, std::vector<CategorySet>& sets) {
        condition = test;
        if (!test.categorical) return;
        condition.cut = static_cast<std::int32_t>(sets.size());
        sets.push_back(set);
    }
};
static_assert(sizeof(SlotStep) == 20, "shared with NumPy byte for byte");

// Moves the rows of each slot as its step says, to `n_slots` new slots. Several steps may lead to
// the same slot.
template <class Code>
RowState step_rows(const CodeMatrix<Code>& codes, const RowState& placed,
                   const std::vector<SlotStep>& steps, const std::vector<CategorySet>& sets,
                   std::size_t n_slots);

}  // namespace treerank
