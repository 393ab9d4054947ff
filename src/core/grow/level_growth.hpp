// A ranking tree grown from sums, its rows being elsewhere, in parts.
//
// All cells of one depth grow their LeafRank trees together, level by level: a round asks for
// the histograms of the nodes at hand, summed over the parts, and answers with a test for
// each. Whole numbers add up exactly and draws are keyed by the place in the tree, so that
// the tree is, to the bit, the one that grow_tree makes of all rows together. Cells and nodes
// with few rows are gathered: their rows are brought to one place and grown there.
//
// Open cells, their trials, candidates, winners and children are the driver's (selector.hpp), and
// so are the nodes and draws of a LeafRank tree (leafrank_tree.hpp). What differs is who waits:
// rows in memory are counted at once, node after node, while here all trees of a forest have to
// ask together, so that one pass over the parts answers them. Hence a machine that is asked what
// it wants next, in the place of the driver's loop.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "core/data/types.hpp"
#include "core/grow/growing_cell.hpp"
#include "core/grow/leafrank_tree.hpp"
#include "core/grow/selector.hpp"
#include "core/grow/split_records.hpp"
#include "core/split/split_search.hpp"

namespace treerank {

// A LeafRank tree of a pair of classes is to grow in this cell (a leaf of the tree so far).
struct TrialRoot {
    std::int32_t cell;
    std::int32_t worse_class;
    std::int32_t better_class;
};

// What happens to the rows of one slot: they are dropped, stay, or are split by a test; the
// parts go on, are gathered, or are dropped.
struct Step {
    static constexpr std::int32_t kDrop = -1;
    static constexpr std::int32_t kStay = -2;
    enum Fate : std::uint8_t { kGone = 0, kKept = 1, kGathered = 2 };

    SplitCondition condition;  // feature kDrop or kStay: no test
    std::uint8_t left = kGone;
    std::uint8_t right = kGone;
    std::uint16_t unused = 0;
};
static_assert(sizeof(Step) == 16, "crosses to NumPy as it is");

// A node whose rows were gathered, with all that its growth depends on.
struct GatheredNode {
    std::int32_t trial = 0;
    std::int32_t node = 0;
    std::int32_t depth = 0;
    std::int32_t unused = 0;
    std::uint64_t key = 0;
    double lower = 0;
    double upper = 1;
    ClassWeight weight;
    ClassWeight cell;  // of the pair of classes that the trial tells apart
};
static_assert(sizeof(GatheredNode) == 72, "crosses to NumPy as it is");

// A cell that is to be grown to the end in one place; two classes only.
struct GatheredCell {
    std::int32_t cell = 0;  // its number in the tree so far
    std::int32_t depth = 0;
    std::uint64_t key = 0;
};
static_assert(sizeof(GatheredCell) == 16, "crosses to NumPy as it is");

class LevelGrowth {
  public:
    // `total` is the weight of each class in the whole sample; nodes up to `gathered_weight` are
    // gathered; histograms are kept, for subtraction, up to so many bytes. `gathers_cells`: whether
    // small cells of two classes are gathered whole, or their trials only.
    LevelGrowth(Features features, const TreeRankOptions& options, Weights total, std::uint64_t key,
                double gathered_weight, std::size_t histogram_bytes, bool gathers_cells = true);
    LevelGrowth(const LevelGrowth&) = delete;

    // Goes on from a tree whose cells of this depth are still open, and from the numbers of
    // those that were gathered.
    void resume(const RankTree& tree, std::int32_t depth,
                const std::vector<std::int32_t>& gathered);

    // The tree so far, cells in preorder; open cells are leaves.
    RankTree tree();
    // The same once growth is over: the tests are taken, not copied.
    RankTree take_tree();
    bool done() const { return level_.empty(); }
    std::int32_t depth() const { return depth_; }
    double open_weight() const;  // of cells that may still be split here

    // Begins the cells of the next depth. Roots that are gathered have no slot.
    void start_level();
    const std::vector<TrialRoot>& roots() const { return roots_; }
    const std::vector<TrialRoot>& gathered_roots() const { return gathered_roots_; }

