#include "core/grow/split_records.hpp"

#include <algorithm>

#include "core/util/check.hpp"
#include "core/util/large_pages.hpp"

namespace treerank {

namespace {

constexpr std::size_t kAhead = 16;  // prefetch distance in records

// Returns the number of tests in the subtree of each record, including its own.
std::vector<std::int32_t> tests_below(const SplitRecords& splits) {
    std::vector<std::int32_t> below;
    reserve_large(below, splits.n);
    below.resize(splits.n);
    const auto n = static_cast<std::int64_t>(splits.n);
    for (std::int64_t i = n - 1; i >= 0; --i) {  // children come after their parents
        const SplitRecord& record = splits.records[i];
        if (!record.is_test()) continue;
        std::int64_t tests = 1;
        for (const std::int64_t child : {record.left, record.right}) {
            check(child < n && (child < 0 || child > i),
                  "splits: records that do not fit together");
            if (child >= 0) tests += below[child];
        }
        check(tests <= n - i, "splits: records that do not fit together");
        below[i] = static_cast<std::int32_t>(tests);
    }
    return below;
}

// Returns the test of a record, with its indices checked.
SplitCondition condition_of(const SplitRecord& record, const SplitRecords& splits,
                            const Features& features) {
    SplitCondition condition;
    condition.feature = record.feature & ~(SplitRecord::kCategorical | SplitRecord::kMissingLeft);
    condition.cut = record.cut;
    condition.categorical = (record.feature & SplitRecord::kCategorical) != 0;
    condition.missing_left = (record.feature & SplitRecord::kMissingLeft) != 0;
    check(static_cast<std::size_t>(condition.feature) < features.size(), "splits: no such feature");
    check(!condition.categorical ||
              (record.cut >= 0 && static_cast<std::size_t>(record.cut) < splits.n_sets),
          "splits: no such category set");
    return condition;
}

// Visits the tests of a tree: `split` adds the children of a node, `end` receives the nodes that
// stay leaves.
template <class Open, class OnSplit, class OnEnd>
void visit(const Open& root, std::span<const DepthFirst::Test> tests, const SplitRecords& splits,
           const OnSplit& split, const OnEnd& end) {
    if (tests.empty()) return end(root);
    std::vector<Open> stack{root};
    for (std::size_t i = 0; i < tests.size(); ++i) {
        if (i + kAhead < tests.size())
            __builtin_prefetch(splits.records + std::max(tests[i + kAhead].record, 0));
        // A record with two parents is at only one of its two places.
        check(tests[i].record >= 0, "splits: records that do not fit together");
        const Open open = stack.back();
        stack.pop_back();
        const auto [left, right] = split(open, splits.records[tests[i].record]);
        tests[i].right ? stack.push_back(right) : end(right);
        tests[i].left ? stack.push_back(left) : end(left);
    }
}

}  // namespace

DepthFirst::DepthFirst(const SplitRecords& splits, std::size_t n_roots) {
    check(n_roots <= splits.n, "splits: fewer records than trees");
    const std::vector<std::int32_t> below = tests_below(splits);
    std::vector<std::int32_t> place;  // position of each record's test; -1: unreachable
    reserve_large(place, splits.n);
    place.assign(splits.n, -1);
    starts_.reserve(n_roots + 1);
    std::int64_t n_tests = 0;
    for (std::size_t root = 0; root < n_roots; ++root) {
        starts_.push_back(static_cast<std::int32_t>(n_tests));
        place[root] = starts_.back();
        n_tests += below[root];
        check(n_tests <= static_cast<std::int64_t>(splits.n),
              "splits: records that do not fit together");
    }
    starts_.push_back(static_cast<std::int32_t>(n_tests));
    reserve_large(tests_, static_cast<std::size_t>(n_tests));
    tests_.resize(static_cast<std::size_t>(n_tests));
    for (std::size_t i = 0; i < splits.n; ++i) {
        const SplitRecord& record = splits.records[i];
        if (place[i] < 0 || !record.is_test()) continue;
        const std::int32_t on_left = record.left < 0 ? 0 : below[record.left];
        const std::int32_t on_right = record.right < 0 ? 0 : below[record.right];
        if (on_left > 0) place[record.left] = place[i] + 1;
        if (on_right > 0) place[record.right] = place[i] + 1 + on_left;
        tests_[place[i]] = {static_cast<std::int32_t>(i), on_left > 0, on_right > 0};
    }
}

void replay_splits(const OpenNode& root, std::span<const DepthFirst::Test> tests,
                   const SplitRecords& splits, const Features& features, LeafRankTree& tree) {
    reserve_large(tree.nodes, 2 * tests.size() + 1);
    if (!features.any_monotonic()) {  // without bounds, a node is just its index
        const auto split = [&](std::int32_t node, const SplitRecord& record) {
            const SplitCondition condition = condition_of(record, splits, features);
            const std::int32_t left = tree.add_children(node, condition, record.left_weight);
            if (condition.categorical) tree.add_category_set(node, splits.sets[record.cut]);
            return std::pair{left, left + 1};
        };
        return visit(root.node, tests, splits, split, [](std::int32_t) {});
    }
    const auto split = [&](const OpenNode& open, const SplitRecord& record) {
        Split found;
        found.gain = 1;
        found.condition = condition_of(record, splits, features);
        found.left = record.left_weight;
        if (found.condition.categorical) found.set = splits.sets[record.cut];
        return tree.split(open, found);
    };
    visit(root, tests, splits, split, [&](const OpenNode& open) { tree.store_value(open); });
}

}  // namespace treerank
