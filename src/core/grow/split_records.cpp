#include "core/grow/split_records.hpp"

#include <stdexcept>
#include <utility>

namespace treerank {

namespace {

// The test of a record, its numbers checked before they index anything.
SplitCondition condition_of(const SplitRecord& record, const SplitRecords& splits,
                            const Features& features) {
    SplitCondition condition;
    condition.feature = record.feature & ~(SplitRecord::kCategorical | SplitRecord::kMissingLeft);
    condition.cut = record.cut;
    condition.categorical = (record.feature & SplitRecord::kCategorical) != 0;
    condition.missing_left = (record.feature & SplitRecord::kMissingLeft) != 0;
    if (static_cast<std::size_t>(condition.feature) >= features.size())
        throw std::invalid_argument("splits: no such feature");
    if (condition.categorical &&
        (record.cut < 0 || static_cast<std::size_t>(record.cut) >= splits.n_sets))
        throw std::invalid_argument("splits: no such category set");
    return condition;
}

// Visits the records below one, the left ones first: `split` adds the children of a node, `end`
// gets nodes that stay leaves.
template <class Open, class OnSplit, class OnEnd>
void visit(const Open& root, std::int32_t first, const SplitRecords& splits, const OnSplit& split,
           const OnEnd& end) {
    std::size_t n_visited = 0;
    std::vector<std::pair<Open, std::int32_t>> stack{{root, first}};
    while (!stack.empty()) {
        const auto [open, at] = stack.back();
        stack.pop_back();
        if (at >= 0 && (static_cast<std::size_t>(at) >= splits.n || ++n_visited > splits.n))
            throw std::invalid_argument("splits: records that do not fit together");
        if (at < 0 || splits.records[at].feature < 0) {
            end(open);
            continue;
        }
        const SplitRecord& record = splits.records[at];
        if (static_cast<std::size_t>(record.right) < splits.n)  // it is looked at much later
            __builtin_prefetch(splits.records + record.right);
        const auto [left, right] = split(open, record);
        stack.push_back({right, record.right});
        stack.push_back({left, record.left});
    }
}

}  // namespace

void replay_splits(const OpenNode& root, std::int32_t first, const SplitRecords& splits,
                   const Features& features, LeafRankTree& tree) {
    if (splits.n > 1) tree.nodes.reserve(2 * splits.n / splits.n_roots + 1);
    if (!features.any_monotonic()) {  // a node is no more than its number
        const auto split = [&](std::int32_t node, const SplitRecord& record) {
            const SplitCondition condition = condition_of(record, splits, features);
            const std::int32_t left = tree.add_children(node, condition, record.left_weight);
            if (condition.categorical) tree.keep_set(node, splits.sets[record.cut]);
            return std::pair{left, left + 1};
        };
        return visit(root.node, first, splits, split, [](std::int32_t) {});
    }
    const auto split = [&](const OpenNode& open, const SplitRecord& record) {
        Split found;
        found.gain = 1;
        found.condition = condition_of(record, splits, features);
        found.left = record.left_weight;
        if (found.condition.categorical) found.set = splits.sets[record.cut];
        return tree.split(open, found, false);
    };
    visit(root, first, splits, split, [&](const OpenNode& open) { tree.note_value(open); });
}

}  // namespace treerank
