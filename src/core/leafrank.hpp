// LeafRank: a small axis-parallel tree inside one cell, whose leaves are then put
// in order and cut into a left (better) and a right part.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/kernels.hpp"
#include "core/parallel.hpp"
#include "core/split.hpp"
#include "core/types.hpp"

namespace treerank {

// The rows that a cell's numbers refer to. A cell much smaller than its view
// gets a view of its own, so that its codes lie close together.
template <class Code>
struct View {
    CodeMatrix<Code> codes;
    CodeMatrix<Code> by_row;                // the same row by row, or nothing
    const std::int64_t* weights = nullptr;  // units, or null when rows carry repeat counts
    std::vector<Code> own_codes;
    std::vector<std::int64_t> own_weights;
    std::vector<std::uint8_t> side;  // by row: the part of the cell it falls into
};

// The cut of a cell: which leaves go left, and what that gives.
struct LeafOrder {
    std::vector<std::int32_t> leaves;  // node numbers, those that go left first
    std::size_t n_left = 0;            // 0: no admissible cut
    ClassMass left;
};

// Cuts the leaves, ordered by positives / negatives (by `value` where given, leaves of
// equal value staying together), where beta - alpha is largest, on ties the larger left
// part. The order within a part is left open.
LeafOrder order_leaves(const std::vector<LeafRankNode>& nodes,
                       const std::vector<std::int32_t>& leaves, const std::vector<double>& value,
                       ClassMass cell, double min_mass);

// Grows LeafRank trees, one cell after another, in buffers of its own.
template <class Code, class Count>
class LeafRank {
  public:
    LeafRank(const Features& features, const LeafRankOptions& options, Watch& watch, Team* team);

    struct Leaf {
        std::int32_t node;
        std::size_t first;
        std::size_t last;
    };

    // Grows a tree on rows[0, n), which it permutes: each leaf ends up as one
    // stretch of rows, in their old order. `root` is the cell's histogram when it
    // is known (it is overwritten), else null.
    void grow(const View<Code>& view, Row* rows, std::size_t n, Row* scratch, ClassMass cell,
              const std::vector<std::int32_t>& features, std::uint64_t key, Count* root);
    LeafOrder cut(ClassMass cell, double min_mass) const;

    // The histogram of some rows, all of `features`.
    void count(const View<Code>& view, const Row* rows, std::size_t n,
               const std::vector<std::int32_t>& features, Count* histogram);
    // The team, if there is one and n rows are worth calling it; else null.
    Team* team_for(std::size_t n) const;
    bool is_sparse(std::size_t n) const { return n <= sparse_rows_; }
    bool uses_all_features() const { return options_.max_features < 0; }

    std::vector<LeafRankNode> nodes;
    std::vector<CategorySet> category_sets;
    std::vector<Leaf> leaves;

  private:
    struct Open {  // a node that may still be split
        std::int32_t node;
        std::int32_t depth;
        std::size_t first;
        std::size_t last;
        std::uint64_t key;
        double lower;
        double upper;
        std::int32_t histogram;  // number in the pool, -1: not counted
    };
    struct Split {
        double gain = 0;
        Test test;
        CategorySet set;
        ClassMass left;
    };
    struct Scratch {  // one a thread
        std::vector<Count> prefix;
        std::vector<Count> counters;
        std::vector<std::uint64_t> words;
        std::vector<std::int32_t> codes;
        std::vector<Count> counts;
        OccupiedCodes occupied;
    };

    const CodeMatrix<Code>& codes_for(std::size_t n) const;
    bool may_split(const Open& open) const;
    CutSearch search_of(const Open& open) const;
    Split find_split(Open& open);
    void consider(const Open& open, std::int32_t feature, const CutSearch& search, Scratch& scratch,
                  Split& best);
    const Count* histogram_of(const Open& open, std::int32_t feature) const;
    std::int32_t list_sparse(const Open& open, std::int32_t feature, Scratch& scratch);
    void list_occupied(const Open& open, std::int32_t feature, Scratch& scratch);
    bool may_need_stand_in(const Open& open, std::int32_t feature) const;
    std::int32_t stand_in(std::int32_t feature, Scratch& scratch);
    void follow_stand_in(Split& split);
    BestCut scan(const Count* histogram, std::int32_t n_codes, bool missing,
                 const CutSearch& search, Scratch& scratch, double gain);
    BestCut best_gini_cut(const Open& open, std::int32_t feature, const CutSearch& search,
                          Scratch& scratch, double gain);
    BestCut random_cut(const Open& open, std::int32_t feature, const CutSearch& search,
                       Scratch& scratch);
    void take_cut(const BestCut& cut, std::int32_t feature, Split& best);
    void take_levels(const BestLevels& levels, const OccupiedCodes& occupied, std::int32_t feature,
                     const CutSearch& search, Split& best);
    Split best_of(const Open& open, const std::int32_t* features, std::size_t n);
    std::pair<Open, Open> apply(Open open, Split split);
    std::size_t part_rows(const Open& open, const Split& split);
    void hand_down(const Open& parent, Open& left, Open& right);
    void close(const Open& open);
    void grow_depth_first(Open root);
    void grow_best_first(Open root);

    std::int32_t take_histogram();
    void release(std::int32_t& number);

    const Features& features_;
    const LeafRankOptions options_;
    Watch& watch_;
    Team* team_;
    const Kernels<Code, Count>& kernels_;
    const bool monotonic_;
    std::size_t sparse_rows_ = 0;

    // The cell at hand.
    const View<Code>* view_ = nullptr;
    Row* rows_ = nullptr;
    std::size_t n_rows_ = 0;
    Row* scratch_rows_ = nullptr;
    ClassMass cell_;
    std::vector<std::int32_t> cell_features_;
    std::vector<std::int32_t> order_;  // features in the order of their draw
    std::vector<std::int32_t> drawn_;
    std::vector<double> leaf_value_;      // filled under monotone constraints
    std::vector<std::int32_t> stand_in_;  // by feature: code that missing counts as, -1: not known
    Count* given_ = nullptr;

    std::vector<std::unique_ptr<Count[]>> pool_;
    std::vector<std::int32_t> free_;
    std::vector<Scratch> scratch_;
};

}  // namespace treerank
