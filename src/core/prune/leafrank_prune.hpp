// Pruning of a LeafRank tree by cross-validation inside its own cell
// (Clémençon, Depecker and Vayatis, "Adaptive partitioning schemes for bipartite ranking").
//
// The left part of a cell is made of the better leaves, so that its beta - alpha is a
// sum over leaves of what each is worth as a leaf, and the weakest links of the tree
// are those of CART. Each fold's tree is judged on rows that it has not seen.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/row_view.hpp"
#include "core/data/types.hpp"
#include "core/grow/leafrank.hpp"
#include "core/prune/cost_complexity.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

inline constexpr std::size_t kLeafRankFolds = 5;

// A cell, and the tree that was grown in it.
template <class Code>
struct GrownCell {
    const View<Code>& view;
    const Row* rows;  // as before the growth; assigned to the folds in this order
    std::size_t n;
    ClassWeight weight;
    const std::vector<std::int32_t>& features;
    std::uint64_t key;
};

// Prunes LeafRank trees, one cell after another, in buffers of its own.
template <class Code, class Count>
class LeafRankPruner {
  public:
    LeafRankPruner(const Features& features, const LeafRankOptions& options,
                   ProgressMonitor& monitor, ThreadPool* pool);

    // Cuts the tree back as far as its held-out rows ask for; `scratch` is a buffer of n rows.
    void prune(LeafRank<Code, Count>& grown, const GrownCell<Code>& cell, Row* scratch);

  private:
    PruningSequence sequence_of(const LeafRank<Code, Count>& tree, ClassWeight cell);
    ClassWeight hold_out(const GrownCell<Code>& cell, std::size_t fold);
    std::vector<ClassWeight> held_out_weights(const View<Code>& view) const;
    void add_held_out(const View<Code>& view, const PruningSequence& sequence,
                      const std::vector<double>& tried, std::vector<ClassWeight>& left) const;
    std::size_t choose(const std::vector<ClassWeight>& left, ClassWeight cell) const;

    const LeafRankOptions options_;
    LeafRank<Code, Count> tree_;  // the fold's
    std::vector<Row> train_;
    std::vector<Row> held_out_;
    std::vector<std::int32_t> left_, right_;
    std::vector<double> worth_, gain_;
};

}  // namespace treerank
