// LeafRank trees whose tests were found elsewhere, such as on a device, node by node: put together
// here as the core would have grown them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/data/types.hpp"
#include "core/grow/leafrank_tree.hpp"

namespace treerank {

// What became of a node: its test and the weight of its left child. Children that may not be split
// have no record (-1), and a node without a test (feature -1) is a leaf. Records of children come
// after their parents'; otherwise they are in any order.
struct SplitRecord {
    static constexpr std::int32_t kCategorical = 1 << 30, kMissingLeft = 1 << 29;

    std::int32_t feature = -1;  // with the two bits above
    std::int32_t cut = 0;       // or the number of a category set
    std::int32_t left = -1;
    std::int32_t right = -1;
    ClassWeight left_weight;

    bool is_test() const { return feature >= 0; }
};
static_assert(sizeof(SplitRecord) == 32, "crosses from the device as it is");

struct SplitRecords {
    const SplitRecord* records = nullptr;
    std::size_t n = 0;
    const CategorySet* sets = nullptr;
    std::size_t n_sets = 0;
};

// The tests of several trees in the order in which depth-first growth makes them, the left branch
// before the right. Found without walking from node to node: each step of a walk through millions
// of records waits for memory, while these passes ask for many at once.
class DepthFirst {
  public:
    struct Test {
        std::int32_t record = -1;
        bool left = false;  // whether its children are tests
        bool right = false;
    };

    // Trees begin with the first `n_roots` records, one each.
    DepthFirst(const SplitRecords& splits, std::size_t n_roots);
    std::span<const Test> tests_of(std::size_t root) const {
        return {tests_.data() + starts_[root], tests_.data() + starts_[root + 1]};
    }

  private:
    std::vector<std::int32_t> starts_;
    std::vector<Test> tests_;
};

// Grows a tree of one node, depth first, by these tests. The same nodes with the same numbers,
// bounds and values as where the tests are searched for.
void replay_splits(const OpenNode& root, std::span<const DepthFirst::Test> tests,
                   const SplitRecords& splits, const Features& features, LeafRankTree& tree);

}  // namespace treerank
