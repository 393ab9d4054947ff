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

// Where the rows of a slot go: to one slot, or to two by a test. The set of a categorical test is
// that of the number `condition.cut`.
struct SlotStep {
    static constexpr std::int32_t kGone = -1;
    SplitCondition condition;  // no feature: all go left
    std::int32_t left = kGone;
    std::int32_t right = kGone;

    // Its test, whose set is added to `sets`.
    void set_test(SplitCondition test, const CategorySet& set, std::vector<CategorySet>& sets) {
        condition = test;
        if (!test.categorical) return;
        condition.cut = static_cast<std::int32_t>(sets.size());
        sets.push_back(set);
    }
};
static_assert(sizeof(SlotStep) == 20, "crosses to NumPy as it is");

// Moves the rows of each slot as its step says, to `n_slots` slots; several may go to the same.
template <class Code>
RowState step_rows(const CodeMatrix<Code>& codes, const RowState& placed,
                   const std::vector<SlotStep>& steps, const std::vector<CategorySet>& sets,
                   std::size_t n_slots);

}  // namespace treerank
