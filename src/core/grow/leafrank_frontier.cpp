#include "core/grow/leafrank_frontier.hpp"

#include <algorithm>
#include <utility>

#include "core/util/check.hpp"

namespace treerank {

LeafRankFrontier::LeafRankFrontier(const Features& features, const LeafRankOptions& options,
                                   double gathered_weight, std::size_t histogram_bytes)
    : features_(features),
      options_(options),
      gathered_weight_(gathered_weight),
      histogram_bytes_(histogram_bytes),
      split_search_(features, options, nullptr) {}

void LeafRankFrontier::clear() {
    trials_.clear();
    roots_.clear();
    gathered_roots_.clear();
    gathered_.clear();
    waiting_.clear();
}

void LeafRankFrontier::add_tree(const TrialRoot& at, ClassWeight cell, std::uint64_t key,
                                std::vector<std::int32_t> features) {
    const std::size_t trial = trials_.size();
    LeafRankTree& tree =
        trials_.emplace_back(Trial{std::move(features), {features_, options_}}).tree;
    tree.reset(cell);
    const OpenNode root{0, 0, key};
    if (!tree.may_split(root)) return;
    if (is_gathered(trial, root)) {
        gathered_roots_.push_back(at);
        gather(trial, root);
    } else {
        roots_.push_back(at);
        waiting_.push_back({trial, root});
    }
}

// Best-first growth compares all nodes of a tree, and the mean of a cell needs all of its rows:
// then only whole trees are gathered.
bool LeafRankFrontier::is_gathered(std::size_t trial, const OpenNode& open) const {
    const LeafRankTree& tree = trials_[trial].tree;
    return is_small(tree.nodes[open.node].weight.total()) &&
           (open.node == 0 || (!tree.grows_best_first() && !features_.missing_by_cell_mean()));
}

void LeafRankFrontier::gather(std::size_t trial, const OpenNode& open) {
    const LeafRankTree& tree = trials_[trial].tree;
    gathered_.push_back({open, static_cast<std::int32_t>(trial), 0, tree.nodes[open.node].weight,
                         tree.nodes[0].weight});
}

const std::vector<std::int32_t>& LeafRankFrontier::features_of(std::size_t trial) const {
    check(trial < trials_.size(), "trial_features: no such trial");
    return trials_[trial].features;
}

// If the larger child can be obtained by subtraction, only the smaller one is requested.
void LeafRankFrontier::request_histograms() {
    wanted_.clear();
    n_given_ = 0;
    const std::size_t bytes = features_.histogram_size() * sizeof(WideCount);
    keeps_histograms_ = waiting_.size() * bytes <= histogram_bytes_;
    for (std::size_t slot = 0; slot < waiting_.size(); ++slot) {
        Waiting& waiting = waiting_[slot];
        if (waiting.searched) continue;
        if (!keeps_histograms_) {
            waiting.histogram = {};
            waiting.larger = -1;
        }
        if (waiting.histogram.empty()) wanted_.push_back(static_cast<std::int32_t>(slot));
    }
}

void LeafRankFrontier::give(const WideCount* histograms, std::size_t n) {
    check(n_given_ + n <= wanted_.size(), "give: more histograms than requested");
    const std::size_t size = features_.histogram_size();
    for (; n > 0; --n, histograms += size) {
        Waiting& waiting = waiting_[wanted_[n_given_++]];
        search(waiting, histograms);
        if (waiting.larger >= 0) {
            Waiting& larger = waiting_[waiting.larger];
            for (std::size_t i = 0; i < size; ++i) larger.histogram[i] -= histograms[i];
            search(larger, larger.histogram.data());
        }
        if (keeps_histograms_) waiting.histogram.assign(histograms, histograms + size);
    }
}

void LeafRankFrontier::search(Waiting& waiting, const WideCount* histogram) {
    Trial& trial = trials_[waiting.trial];
    if (features_.missing_by_cell_mean() && waiting.open.node == 0)
        trial.cell_histogram.assign(histogram, histogram + features_.histogram_size());
    split_search_.enter(no_rows_, nullptr, 0, trial.cell_histogram.data());
    const SearchedNode<WideCount> node{nullptr, 0, histogram, waiting.open.key,
                                       trial.tree.search_of(waiting.open)};
    waiting.split = trial.tree.best_split(
        trial.features, waiting.open.key, draws_, [&](const std::vector<std::int32_t>& features) {
            return split_search_.best_of(node, features.data(), features.size());
        });
    if (waiting.split.gain > 0 && features_.missing_by_cell_mean())
        split_search_.follow_imputed_code(waiting.split);
    waiting.searched = true;
}

// Returns a flag per slot. Depth first: every node with a gain is split. Best first: the best node
// of each tree, as long as the tree may have more leaves; its other nodes wait.
std::vector<std::uint8_t> LeafRankFrontier::nodes_to_split() const {
    std::vector<std::uint8_t> chosen(waiting_.size());
    std::vector<std::int32_t> best(trials_.size(), -1);
    const auto priority = [&](std::size_t slot) {
        const Waiting& waiting = waiting_[slot];
        return trials_[waiting.trial].tree.priority(waiting.open, waiting.split);
    };
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
        const LeafRankTree& tree = trials_[waiting_[i].trial].tree;
        if (waiting_[i].split.gain <= 0 || tree.is_full()) continue;
        std::int32_t& at = best[waiting_[i].trial];
        if (tree.grows_best_first() && at >= 0) {
            if (!(priority(at) < priority(i))) continue;
            chosen[at] = 0;
        }
        chosen[i] = 1;
        at = static_cast<std::int32_t>(i);
    }
    return chosen;
}

