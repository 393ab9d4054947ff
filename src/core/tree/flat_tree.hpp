// Scoring: a tree frozen into one flat array, and rows walked through it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/row_view.hpp"
#include "core/data/types.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

// One step of a walk, in eight bytes. The two successors of a test lie side by
// side, so that the outcome is added to `next`. LeafRank leaves that lead to the
// same cell hold copies of that cell's first test: the copies share its successors,
// so merged cells are stored once, and the flat tree is a graph, not an expansion.
// Successors lie further on, except that the end of a walk is a slot that leads to
// itself.
struct Slot {
    std::uint32_t next;
    std::uint16_t feature;
    std::uint16_t cut;
};
inline constexpr std::uint32_t kMissingRight = 1u << 30;
inline constexpr std::uint32_t kCategorical = 1u << 31;
inline constexpr std::uint32_t kNextMask = kMissingRight - 1;
inline constexpr std::size_t kMaxFeatures = 65535;

struct FlatTree {
    std::vector<Slot> slots;
    std::vector<std::int32_t> target;  // cell at the end of a walk; category set of a test
    std::vector<std::int32_t> test;    // number of the test that a slot asks; -1 at an end
    std::vector<CategorySet> category_sets;
    bool any_categorical = false;
};

// Freezes the subtree in which cell c is split if and only if is_split[c]. LeafRank leaves
// that share a side are one slot, unless `arrival` is given: then every leaf keeps a slot of
// its own, and arrival[slot] is the test node that the slot was reached as (-1: the root).
FlatTree compile_tree(const RankTree& tree, const std::uint8_t* is_split,
                      std::vector<std::int32_t>* arrival = nullptr);

// Whether every walk stays inside the arrays and ends.
bool is_sound(const FlatTree& tree, std::size_t n_features);

// The cell in which each row ends.
template <class Code>
void apply(const FlatTree& tree, const CodeMatrix<Code>& codes, ThreadPool& pool,
           std::int32_t* cells);

// The weight of each class in each cell in which rows end (cells x classes). Rows without weight
// are passed over.
template <class Code>
std::vector<std::int64_t> leaf_weights(const FlatTree& tree, const CodeMatrix<Code>& codes,
                                       const WeightedRows& rows, std::size_t n_cells,
                                       ThreadPool& pool);

}  // namespace treerank
