#include "core/grow/summed_boosting.hpp"

#include <algorithm>

#include "core/split/newton_split.hpp"

namespace treerank {

SummedBoosting::SummedBoosting(Features features, std::vector<std::int32_t> chosen,
                               const BoostingOptions& options, std::int64_t weight,
                               std::size_t histogram_bytes)
    : chosen_(std::move(chosen)),
      options_(options),
      growth_(std::move(features)),
      size_(n_sums(growth_.features().n_codes, chosen_)),
      max_open_(std::max<std::size_t>(1, histogram_bytes / (size_ * sizeof(GradientSum)))),
      slots_{{0, 0}} {
    if (needs_row_variance(growth_.features(), chosen_))
        square_shift_ = GradientSquares::shift_for(weight);
}

BoostingRequest SummedBoosting::request() {
    BoostingRequest request;
    request.square_shift = square_shift_;
    request.wanted = {0};
    if (!has_started_) return request;
    request.moves = true;
    SlotOf slot_of;
    for (const NodeOfCell at : std::exchange(slots_, {}))
        request.steps.push_back(step_from(at, slot_of, request.sets));
    request.n_slots = static_cast<std::int32_t>(slots_.size());
    request.wanted.clear();
    for (const NodeOfCell at : growth_.counted())
        request.wanted.push_back(slot_of.at({at.cell, at.node}));
    return request;
}

std::int32_t SummedBoosting::new_slot(NodeOfCell at, SlotOf& slot_of) {
    while (true) {
        const std::vector<InnerNode>& nodes = growth_.cells()[at.cell].nodes;
        if (nodes.empty()) return SlotStep::kGone;
        if (nodes[at.node].half < 0) break;
        at = {nodes[at.node].half, 0};
    }
    const auto next = static_cast<std::int32_t>(slots_.size());
    const auto [found, is_new] = slot_of.try_emplace({at.cell, at.node}, next);
    if (is_new) slots_.push_back(at);
    return found->second;
}

// No node is split twice between two requests, because the second cut would need counts of its own.
SlotStep SummedBoosting::step_from(NodeOfCell at, SlotOf& slot_of, std::vector<CategorySet>& sets) {
    SlotStep step;
    const std::vector<InnerNode>& nodes = growth_.cells()[at.cell].nodes;
    if (nodes.empty()) return step;
    const InnerNode& node = nodes[at.node];
    if (node.left < 0) {
        step.left = new_slot(at, slot_of);
        return step;
    }
    step.left = new_slot({at.cell, node.left}, slot_of);
    step.right = new_slot({at.cell, node.left + 1}, slot_of);
    if (step.left != step.right) step.set_test(node.cut.condition(), node.cut.set, sets);
    return step;
}

void SummedBoosting::answer(const GradientSum* sums, const GradientSquares* squares) {
    histograms_.resize(has_started_ ? static_cast<std::size_t>(growth_.n_histograms()) : 1);
    const auto keep = [&](Counts& counts) {
        counts.sums.assign(sums, sums + size_);
        sums += size_;
        if (square_shift_ >= 0) counts.squares = *squares++;
    };
    if (!has_started_) {
        keep(histograms_[0]);
        start();
    } else {
        for (const BoostedCount& count : growth_.counts()) {
            keep(histograms_[count.counted]);
            keep_rest(count);
        }
    }
    do {
        std::vector<NewtonCut> cuts;
        std::vector<std::int64_t> n_left;  // rows are elsewhere; weights take the place of numbers
        for (const BoostedOpenNode& node : growth_.nodes()) {
            cuts.push_back(find_cut(node));
            n_left.push_back(cuts.back().left.weight);
        }
        growth_.take(cuts, n_left);
    } while (!growth_.nodes().empty() && growth_.counts().empty());
}

void SummedBoosting::keep_rest(const BoostedCount& count) {
    const Counts &whole = histograms_[count.whole], &counted = histograms_[count.counted];
    Counts& rest = histograms_[count.rest];
    rest.sums.resize(size_);
    subtract(rest.sums.data(), whole.sums.data(), counted.sums.data(), size_);
    rest.squares = whole.squares - counted.squares;
}

void SummedBoosting::start() {
    const GradientSum all =
        total_of(histograms_[0].sums.data(), growth_.features().n_codes[chosen_[0]]);
    growth_.start(options_, all.weight, all, max_open_);
    has_started_ = true;
}

NewtonCut SummedBoosting::find_cut(const BoostedOpenNode& node) const {
    const Counts& counts = histograms_[node.histogram];
    const double variance = square_shift_ < 0 ? 0 : growth_.row_variance(node, counts.squares);
    const NewtonSearch search = growth_.search(node, variance);
    const Features& features = growth_.features();
    std::vector<NewtonCut> cuts;
    const GradientSum* first = counts.sums.data();
    for (const std::int32_t feature : chosen_) {
        cuts.push_back(search.best(first, features, feature));
        first += features.n_codes[feature];
    }
    return best_of(cuts.data(), chosen_);
}

}  // namespace treerank
