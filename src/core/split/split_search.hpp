// The search for the test of one node of a LeafRank tree, over a given set of features.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "core/data/row_view.hpp"
#include "core/data/types.hpp"
#include "core/histogram/kernels.hpp"
#include "core/split/criterion.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

// The search's view of a node.
template <class Count>
struct SearchedNode {
    const Row* rows = nullptr;
    std::size_t n = 0;
    const Count* histogram = nullptr;  // of all features; null: not counted
    std::uint64_t key = 0;
    CutSearch search;
};

struct Split {
    double gain = 0;  // 0: no split
    SplitCondition condition;
    CategorySet set;
    ClassWeight left;
};

template <class Code, class Count>
class SplitSearch {
  public:
    SplitSearch(const Features& features, const LeafRankOptions& options, ThreadPool* pool);

    // Sets the cell whose nodes are searched next; missing values may be imputed with its mean.
    // `histogram` is the cell's histogram if its rows are not in memory.
    void enter(const View<Code>& view, const Row* rows, std::size_t n,
               const Count* histogram = nullptr);
    // Switches to a view of the same rows under other numbers.
    void use_view(const View<Code>& view) { view_ = &view; }
    Split best_of(const SearchedNode<Count>& node, const std::int32_t* features, std::size_t n);
    // Routes missing values to the side of the code they are imputed with.
    void follow_imputed_code(Split& split);

  private:
    using Node = SearchedNode<Count>;
    struct Scratch {  // one per thread
        std::vector<Count> prefix;
        std::vector<Count> counters;
        std::vector<std::uint64_t> words;
        std::vector<std::int32_t> codes;
        std::vector<Count> counts;
        OccupiedCodes occupied;
        std::vector<std::int32_t> numeric;  // numeric features of a node with few rows
        std::vector<std::int32_t> others;   // features that are searched one by one
    };

    void add_scratch();
    bool has_few_rows(const Node& node) const;
    Split best_of_few(const Node& node, const std::int32_t* features, std::size_t n);
    void consider(const Node& node, std::int32_t feature, Scratch& scratch, Split& best);
    BestCut cut_of(const Node& node, std::int32_t feature, const CutSearch& search,
                   std::int32_t missing_as, Scratch& scratch, double gain);
    BestCut scan(const Count* histogram, std::int32_t n_codes, bool missing,
                 const CutSearch& search, Scratch& scratch, double gain);
    BestCut best_gini_cut(const Node& node, std::int32_t feature, const CutSearch& search,
                          Scratch& scratch, double gain);
    BestCut random_cut(const Node& node, std::int32_t feature, const CutSearch& search,
                       Scratch& scratch);
    void take_cut(const BestCut& cut, std::int32_t feature, Split& best);
    void take_levels(const BestLevels& levels, const OccupiedCodes& occupied, std::int32_t feature,
                     const CutSearch& search, Split& best);
    const Count* histogram_of(const Node& node, std::int32_t feature) const;
    std::int32_t list_sparse(const Node& node, std::int32_t feature, Scratch& scratch);
    void list_occupied(const Node& node, std::int32_t feature, Scratch& scratch);
    bool may_need_imputed_code(const Node& node, std::int32_t feature) const;
    std::int32_t imputed_code(std::int32_t feature, Scratch& scratch);

    const Features& features_;
    const LeafRankOptions options_;
    ThreadPool* pool_;
    const Kernels<Code, Count>& kernels_;
    std::deque<Scratch> scratch_;

    const View<Code>* view_ = nullptr;
    Node cell_;
    std::vector<std::int32_t>
        imputed_code_;  // by feature: the code for missing values; -1: not known yet
};

}  // namespace treerank
