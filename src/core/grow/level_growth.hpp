// A ranking tree grown from sums, while its rows are elsewhere: in shards or on a device.
//
// All cells of one depth grow their LeafRank trees together (leafrank_frontier.hpp): each round
// requests histograms of open nodes, summed over the shards, and answers with a test for each node.
// Integers add up exactly and draws are keyed by their place in the tree, so the tree is
// bit-identical to the one that grow_tree makes from all rows together. Open cells, their trials,
// candidates, winners and children are those of the driver (selector.hpp), and so are the nodes and
// draws of LeafRank trees (leafrank_tree.hpp). Cells with few rows are gathered: their rows are
// brought to one place and grown there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/data/types.hpp"
#include "core/grow/growing_cell.hpp"
#include "core/grow/leafrank_frontier.hpp"
#include "core/grow/selector.hpp"

namespace treerank {

// A cell that is to be grown to the end in one place; two classes only.
struct GatheredCell {
    std::int32_t cell = 0;  // its index in the tree so far
    std::int32_t depth = 0;
    std::uint64_t key = 0;
};
static_assert(sizeof(GatheredCell) == 16, "shared with NumPy byte for byte");

// The LeafRank trees of a level, concatenated.
struct GrownTrials {
    std::vector<std::int32_t> cells;      // by trial
    std::vector<std::int32_t> starts{0};  // trial i has the nodes [starts[i], starts[i + 1])
    std::vector<LeafRankNode> nodes;
    std::vector<CategorySet> category_sets;

    void add(std::int32_t cell, const std::vector<LeafRankNode>& tests,
             const std::vector<CategorySet>& sets) {
        cells.push_back(cell);
        append_tree(tests, sets, nodes, category_sets);
        starts.push_back(static_cast<std::int32_t>(nodes.size()));
    }
};

class LevelGrowth {
  public:
    // `total` is the weight of each class in the whole sample. Cells and nodes of at most
    // `gathered_weight` are gathered. Histograms are kept for subtraction up to a total of
    // `histogram_bytes`. `gathers_cells`: whether small cells of two classes are gathered whole,
    // instead of only their trials.
    LevelGrowth(Features features, const TreeRankOptions& options, Weights total, std::uint64_t key,
                double gathered_weight, std::size_t histogram_bytes, bool gathers_cells = true);
    LevelGrowth(const LevelGrowth&) = delete;

    // Resumes from a tree whose cells of this depth are still open; `gathered` has the indices of
    // the cells that were gathered.
    void resume(const RankTree& tree, std::int32_t depth,
                const std::vector<std::int32_t>& gathered);

    // The tree so far, with its cells in preorder; open cells are leaves.
    RankTree tree() { return to_preorder(root_, n_classes_, false); }
    // The same once growth is complete: tests may be moved instead of copied.
    RankTree take_tree();
    bool done() const { return level_.empty(); }
    std::int32_t depth() const { return depth_; }
    double open_weight() const;  // of the open cells
    std::size_t n_classes() const { return n_classes_; }
    const Features& features() const { return features_; }

    // Starts the cells of the next depth.
    void start_level();
    // The indices of the open cells in tree(), best first.
    std::vector<std::int32_t> open_cells() const;
    // The tests of the cells of the previous depth that were split, with the positions of the cells
    // in that level.
    GrownTrials last_splits() const;
    // The LeafRank trees of the level, whose requests are to be answered until no slot is left.
    LeafRankFrontier& frontier() { return frontier_; }
    // Returns the trees of all trials. With more than two classes, the weights of all classes in
    // their leaves are needed.
    GrownTrials grown_trials();
    // Chooses the winners and opens their children. `weights` (nodes x classes) is empty for two
    // classes.
    void finish_level(std::span<const std::int64_t> weights);

    // The cells that were gathered, by their indices in tree(); two classes only.
    std::vector<GatheredCell> gathered_cells();
    void graft_cell(std::size_t gathered, const RankTree& grown);

  private:
    struct Trial {
        std::size_t place;  // position of its cell in the level
        ClassPair pair;
    };

    const Features features_;
    const TreeRankOptions options_;
    const bool gathers_cells_;
    const std::size_t n_classes_;

    Growing root_;
    GrowingCells grown_;
    std::vector<OpenSplit> level_;  // open cells of one depth, best first
    std::vector<const Growing*> level_before_;
    std::int32_t depth_ = 0;
    std::vector<Growing*> gathered_cells_;

    LeafRankFrontier frontier_;
    std::vector<Trial> trials_;  // in the order of the frontier's trees
};

}  // namespace treerank
