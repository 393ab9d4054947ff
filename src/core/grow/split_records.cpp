#include "core/grow/split_records.hpp"

#include <stdexcept>
#include <utility>

namespace treerank {

namespace {

// The split of a record, its numbers checked before they index anything.
Split split_of(const SplitRecord& record, const SplitRecords& splits, const Features& features) {
    Split split;
    split.gain = 1;
    split.condition.feature =
        record.feature & ~(SplitRecord::kCategorical | SplitRecord::kMissingLeft);
    split.condition.cut = record.cut;
    split.condition.categorical = (record.feature & SplitRecord::kCategorical) != 0;
    split.condition.missing_left = (record.feature & SplitRecord::kMissingLeft) != 0;
    split.left = record.left_weight;
    if (static_cast<std::size_t>(split.condition.feature) >= features.size())
        throw std::invalid_argument("splits: no such feature");
    if (split.condition.categorical) {
        if (record.cut < 0 || static_cast<std::size_t>(record.cut) >= splits.n_sets)
            throw std::invalid_argument("splits: no such category set");
        split.set = splits.sets[record.cut];
    }
    return split;
}

}  // namespace

void replay_splits(const OpenNode& root, std::int32_t first, const SplitRecords& splits,
                   const Features& features, LeafRankTree& tree) {
    std::size_t n_replayed = 0;
    if (splits.n > 1) tree.nodes.reserve(2 * splits.n / splits.n_roots + 1);
    std::vector<std::pair<OpenNode, std::int32_t>> stack{{root, first}};
    while (!stack.empty()) {
        const auto [open, at] = stack.back();
        stack.pop_back();
        if (at >= 0 && (static_cast<std::size_t>(at) >= splits.n || ++n_replayed > splits.n))
            throw std::invalid_argument("splits: records that do not fit together");
        if (at < 0 || splits.records[at].feature < 0) {
            tree.note_value(open);
            continue;
        }
        const SplitRecord& record = splits.records[at];
        if (static_cast<std::size_t>(record.right) < splits.n)  // it is looked at much later
            __builtin_prefetch(splits.records + record.right);
        const auto [left, right] = tree.split(open, split_of(record, splits, features), false);
        stack.push_back({right, record.right});
        stack.push_back({left, record.left});
    }
}

}  // namespace treerank