void LeafRankFrontier::place_children(Waiting& parent,
                                      const std::pair<OpenNode, OpenNode>& children, SlotStep& step,
                                      std::vector<Waiting>& next,
                                      std::vector<std::int32_t*>& gathered) {
    LeafRankTree& tree = trials_[parent.trial].tree;
    const auto place = [&](const OpenNode& open, std::int32_t& slot) {
        if (!tree.may_split(open)) {
            tree.store_value(open);
        } else if (is_gathered(parent.trial, open)) {
            gather(parent.trial, open);
            gathered.push_back(&slot);
        } else {
            slot = static_cast<std::int32_t>(next.size());
            next.push_back({parent.trial, open});
        }
    };
    place(children.first, step.left);
    place(children.second, step.right);
    if (step.left < 0 || step.right < 0 || parent.histogram.empty()) return;
    const auto [small, large] = smaller_first(step.left, step.right, [&](std::int32_t slot) {
        return tree.nodes[next[slot].open.node].weight.total();
    });
    next[large].histogram = std::move(parent.histogram);
    next[small].larger = large;
}

void LeafRankFrontier::advance() {
    check(n_given_ == wanted_.size(), "advance: requested histograms are missing");
    const std::vector<std::uint8_t> chosen = nodes_to_split();
    std::vector<std::pair<OpenNode, OpenNode>> children(waiting_.size());
    for (std::size_t slot = 0; slot < waiting_.size(); ++slot)
        if (chosen[slot])
            children[slot] =
                trials_[waiting_[slot].trial].tree.split(waiting_[slot].open, waiting_[slot].split);
    std::vector<Waiting> next;
    std::vector<std::int32_t*> gathered;  // fields of steps_ to be filled in
    steps_.assign(waiting_.size(), SlotStep{});
    step_sets_.clear();
    for (std::size_t slot = 0; slot < waiting_.size(); ++slot) {
        Waiting& waiting = waiting_[slot];
        LeafRankTree& tree = trials_[waiting.trial].tree;
        if (chosen[slot]) {
            steps_[slot].set_test(waiting.split.condition, waiting.split.set, step_sets_);
            place_children(waiting, children[slot], steps_[slot], next, gathered);
        } else if (waiting.split.gain > 0 && !tree.is_full()) {
            steps_[slot].left = static_cast<std::int32_t>(next.size());
            next.push_back(std::move(waiting));
        } else {
            tree.store_value(waiting.open);
        }
    }
    n_step_slots_ = next.size();
    for (std::int32_t* slot : gathered) *slot = static_cast<std::int32_t>(n_step_slots_++);
    waiting_ = std::move(next);
    request_histograms();
}

void LeafRankFrontier::graft_node(const GatheredNode& at, const LeafRankNodes& grown) {
    check(at.trial >= 0 && at.trial < std::ssize(trials_), "graft_node: no such trial");
    LeafRankTree& tree = trials_[at.trial].tree;
    check(at.node >= 0 && at.node < std::ssize(tree.nodes) && !grown.nodes.empty(),
          "graft_node: no such node");
    check(fit_together(grown.nodes, 0, std::ssize(grown.nodes), features_.size(),
                       grown.category_sets.size()),
          "graft_node: nodes that do not fit together");
    check(grown.values.empty() ||
              (features_.any_monotonic() && grown.values.size() == grown.nodes.size()),
          "graft_node: a value for each node expected");
    tree.graft(at.node, grown);
}

void LeafRankFrontier::graft_splits(const SplitRecords& splits) {
    const DepthFirst order(splits, gathered_.size());
    for (std::size_t i = 0; i < gathered_.size(); ++i) {
        const GatheredNode& at = gathered_[i];
        check(at.node == 0, "graft_splits: whole trials expected");
        replay_splits(at, order.tests_of(i), splits, features_, trials_[at.trial].tree);
    }
    gathered_.clear();
}

}  // namespace treerank
