// Cells while a ranking tree grows: their rows, their views of the table, and how the
// grown cells become a flat tree.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "core/data/types.hpp"
#include "core/grow/leafrank.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

// A cell while the tree grows; flattened at the end.
struct Growing {
    Cell cell;
    std::vector<double> class_weight;  // worst class first
    std::vector<LeafRankNode> tests;
    std::vector<double> test_weight;  // tests x classes, where there are more than two
    std::vector<CategorySet> category_sets;
    Growing* left = nullptr;
    Growing* right = nullptr;
    std::int32_t number = -1;  // in the flat tree
    // Weight from the best end of the cell to the end of what counts, as `Focus` counts it.
    double reach = std::numeric_limits<double>::infinity();

    double weight() const { return std::accumulate(class_weight.begin(), class_weight.end(), 0.0); }
};

// The ranking tree while it grows; a deque keeps addresses.
using GrowingCells = std::deque<Growing>;

// Numbers the cells in preorder, whatever order they were grown in; takes their tests, or
// copies them.
RankTree to_preorder(Growing& root, std::size_t n_classes, bool take = true);

// Gives the cells their numbers of the flat tree, and makes none.
void number_cells(Growing& root);

// The inverse: restores what is below a cell, whose number in the tree is given.
void from_preorder(const RankTree& tree, std::int32_t number, Growing& cell, GrowingCells& grown);

// Whether the numbers in a tree's records name cells, tests and sets that are there.
bool is_sound(const RankTree& tree, std::size_t n_features);

struct RowBuffers {
    explicit RowBuffers(std::vector<Row> sample);

    std::vector<Row> rows;           // cells are ranges of this, each in ascending order
    std::unique_ptr<Row[]> work;     // LeafRank's copy, permuted into its leaves
    std::unique_ptr<Row[]> scratch;  // room for stable partitions
};

// A view in which rows[0, n) lie close together, or null where that would not pay; the
// rows are then numbered anew, from 0. `pool` may be null.
template <class Code>
std::shared_ptr<View<Code>> compact_view(const View<Code>& old, Row* rows, std::size_t n,
                                         ThreadPool* pool);

// Partitions rows[0, n), in ascending order, by the sides of the leaves that hold them, each
// part staying in ascending order: LeafRank's leaves are scattered, and sorted rows make
// every later pass over the codes run forward. `leaves` are ranges of `work`; `side_of`
// is by node: 0 for the left. Returns the number of rows on the left.
std::size_t partition_by_side(const std::vector<LeafRows>& leaves,
                              const std::vector<std::uint8_t>& side_of, const Row* work,
                              std::uint8_t* side, Row* rows, std::size_t n, Row* scratch,
                              ThreadPool* pool);

inline std::int64_t units_of(Row row, const std::int64_t* weights) {
    return weights != nullptr ? weights[row_id(row)] : static_cast<std::int64_t>(row & kRepeatMask);
}

}  // namespace treerank
