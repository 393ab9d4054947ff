// A boosted tree grown from sums over shards of the rows, which are elsewhere: says which sums it
// needs next and how the rows move. It is, to the bit, the tree that BoostingRounds grows on the
// same gradients in one place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/data/types.hpp"
#include "core/grow/boosted_cell.hpp"
#include "core/grow/boosting.hpp"
#include "core/grow/gradient_squares.hpp"
#include "core/grow/growing_boosted_tree.hpp"

namespace treerank {

// Where the rows of a slot go: to one slot, or to two by a test. The set of a categorical test is
// that of the number `condition.cut`.
struct BoostingStep {
    static constexpr std::int32_t kGone = -1;
    SplitCondition condition;  // no feature: all go left
    std::int32_t left = kGone;
    std::int32_t right = kGone;
};
static_assert(sizeof(BoostingStep) == 20, "crosses to NumPy as it is");

// What is asked of all shards. Rows move first, from the slots before to the slots from now on;
// all are in slot 0 at first. Then the histograms of some slots are counted.
struct BoostingRequest {
    bool moves = false;
    std::vector<BoostingStep> steps{};  // one a slot before
    std::vector<CategorySet> sets{};
    std::int32_t n_slots = 1;
    std::vector<std::int32_t> wanted{};
    int square_shift = -1;  // of the squares that are wanted too; -1: none are
};

class SummedBoosting {
  public:
    // `weight`: of all rows. Histograms of a level are kept, and so every second one need not be
    // counted, as long as they take no more than so many bytes; nor are more asked for at once.
    SummedBoosting(Features features, std::vector<std::int32_t> chosen,
                   const BoostingOptions& options, std::int64_t weight,
                   std::size_t histogram_bytes);
    // It refers to its own features.
    SummedBoosting(const SummedBoosting&) = delete;
    SummedBoosting& operator=(const SummedBoosting&) = delete;

    // Counters of a histogram: the codes of the chosen features, one feature after another.
    std::size_t histogram_size() const { return size_; }
    bool is_done() const { return pending_.empty(); }
    // Of a tree that is not done.
    BoostingRequest request();
    // The histograms that the last request wanted, and their squares; null where it wanted none.
    void answer(const GradientSum* sums, const GradientSquares* squares);
    BoostedTree compile();

  private:
    struct Counts {
        std::vector<GradientSum> sums;
        GradientSquares squares;
    };
    using SharedCounts = std::shared_ptr<const Counts>;
    // A node that may still be split.
    struct OpenNode {
        std::int32_t cell, number, slot;
        SharedCounts counts{};  // null: not known, or not kept
    };
    // A node to be counted; what is left of the counts of both is then known of another.
    struct Wanted {
        std::size_t open;
        std::ptrdiff_t other = -1;
        SharedCounts whole{};
    };
    struct Place {
        std::int32_t cell, number;
    };

    InnerNode& inner(Place at) { return cells_[at.cell].nodes[at.number]; }
    std::int32_t add_cell(const Segment& at, std::int32_t depth);
    void take(OpenNode& node, SharedCounts counts);
    void find_cut(const OpenNode& node, const Counts& counts);
    SharedCounts rest(const Counts& whole, const Counts& part) const;
    // Asks for the counts of new nodes: those at 2i and 2i + 1 are the two parts of the i-th whole,
    // whose counts may be known.
    void open(std::vector<OpenNode> nodes, const std::vector<SharedCounts>& wholes);
    void advance();
    void grow_inside(const std::vector<SharedCounts>& wholes);
    void finish_cells();
    // Whether a cell has halves that may be grown: the slots of its leaves are `left_slot` and the
    // next one.
    bool part_cell(std::int32_t number, std::vector<std::int32_t>& slot_of_leaf,
                   std::int32_t left_slot);
    BoostingStep test_of(const InnerNode& node);
    BoostingStep step_into(Place at, const std::vector<std::int32_t>& slot_of_leaf);

    const Features features_;
    const std::vector<std::int32_t> chosen_;
    const std::size_t size_, most_at_once_;
    GrowingBoostedTree growing_, trial_;
    std::vector<BoostedCell> cells_;
    std::vector<std::int32_t> level_;         // cells whose inner trees are grown now ...
    std::vector<SharedCounts> level_counts_;  // ... and their counts
    std::int32_t depth_ = 0;                  // in the inner trees
    std::vector<OpenNode> open_;
    std::vector<Place> slots_;
    std::vector<Wanted> pending_;
    std::size_t n_asked_ = 0;  // of the pending ones
    bool keeps_counts_ = true;
    BoostingRequest moves_;  // how rows move at the next request
    int square_shift_ = -1;
};

}  // namespace treerank
