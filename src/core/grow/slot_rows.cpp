#include "core/grow/slot_rows.hpp"

#include <algorithm>
#include <numeric>

#include "core/data/partition.hpp"

namespace treerank {

template <class Code>
RowState step_rows(const CodeMatrix<Code>& codes, const RowState& placed,
                   const std::vector<SlotStep>& steps, const std::vector<CategorySet>& sets,
                   std::size_t n_slots) {
    struct Moved {  // rows of one slot that go to the same slot
        std::size_t first, n;
        std::int32_t to;
    };
    std::vector<Row> rows = placed.rows, scratch(rows.size());
    std::vector<Moved> moved;
    for (std::size_t s = 0; s < steps.size(); ++s) {
        const auto first = static_cast<std::size_t>(placed.starts[s]);
        const std::size_t n = placed.size(s);
        const SplitCondition& test = steps[s].condition;
        std::size_t n_left = n;
        if (test.feature >= 0)
            n_left = partition_by_condition<Code, PackedCount>(
                test, test.categorical ? sets[test.cut] : CategorySet{}, codes, rows.data() + first,
                n, scratch.data(), nullptr);
        moved.push_back({first, n_left, steps[s].left});
        moved.push_back({first + n_left, n - n_left, steps[s].right});
    }
    std::erase_if(moved, [](const Moved& some) { return some.to == SlotStep::kGone; });
    RowState next;
    next.starts.assign(n_slots + 1, 0);
    for (const Moved& some : moved) next.starts[some.to + 1] += static_cast<std::int64_t>(some.n);
    std::partial_sum(next.starts.begin(), next.starts.end(), next.starts.begin());
    next.rows.resize(static_cast<std::size_t>(next.starts.back()));
    std::vector<std::int64_t> end(next.starts.begin(), next.starts.end() - 1);
    for (const Moved& some : moved) {
        std::copy_n(rows.data() + some.first, some.n, next.rows.data() + end[some.to]);
        end[some.to] += static_cast<std::int64_t>(some.n);
    }
    return next;
}

template RowState step_rows(const CodeMatrix<std::uint8_t>&, const RowState&,
                            const std::vector<SlotStep>&, const std::vector<CategorySet>&,
                            std::size_t);
template RowState step_rows(const CodeMatrix<std::uint16_t>&, const RowState&,
                            const std::vector<SlotStep>&, const std::vector<CategorySet>&,
                            std::size_t);

}  // namespace treerank
