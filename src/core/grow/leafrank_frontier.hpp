// LeafRank trees that are grown together, from histograms of their open nodes.
//
// Each tree is the one that LeafRank grows on the same rows, depth first or best first. The
// difference is who waits: LeafRank has its rows in memory and counts and searches a node at once,
// while its codes are in the cache. Here the rows are elsewhere, and all trees make their requests
// together, so that one pass over the shards answers them. So this is not a loop but a state
// machine: it says which histograms it needs and, once it has them, where the rows go.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "core/data/row_view.hpp"
#include "core/data/types.hpp"
#include "core/grow/leafrank_tree.hpp"
#include "core/grow/slot_rows.hpp"
#include "core/grow/split_records.hpp"
#include "core/split/split_search.hpp"

namespace treerank {

// A LeafRank tree for a pair of classes is to be grown in this cell (a leaf of the tree so far).
struct TrialRoot {
    std::int32_t cell;
    std::int32_t worse_class;
    std::int32_t better_class;
};

// A node whose rows are gathered, with everything that its growth depends on.
struct GatheredNode : OpenNode {
    std::int32_t trial = 0;
    std::int32_t unused = 0;
    ClassWeight weight;
    ClassWeight cell;  // the cell's weights of the pair of classes
};
static_assert(sizeof(GatheredNode) == 72, "shared with NumPy byte for byte");

class LeafRankFrontier {
  public:
    // Nodes of at most `gathered_weight` are gathered: their rows are brought to one place and
    // grown there. Histograms are kept for subtraction up to a total of `histogram_bytes`.
    LeafRankFrontier(const Features& features, const LeafRankOptions& options,
                     double gathered_weight, std::size_t histogram_bytes);

    bool is_small(double weight) const { return weight <= gathered_weight_; }

    // clear() starts over; then trees are added. The root of a tree is a leaf, or waits in the next
    // slot, or is gathered and has no slot.
    void clear();
    void add_tree(const TrialRoot& at, ClassWeight cell, std::uint64_t key,
                  std::vector<std::int32_t> features);
    void start() { request_histograms(); }
    const std::vector<TrialRoot>& roots() const { return roots_; }  // those that wait
    const std::vector<TrialRoot>& gathered_roots() const { return gathered_roots_; }

    // The slots whose histograms are needed, in the order in which give() expects them.
    const std::vector<std::int32_t>& wanted() const { return wanted_; }
    void give(const WideCount* histograms, std::size_t n);
    // Called once all histograms are given: splits nodes and decides where the rows of each slot
    // go. Slots from n_slots() on have rows that are gathered.
    void advance();
    const std::vector<SlotStep>& steps() const { return steps_; }
    const std::vector<CategorySet>& step_sets() const { return step_sets_; }
    std::size_t n_slots() const { return waiting_.size(); }
    std::size_t n_step_slots() const { return n_step_slots_; }

    // Nodes to be grown elsewhere, in the order in which they were gathered.
    const std::vector<GatheredNode>& gathered_nodes() const { return gathered_; }
    const std::vector<std::int32_t>& features_of(std::size_t trial) const;
    void graft_node(const GatheredNode& at, const LeafRankNodes& grown);
    // Grafts all gathered nodes at once; record i is the root of gathered node i.
    void graft_splits(const SplitRecords& splits);

    std::size_t n_trees() const { return trials_.size(); }
    LeafRankTree& tree(std::size_t trial) { return trials_[trial].tree; }

  private:
    struct Trial {
        std::vector<std::int32_t> features;
        LeafRankTree tree;
        std::vector<WideCount> cell_histogram{};  // if missing values are imputed with the mean
    };
    struct Waiting {  // an open node, by slot
        std::size_t trial;
        OpenNode open;
        // If kept; before the node is searched, the parent's, less the sibling's once that is
        // known.
        std::vector<WideCount> histogram{};
        std::int32_t larger =
            -1;  // the slot of the sibling whose histogram follows from this one's
        bool searched = false;
        Split split{};
    };

    bool is_gathered(std::size_t trial, const OpenNode& open) const;
    void gather(std::size_t trial, const OpenNode& open);
    void request_histograms();
    void search(Waiting& waiting, const WideCount* histogram);
    std::vector<std::uint8_t> nodes_to_split() const;
    void place_children(Waiting& parent, const std::pair<OpenNode, OpenNode>& children,
                        SlotStep& step, std::vector<Waiting>& next,
                        std::vector<std::int32_t*>& gathered);

    const Features& features_;
    const LeafRankOptions options_;
    const double gathered_weight_;
    const std::size_t histogram_bytes_;
    SplitSearch<std::uint16_t, WideCount> split_search_;
    const View<std::uint16_t> no_rows_;
    FeatureDraws draws_;

    std::deque<Trial> trials_;
    std::vector<TrialRoot> roots_, gathered_roots_;
    std::vector<GatheredNode> gathered_;
    std::vector<Waiting> waiting_;
    std::vector<std::int32_t> wanted_;
    std::size_t n_given_ = 0;
    bool keeps_histograms_ = false;
    std::vector<SlotStep> steps_;
    std::vector<CategorySet> step_sets_;
    std::size_t n_step_slots_ = 0;
};

}  // namespace treerank
