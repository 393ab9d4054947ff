// A boosted tree grown from sums over shards of the rows. Says which sums the driver needs next and
// how the rows move. The tree is bit-identical to the one that BoostingRounds grows on the same
// gradients in one place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/data/types.hpp"
#include "core/grow/boosted_growth.hpp"
#include "core/grow/boosting.hpp"
#include "core/grow/gradient_squares.hpp"
#include "core/grow/slot_rows.hpp"

namespace treerank {

// A request to all shards. First, rows move from the previous slots to the new ones (initially all
// rows are in slot 0). Then the histograms of the wanted slots are counted.
struct BoostingRequest {
    bool moves = false;
    std::vector<SlotStep> steps{};  // by previous slot
    std::vector<CategorySet> sets{};
    std::int32_t n_slots = 1;
    std::vector<std::int32_t> wanted{};
    int square_shift = -1;  // shift of the squares that are wanted as well; -1: none
};

class SummedBoosting {
  public:
    // Requests histograms of at most about `histogram_bytes` at a time, but at least of one node.
    SummedBoosting(Features features, std::vector<std::int32_t> chosen,
                   const BoostingOptions& options, std::int64_t weight,
                   std::size_t histogram_bytes);

    // The number of sums in a histogram: the codes of the chosen features, one feature after
    // another.
    std::size_t histogram_size() const { return size_; }
    bool is_done() const { return has_started_ && growth_.nodes().empty(); }
    // Only if the tree is not done.
    BoostingRequest request();
    // Takes the histograms that the last request wanted, and their squares (null if not wanted).
    void answer(const GradientSum* sums, const GradientSquares* squares);
    BoostedTree compile() { return growth_.finish(); }

  private:
    struct Counts {
        std::vector<GradientSum> sums;
        GradientSquares squares;
    };
    using SlotOf = std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t>;

    void keep_rest(const BoostedCount& count);
    void start();
    NewtonCut find_cut(const BoostedOpenNode& node) const;
    // Returns the new slot of a node's rows; kGone if they are no longer needed.
    std::int32_t new_slot(NodeOfCell at, SlotOf& slot_of);
    SlotStep step_from(NodeOfCell at, SlotOf& slot_of, std::vector<CategorySet>& sets);

    const std::vector<std::int32_t> chosen_;
    const BoostingOptions options_;
    BoostedGrowth growth_;
    const std::size_t size_, max_open_;
    int square_shift_ = -1;
    bool has_started_ = false;        // whether the sums of all rows are known
    std::vector<Counts> histograms_;  // by number
    std::vector<NodeOfCell> slots_;
};

}  // namespace treerank
