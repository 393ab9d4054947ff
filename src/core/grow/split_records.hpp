// LeafRank trees whose tests were found elsewhere, such as on a device, as one record per node.
// They are assembled here as the core would have grown them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/data/types.hpp"
#include "core/grow/leafrank_tree.hpp"

namespace treerank {

// The outcome for a node: its test and the weight of its left child. Children that may not be split
// have no record (-1), and a node without a test (feature -1) is a leaf. Children come after their
// parents; otherwise records are in any order.
struct SplitRecord {
    static constexpr std::int32_t kCategorical = 1 << 30, kMissingLeft = 1 << 29;

    std::int32_t feature = -1;  // combined with the two flags above
    std::int32_t cut = 0;       // or the index of a category set
    std::int32_t left = -1;
    std::int32_t right = -1;
    ClassWeight left_weight;

    bool is_test() const { return feature >= 0; }
};
static_assert(sizeof(SplitRecord) == 32, "copied from a device byte for byte");

struct SplitRecords {
    const SplitRecord* records = nullptr;
    std::size_t n = 0;
    const CategorySet* sets = nullptr;
    std::size_t n_sets = 0;
};

// The tests of several trees in the order of depth-first growth, the left branch before the right.
// They are not found by walking from node to node: each step of a walk through millions of records
// waits for memory, whereas these passes have many requests in flight.
class DepthFirst {
  public:
    struct Test {
        std::int32_t record = -1;
        bool left = false;  // whether its children are tests
        bool right = false;
    };

    // Record i is the root of tree i, for the first `n_roots` records.
    DepthFirst(const SplitRecords& splits, std::size_t n_roots);
    std::span<const Test> tests_of(std::size_t root) const {
        return {tests_.data() + starts_[root], tests_.data() + starts_[root + 1]};
    }

  private:
    std::vector<std::int32_t> starts_;
    std::vector<Test> tests_;
};

// Grows a tree of one node by these tests, depth first. It gets the same nodes with the same
// indices, bounds and values as if the tests had been searched for.
void replay_splits(const OpenNode& root, std::span<const DepthFirst::Test> tests,
                   const SplitRecords& splits, const Features& features, LeafRankTree& tree);

}  // namespace treerank
