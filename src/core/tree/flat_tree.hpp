// Scoring: a tree compiled into one flat array, and rows walked through it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/row_view.hpp"
#include "core/data/types.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

// One step of a walk, in eight bytes. The two successors of a test are adjacent, so that the
// outcome is added to `next`. LeafRank leaves that lead to the same cell are copies of that cell's
// first test and share its successors: merged cells are stored once, and the flat tree is a graph,
// not an expansion. Successors come later in the array, except that a slot which ends a walk leads
// to itself.
inline constexpr std::uint32_t kMissingRight = 1u << 30;
inline constexpr std::uint32_t kCategorical = 1u << 31;
inline constexpr std::uint32_t kNextMask = kMissingRight - 1;
struct Slot {
    std::uint32_t next;  // with the two flags above
    std::uint16_t feature;
    std::uint16_t cut;

    // Whether a test that is not categorical sends a code left. If missing values go right, code 0
    // wraps around to the largest code.
    bool sends_left(std::uint16_t code) const {
        const auto shift = static_cast<std::uint16_t>((next & kMissingRight) != 0);
        return static_cast<std::uint16_t>(code - shift) <= cut;
    }
};
inline constexpr std::size_t kMaxFeatures = 65535;

struct FlatTree {
    std::vector<Slot> slots;
    std::vector<std::int32_t> target;  // the cell at the end of a walk, or a test's category set
    std::vector<std::int32_t> test;    // index of the test in a slot; -1 at an end
    std::vector<CategorySet> category_sets;
    bool any_categorical = false;
};

// Compiles a tree, or the subtree in which cell c is split if and only if is_split[c]. LeafRank
// leaves on the same side share a slot, unless `arrival` is given: then every leaf keeps a slot of
// its own, and arrival[slot] is the test node that the slot stands for (-1: the root).
FlatTree compile_tree(const RankTree& tree, const std::uint8_t* is_split = nullptr,
                      std::vector<std::int32_t>* arrival = nullptr);

// Whether every walk stays inside the arrays and terminates.
bool is_sound(const FlatTree& tree, std::size_t n_features);

// Finds the cell in which each row ends.
template <class Code>
void apply(const FlatTree& tree, const CodeMatrix<Code>& codes, ThreadPool& pool,
           std::int32_t* cells);

// Returns the weight of each class in each cell in which rows end (cells x classes). Rows without
// weight are skipped.
template <class Code>
std::vector<std::int64_t> leaf_weights(const FlatTree& tree, const CodeMatrix<Code>& codes,
                                       const WeightedRows& rows, std::size_t n_cells,
                                       ThreadPool& pool);

}  // namespace treerank