    // Slots whose histograms are wanted, in this order.
    const std::vector<std::int32_t>& wanted() const { return wanted_; }
    void give(const WideCount* histograms, std::size_t n);
    // Once all are given: decides what happens to the rows of each slot.
    void advance();
    const std::vector<Step>& steps() const { return steps_; }
    const std::vector<CategorySet>& step_sets() const { return step_sets_; }
    std::size_t n_slots() const { return frontier_.size(); }
    std::size_t n_classes() const { return n_classes_; }
    std::size_t n_features() const { return features_.size(); }
    std::size_t n_trials() const { return trials_.size(); }
    std::size_t n_trial_nodes() const;
    std::size_t histogram_size() const { return features_.histogram_size(); }

    // Nodes of this level that are grown elsewhere, in the order in which they were gathered.
    const std::vector<GatheredNode>& gathered_nodes() const { return gathered_nodes_; }
    std::vector<std::int32_t> trial_features(std::size_t trial) const;
    void graft_node(const GatheredNode& at, const std::vector<LeafRankNode>& nodes,
                    const std::vector<CategorySet>& sets, const std::vector<double>& values);
    // All gathered nodes of the level at once, each from the record of its number on.
    void graft_splits(const SplitRecords& splits);

    // Beyond two classes the weights of all classes in the leaves of every trial are needed.
    struct GrownTrials {
        std::vector<std::int32_t> cells;   // by trial
        std::vector<std::int32_t> starts;  // trial i has the nodes [starts[i], starts[i + 1])
        std::vector<LeafRankNode> nodes;
        std::vector<CategorySet> category_sets;
    };
    GrownTrials grown_trials();
    // Chooses the winners and opens their children. `weights`: nodes x classes; null for two.
    void finish_level(const std::int64_t* weights);

    // Cells of two classes that were gathered, by their numbers in `tree()`.
    std::vector<GatheredCell> gathered_cells();
    void graft_cell(std::size_t gathered, const RankTree& grown);

  private:
    struct Trial {
        std::size_t place;  // of its cell in the level
        ClassPair pair;
        std::uint64_t key;
        std::vector<std::int32_t> features;
        LeafRankTree tree;
        std::vector<WideCount> cell_histogram;  // where missing counts as the cell's mean
        std::int32_t n_leaves = 1;
    };
    using Histogram = std::shared_ptr<std::vector<WideCount>>;
    struct Waiting {  // a node at hand
        std::size_t trial;
        OpenNode open;
        Histogram histogram;        // its own, where it is kept
        Histogram parent;           // to subtract the sibling's from ...
        std::int32_t sibling = -1;  // ... which is in this slot
        bool searched = false;
        Split split;
    };

    bool may_gather(const OpenNode& open) const;
    bool is_few(double weight) const { return weight <= gathered_weight_; }
    void open_trial(std::size_t place, ClassPair pair, std::uint64_t key,
                    const std::vector<std::int32_t>& features);
    void gather_node(std::size_t trial, const OpenNode& open);
    void want_all();
    void search(Waiting& waiting, const WideCount* histogram);
    void search_by_subtraction();
    std::vector<std::uint8_t> nodes_to_split();
    void split_node(Waiting& waiting, Step& step, std::vector<Waiting>& next);

    const Features features_;
    const TreeRankOptions options_;
    const double gathered_weight_;
    const std::size_t histogram_bytes_;
    const bool gathers_cells_;
    const std::size_t n_classes_;
    SplitSearch<std::uint16_t, WideCount> split_search_;
    const View<std::uint16_t> no_rows_;
    FeatureDraws draws_;

    GrowingCells grown_;
    std::uint64_t key_;
    std::optional<Selector> selector_;
    std::int32_t depth_ = 0;
    std::vector<OpenSplit> level_;  // open cells, best first
    std::vector<OpenSplit> gathered_cells_;

    std::deque<Trial> trials_;
    std::vector<TrialRoot> roots_;
    std::vector<TrialRoot> gathered_roots_;
    std::vector<GatheredNode> gathered_nodes_;
    std::vector<Waiting> frontier_;  // one a slot
    std::vector<std::int32_t> wanted_;
    std::size_t n_given_ = 0;
    bool keeps_histograms_ = false;
    std::vector<Step> steps_;
    std::vector<CategorySet> step_sets_;
};

}  // namespace treerank
