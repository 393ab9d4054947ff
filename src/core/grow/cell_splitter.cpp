#include "core/grow/cell_splitter.hpp"

#include <algorithm>

#include "core/data/partition.hpp"

namespace treerank {

namespace {

// The histogram of a pair from those of its classes, which count in the negatives' place.
void pair_up(const PackedCount* worse, const PackedCount* better, PackedCount* pair,
             std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) pair[i] = worse[i] + (better[i] << 32);
}
void pair_up(const WideCount* worse, const WideCount* better, WideCount* pair, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) pair[i] = {worse[i].negative, better[i].negative};
}

}  // namespace

template <class Code, class Count>
CellSplitter<Code, Count>::CellSplitter(const Table<Code>& table, const TreeRankOptions& options,
                                        RowBuffers& buffers, ProgressMonitor& monitor,
                                        ThreadPool* pool)
    : table_(table),
      options_(options),
      buffers_(buffers),
      monitor_(monitor),
      leafrank_(table.features, options.leafrank, monitor, pool) {
    if (options.leafrank.pruning) pruner_.emplace(table.features, options.leafrank, monitor, pool);
}

template <class Code, class Count>
void CellSplitter<Code, Count>::find_candidates(Open& open) {
    if (!may_split(*open.cell, options_)) return;
    monitor_.check();
    if (auto view = compact_view(*open.view, rows(open), open.size(), pool_for(open)))
        open.view = std::move(view);
    const CellTrials trials = trials_of(open, table_.features, options_);
    if (!open.histograms && shares_histograms(open.size())) {
        open.histograms = new_histograms(n_histograms());
        count(open, trials.features, open.histograms.get());
    }
    for (const auto& [pair, key] : trials.pairs) try_pair(open, pair, trials.features, key);
}

template <class Code, class Count>
std::pair<OpenCell<Code, Count>, OpenCell<Code, Count>> CellSplitter<Code, Count>::partition(
    Open& open) {
    auto [left, right] = open_children(open, options_.focus, grown);
    // Cells that will not be split need their weights, not their rows.
    const bool last = open.cell->cell.depth + 1 == options_.max_depth;
    const std::size_t middle = open.first + (last ? open.size() / 2 : partition_rows(open));
    Open better{std::move(left), open.view, open.first, middle, {}};
    Open worse{std::move(right), open.view, middle, open.last, {}};
    if (open.histograms && !last) propagate_histograms(open, better, worse);
    return {std::move(better), std::move(worse)};
}

// ---- Histograms ----

// A cell's histogram is the root histogram of its LeafRank tree, if that uses all features. It
// pays from twice as many rows as there are codes; those of more classes may take as much memory
// as the codes of the cell, not more.
template <class Code, class Count>
bool CellSplitter<Code, Count>::shares_histograms(std::size_t n) const {
    if (!leafrank_.uses_all_features() || options_.max_features >= 0) return false;
    const std::size_t size = table_.features.histogram_size(), p = table_.features.size();
    if (has_two_classes()) return n >= 2 * size / p;
    return n * p * sizeof(Code) >= table_.n_classes * size * sizeof(Count);
}

template <class Code, class Count>
std::shared_ptr<Count[]> CellSplitter<Code, Count>::new_histograms(std::size_t n) const {
    return std::shared_ptr<Count[]>(new Count[n * table_.features.histogram_size()]);
}

template <class Code, class Count>
void CellSplitter<Code, Count>::count(const Open& open, const std::vector<std::int32_t>& features,
                                      Count* histograms) {
    if (has_two_classes())
        return leafrank_.count(*open.view, rows(open), open.size(), features, histograms);
    for (std::size_t k = 0; k < table_.n_classes; ++k) {
        const std::size_t n = select(open, {static_cast<std::int32_t>(k), -1}, work(open));
        leafrank_.count(*open.view, work(open), n, features,
                        histograms + k * table_.features.histogram_size());
    }
}

// The smaller child is counted, the larger one has what is left of the cell's.
template <class Code, class Count>
void CellSplitter<Code, Count>::propagate_histograms(Open& open, Open& better, Open& worse) {
    const auto [small, large] =
        smaller_first(better, worse, [](const Open& child) { return child.size(); });
    const auto wants = [&](const Open& child) {
        return may_split(*child.cell, options_) && shares_histograms(child.size());
    };
    if (!wants(large)) return;
    small.histograms = new_histograms(n_histograms());
    count(small, table_.features.all(), small.histograms.get());
    large.histograms = std::move(open.histograms);
    kernels<Code, Count>().subtract(large.histograms.get(), large.histograms.get(),
                                    small.histograms.get(),
                                    n_histograms() * table_.features.histogram_size());
    if (!wants(small)) small.histograms.reset();
}

// A copy: LeafRank overwrites what it is given, and the children need the original.
template <class Code, class Count>
std::shared_ptr<Count[]> CellSplitter<Code, Count>::histogram_of(const Open& open,
                                                                 ClassPair pair) const {
    if (!open.histograms) return nullptr;
    const std::size_t size = table_.features.histogram_size();
    auto copy = new_histograms(1);
    const Count* from = open.histograms.get();
    if (has_two_classes())
        std::copy_n(from, size, copy.get());
    else
        pair_up(from + pair.first * size, from + pair.second * size, copy.get(), size);
    return copy;
}

