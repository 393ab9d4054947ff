#include "core/grow/leafrank.hpp"

#include <algorithm>
#include <queue>

#include "core/data/partition.hpp"
#include "core/data/random.hpp"
#include "core/grow/dense_rows.hpp"
#include "core/histogram/histogram.hpp"
#include "core/util/stable_order.hpp"

namespace treerank {

namespace {
constexpr std::size_t kRowsPerCheck = 2048;
constexpr std::size_t kCountsPerCode = 4;    // rows per code that outweigh a subtraction
constexpr std::size_t kDeferredRows = 8192;  // fewer rows are not worth a team
}  // namespace

template <class Code, class Count>
LeafRank<Code, Count>::LeafRank(const Features& features, const LeafRankOptions& options,
                                ProgressMonitor& monitor, ThreadPool* pool)
    : LeafRankTree(features, options),
      monitor_(monitor),
      pool_(pool),
      kernels_(kernels<Code, Count>()),
      // Scanning a histogram takes as many steps as there are codes. With fewer rows than a quarter
      // of that, walking over the occupied codes is cheaper.
      sparse_rows_(features.histogram_size() / features.size() / 4),
      split_search_(features, options, pool_),
      histograms_(features.histogram_size()) {}

template <class Code, class Count>
void LeafRank<Code, Count>::release(Count* histogram) {
    if (histogram != nullptr && histogram != given_histogram_) histograms_.give_back(histogram);
}

template <class Code, class Count>
void LeafRank<Code, Count>::count(const View<Code>& view, const Row* rows, std::size_t n,
                                  const std::vector<std::int32_t>& features, Count* histogram) {
    count_features(view.codes_for(n), view.weights, rows, n, features_, features, histogram,
                   pool_for(n));
}

template <class Code, class Count>
Split LeafRank<Code, Count>::find_split(Open& open) {
    const std::size_t n = open.size();
    if (!open.complete && shares_histogram(n) && !is_sparse(n)) {
        open.histogram = histograms_.take();
        open.complete = true;
        count(*view_, rows_ + open.first, n, cell_features_, open.histogram);
    }
    const bool is_counted = open.complete || is_sparse(n);
    return best_split(cell_features_, open.key, draws_, [&](const auto& features) {
        if (!is_counted) {
            if (open.histogram == nullptr) open.histogram = histograms_.take();
            count(*view_, rows_ + open.first, n, features, open.histogram);
        }
        return split_search_.best_of(
            {rows_ + open.first, n, open.histogram, open.key, search_of(open)}, features.data(),
            features.size());
    });
}

// Whether the histogram of a node should cover all features of the cell, so that one child's
// histogram follows from the other's. If features are drawn, counting all features of the smaller
// child must cost less than counting the drawn ones of both, and the subtraction must not cost more
// than that saves.
template <class Code, class Count>
bool LeafRank<Code, Count>::shares_histogram(std::size_t n) const {
    if (uses_all_features()) return true;
    const auto drawn = static_cast<std::size_t>(options_.max_features);
    return 2 * drawn >= cell_features_.size() &&
           n * features_.size() >= kCountsPerCode * features_.histogram_size();
}

// The larger child gets the parent's histogram minus that of the smaller child.
template <class Code, class Count>
void LeafRank<Code, Count>::propagate_histograms(const Open& parent, Open& left, Open& right) {
    Count* histogram = parent.histogram;
    if (histogram == nullptr) return;
    const auto can_use = [&](const Open& child) {
        return may_split(child) && !is_sparse(child.size());
    };
    const auto [small, large] =
        smaller_first(left, right, [](const Open& at) { return at.size(); });
    if (!parent.complete || !can_use(large) || !shares_histogram(large.size()))
        return release(histogram);
    const std::size_t n_small = small.size();
    large.histogram = histogram;
    large.complete = true;
    if (!can_use(small) && n_small * cell_features_.size() <= features_.histogram_size() / 2) {
        const auto& codes = view_->codes_for(n_small);
        for (std::size_t f = 0; f < cell_features_.size(); ++f) {
            const Code* column = codes.column(cell_features_[f]);
            Count* counters = histogram + features_.offset[cell_features_[f]];
            kernels_.uncount(rows_ + small.first, n_small, view_->weights, &column, codes.step,
                             &counters, 1);
        }
        return;
    }
    Count* counted = small.histogram = histograms_.take();
    count(*view_, rows_ + small.first, n_small, cell_features_, counted);
    for (const std::int32_t feature : cell_features_) {
        const std::size_t at = features_.offset[feature];
        kernels_.subtract(histogram + at, histogram + at, counted + at, features_.n_codes[feature]);
    }
    small.complete = can_use(small);
    if (!small.complete) {
        release(counted);
        small.histogram = nullptr;
    }
}

template <class Code, class Count>
std::pair<typename LeafRank<Code, Count>::Open, typename LeafRank<Code, Count>::Open>
LeafRank<Code, Count>::apply(const Open& open, Split split) {
    if (features_.missing_by_cell_mean()) split_search_.follow_imputed_code(split);
    const std::size_t n = open.size();
    const std::size_t middle =
        open.first + partition_by_condition<Code, Count>(split.condition, split.set,
                                                         view_->codes_for(n), rows_ + open.first, n,
                                                         scratch_rows_ + open.first, pool_for(n));
    const auto [left_node, right_node] = LeafRankTree::split(open, split);
    Open left{left_node, open.first, middle};
    Open right{right_node, middle, open.last};
    propagate_histograms(open, left, right);
    return {left, right};
}

template <class Code, class Count>
void LeafRank<Code, Count>::close(const Open& open) {
    release(open.histogram);
    leaves.push_back({open.node, open.first, open.last});
    store_value(open);
}

template <class Code, class Count>
Split LeafRank<Code, Count>::search_or_close(Open& open) {
    Split split;
    if (may_split(open)) split = find_split(open);
    if (split.gain <= 0) close(open);
    return split;
}

template <class Code, class Count>
void LeafRank<Code, Count>::grow_dense(const Open& root) {
    const View<Code>* const outer = view_;
    {
        const DenseRows<Code> dense(*outer, rows_ + root.first, root.size());
        view_ = &dense.view();
        is_dense_ = true;
        split_search_.use_view(*view_);
        grow_depth_first(root);
    }
    view_ = outer;
    is_dense_ = false;
    split_search_.use_view(*view_);
}

template <class Code, class Count>
void LeafRank<Code, Count>::grow_depth_first(Open root) {
    std::vector<Open> stack{root};
    // Imputing missing values with the cell's mean needs the rows of the cell as they were.
    const bool may_move = !features_.missing_by_cell_mean();
    while (!stack.empty()) {
        Open open = stack.back();
        stack.pop_back();
        if (rows_to_defer_ == 0) rows_to_defer_ = rows_to_defer(n_rows_ - open.first);
        if (open.size() <= rows_to_defer_ && may_split(open)) {
            deferred_.push_back(open);
            continue;
        }
        if (may_move && DenseRows<Code>::pays(*view_, open.size())) {
            grow_dense(open);
            continue;
        }
        rows_since_check_ += open.size();
        if (rows_since_check_ >= kRowsPerCheck) {  // reading the clock costs more than a small node
            monitor_.check();
            rows_since_check_ = 0;
        }
        const Split split = search_or_close(open);
        if (split.gain <= 0) continue;
        const auto [left, right] = apply(open, split);
        stack.push_back(right);
        stack.push_back(left);
    }
}

// Large nodes are searched by the whole team. Nodes whose rows are copied by DenseRows stay with
// one thread: they are small enough to be deferred.
template <class Code, class Count>
std::size_t LeafRank<Code, Count>::rows_to_defer(std::size_t n_left) const {
    // Imputing missing values with the cell's mean needs the rows of the whole cell.
    const bool may_defer = !is_dense_ && !features_.missing_by_cell_mean();
    if (!may_defer || n_left < 2 * kDeferredRows || pool_for(n_left) == nullptr) return 0;
    return std::max({kDeferredRows, n_left / pool_->size(), view_->codes.rows / kScattered});
}

template <class Code, class Count>
void LeafRank<Code, Count>::grow_deferred() {
    // Start with the largest nodes, so that no thread is left with a large one at the end.
    const auto order = stable_order(deferred_.size(), [&](std::size_t a, std::size_t b) {
        return deferred_[a].size() > deferred_[b].size();
    });
    std::vector<std::unique_ptr<LeafRank>> grown(deferred_.size());
    pool_->run(grown.size(), [&](std::size_t i) {
        const Open& open = deferred_[order[i]];
        grown[i] = std::make_unique<LeafRank>(features_, options_, monitor_, nullptr);
        OpenNode root = open;
        root.node = 0;
        grown[i]->grow({*view_, rows_ + open.first, open.size(), scratch_rows_ + open.first,
                        cell_features_, root, nodes[open.node].weight, cell_},
                       open.complete ? open.histogram : nullptr);
    });
    for (std::size_t i = 0; i < grown.size(); ++i) {
        const Open& open = deferred_[order[i]];
        const auto by = static_cast<std::int32_t>(nodes.size()) - 1;
        for (const LeafRows& leaf : grown[i]->leaves)
            leaves.push_back({leaf.node == 0 ? open.node : leaf.node + by, open.first + leaf.first,
                              open.first + leaf.last});
        graft(open.node, *grown[i]);
        release(open.histogram);
    }
    deferred_.clear();
    const std::vector<std::int32_t> number = number_depth_first();
    for (LeafRows& leaf : leaves) leaf.node = number[leaf.node];
}

template <class Code, class Count>
void LeafRank<Code, Count>::grow_best_first(Open root) {
    struct Candidate {
        Priority priority;
        Open open;
        Split split;
        bool operator<(const Candidate& other) const { return priority < other.priority; }
    };
    std::priority_queue<Candidate> queue;
    const auto enqueue = [&](Open open) {
        monitor_.check();
        const Split split = search_or_close(open);
        if (split.gain > 0) queue.push({priority(open, split), open, split});
    };
    enqueue(root);
    while (!queue.empty()) {
        const Candidate best = queue.top();
        queue.pop();
        if (is_full()) {
            close(best.open);
            continue;
        }
        const auto [left, right] = apply(best.open, best.split);
        enqueue(left);
        enqueue(right);
    }
}

template <class Code, class Count>
void LeafRank<Code, Count>::grow(const LeafRankSample<Code>& sample, Count* histogram) {
    const std::size_t n = sample.n;
    view_ = &sample.view;
    rows_ = sample.rows;
    n_rows_ = n;
    rows_to_defer_ = 0;
    scratch_rows_ = sample.scratch;
    cell_features_ = sample.features;
    given_histogram_ = histogram;
    reset(sample.cell);
    nodes[0].weight = sample.weight;
    leaves.clear();
    rows_since_check_ = kRowsPerCheck;
    split_search_.enter(*view_, rows_, n);
    const bool known = histogram != nullptr && uses_all_features() && !is_sparse(n);
    const Open open{sample.root, 0, n, known ? histogram : nullptr, known};
    if (grows_best_first()) return grow_best_first(open);
    grow_depth_first(open);
    if (!deferred_.empty()) grow_deferred();
}

template <class Code, class Count>
bool LeafRank<Code, Count>::is_better(std::int32_t node) const {
    const ClassWeight weight = nodes[node].weight;
    if (!values.empty()) return values[node] >= 0.5;
    return weight.positive * cell_.negative >= weight.negative * cell_.positive;
}

// The rows of a node are one range, the union of the ranges of the leaves below it.
template <class Code, class Count>
void LeafRank<Code, Count>::collapse(const std::vector<std::uint8_t>& keep_split) {
    std::vector<LeafRows> range(nodes.size());
    for (const LeafRows& leaf : leaves) range[leaf.node] = leaf;
    for (std::size_t i = nodes.size(); i-- > 0;)
        if (nodes[i].left >= 0)
            range[i] = {0, range[nodes[i].left].first, range[nodes[i].right].last};
    std::vector<std::int32_t> kept{0}, number(nodes.size(), -1);  // siblings are adjacent
    leaves.clear();
    for (std::size_t i = 0; i < kept.size(); ++i) {
        const std::int32_t old = kept[i];
        number[old] = static_cast<std::int32_t>(i);
        if (nodes[old].left >= 0 && keep_split[old]) {
            kept.push_back(nodes[old].left);
            kept.push_back(nodes[old].right);
        } else {
            leaves.push_back({number[old], range[old].first, range[old].last});
        }
    }
    renumber(kept, number);
}

template class LeafRank<std::uint8_t, PackedCount>;
template class LeafRank<std::uint8_t, WideCount>;
template class LeafRank<std::uint16_t, PackedCount>;
template class LeafRank<std::uint16_t, WideCount>;

}  // namespace treerank
