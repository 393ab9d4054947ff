// Candidates for the split of a cell whose rows are in memory, and its rows partitioned by the
// winner.
//
// In each cell LeafRank runs on the rows of one pair of classes after the other; all rows of
// the cell are routed through each result. Histograms and split search only know two
// classes. Where there are but two, the pair has all rows, and its LeafRank tree has routed them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/grow/cell_rows.hpp"
#include "core/grow/driver.hpp"
#include "core/grow/growing_cell.hpp"
#include "core/grow/leafrank.hpp"
#include "core/grow/selector.hpp"
#include "core/prune/leafrank_prune.hpp"

namespace treerank {

// A cell that may still be split: a range of the rows.
template <class Code, class Count>
struct OpenCell : OpenSplit {
    std::shared_ptr<View<Code>> view;
    std::size_t first = 0;
    std::size_t last = 0;
    // Where they pay: of two classes together, or one for each of more.
    std::shared_ptr<Count[]> histograms;

    std::size_t size() const { return last - first; }
};

// Works on one cell after another, in buffers of its own: one splitter for each thread.
template <class Code, class Count>
class CellSplitter {
  public:
    using Open = OpenCell<Code, Count>;

    CellSplitter(const Table<Code>& table, const TreeRankOptions& options, RowBuffers& buffers,
                 ProgressMonitor& monitor, ThreadPool* pool);

    void find_candidates(Open& open);
    // Children of a cell whose winner is known, the better one first. Of two classes only the
    // cell whose candidate was found last can be partitioned.
    std::pair<Open, Open> partition(Open& open);

    GrowingCells grown;

  private:
    bool has_two_classes() const { return table_.n_classes == 2; }
    Row* rows(const Open& open) { return buffers_.rows.data() + open.first; }
    Row* work(const Open& open) { return buffers_.work.get() + open.first; }
    Row* scratch(const Open& open) { return buffers_.scratch.get() + open.first; }
    ThreadPool* pool_for(const Open& open) const { return leafrank_.pool_for(open.size()); }

    bool shares_histograms(std::size_t n) const;
    std::shared_ptr<Count[]> new_histograms(std::size_t n) const;
    std::size_t n_histograms() const { return has_two_classes() ? 1 : table_.n_classes; }
    void count(const Open& open, const std::vector<std::int32_t>& features, Count* histograms);
    void propagate_histograms(Open& open, Open& better, Open& worse);
    std::shared_ptr<Count[]> histogram_of(const Open& open, ClassPair pair) const;

    std::size_t select(const Open& open, ClassPair pair, Row* to) const;
    void try_pair(Open& open, ClassPair pair, const std::vector<std::int32_t>& features,
                  std::uint64_t key);
    void route(const Open& open, const std::vector<LeafRankNode>& nodes,
               const std::vector<CategorySet>& sets);
    Weights leaf_weights(const Open& open, std::size_t n_nodes);
    std::size_t partition_rows(const Open& open);

    const Table<Code>& table_;
    const TreeRankOptions& options_;
    RowBuffers& buffers_;
    ProgressMonitor& monitor_;
    LeafRank<Code, Count> leafrank_;
    std::optional<LeafRankPruner<Code, Count>> pruner_;
    std::vector<Row> unpermuted_;   // the rows of a pair as they were before growth
    std::vector<LeafRows> leaves_;  // where the rows were routed to
};

}  // namespace treerank