// ---- Candidates ----

// Copies the rows of one class or two to `to`, with the label bit set for the better one.
template <class Code, class Count>
std::size_t CellSplitter<Code, Count>::select(const Open& open, ClassPair pair, Row* to) const {
    const Row* rows = buffers_.rows.data() + open.first;
    if (has_two_classes()) {
        std::copy_n(rows, open.size(), to);
        return open.size();
    }
    const std::uint8_t* classes = open.view->classes;
    std::size_t n = 0;
    for (std::size_t i = 0; i < open.size(); ++i) {
        const Row row = rows[i];
        const std::int32_t own = classes[row_id(row)];
        to[n] = (row & ~kLabelBit) | (own == pair.second ? kLabelBit : 0);
        n += own == pair.first || own == pair.second;
    }
    return n;
}

template <class Code, class Count>
void CellSplitter<Code, Count>::try_pair(Open& open, ClassPair pair,
                                         const std::vector<std::int32_t>& features,
                                         std::uint64_t key) {
    const Weights& cell = open.cell->class_weight;
    const ClassWeight weight{cell[pair.first], cell[pair.second]};
    const std::size_t n = select(open, pair, work(open));
    if (pruner_) unpermuted_.assign(work(open), work(open) + n);
    leafrank_.grow(*open.view, work(open), n, scratch(open), weight, features, {0, 0, key}, weight,
                   histogram_of(open, pair).get());
    if (pruner_)
        pruner_->prune(leafrank_, {*open.view, unpermuted_.data(), n, weight, features, key},
                       scratch(open));
    Weights leaf_weight;
    if (!has_two_classes() && leafrank_.nodes.size() > 1) {
        route(open, leafrank_.nodes, leafrank_.category_sets);
        leaf_weight = leaf_weights(open, leafrank_.nodes.size());
    }
    add_candidate(open, pair, leafrank_, std::move(leaf_weight), options_.min_weight_leaf);
}

// Partitions a copy of the cell's rows, of all classes, into the leaves of a LeafRank tree.
template <class Code, class Count>
void CellSplitter<Code, Count>::route(const Open& open, const std::vector<LeafRankNode>& nodes,
                                      const std::vector<CategorySet>& sets) {
    Row* copy = work(open);
    std::copy_n(rows(open), open.size(), copy);
    leaves_.clear();
    std::vector<LeafRows> stack{{0, 0, open.size()}};
    while (!stack.empty()) {
        const LeafRows next = stack.back();
        stack.pop_back();
        const LeafRankNode& node = nodes[next.node];
        if (node.left < 0) {
            leaves_.push_back(next);
            continue;
        }
        const std::size_t n = next.last - next.first;
        const std::size_t middle =
            next.first + partition_by_condition<Code, Count>(
                             node.condition,
                             node.condition.categorical ? sets[node.condition.cut] : CategorySet{},
                             open.view->codes_for(n), copy + next.first, n,
                             scratch(open) + next.first, leafrank_.pool_for(n));
        stack.push_back({node.left, next.first, middle});
        stack.push_back({node.right, middle, next.last});
    }
}

// Weights of all classes in the leaves of the LeafRank tree that the rows were routed through.
template <class Code, class Count>
Weights CellSplitter<Code, Count>::leaf_weights(const Open& open, std::size_t n_nodes) {
    const std::size_t n_classes = table_.n_classes;
    Weights weight(n_nodes * n_classes);
    const Row* routed = work(open);
    for (const LeafRows& leaf : leaves_) {
        std::int64_t units[kMaxClasses] = {};
        for (std::size_t i = leaf.first; i < leaf.last; ++i)
            units[open.view->classes[row_id(routed[i])]] += units_of(routed[i], open.view->weights);
        for (std::size_t k = 0; k < n_classes; ++k)
            weight[leaf.node * n_classes + k] = static_cast<double>(units[k]);
    }
    return weight;
}

template <class Code, class Count>
std::size_t CellSplitter<Code, Count>::partition_rows(const Open& open) {
    const std::vector<LeafRankNode>& tests = open.cell->tests;
    if (!has_two_classes()) route(open, tests, open.cell->category_sets);
    std::vector<std::uint8_t> side_of(tests.size());
    for (std::size_t i = 0; i < side_of.size(); ++i) side_of[i] = tests[i].side == 1;
    return partition_by_side(has_two_classes() ? leafrank_.leaves : leaves_, side_of, work(open),
                             open.view->side.data(), rows(open), open.size(), scratch(open),
                             pool_for(open));
}

template class CellSplitter<std::uint8_t, PackedCount>;
template class CellSplitter<std::uint8_t, WideCount>;
template class CellSplitter<std::uint16_t, PackedCount>;
template class CellSplitter<std::uint16_t, WideCount>;

}  // namespace treerank
