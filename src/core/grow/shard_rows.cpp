#include "core/grow/shard_rows.hpp"

#include <algorithm>
#include <numeric>

#include "core/data/partition.hpp"
#include "core/grow/leafrank.hpp"
#include "core/histogram/histogram.hpp"

namespace treerank {

namespace {

// Trials of each cell: a stretch of the list, which has those of one cell side by side.
struct TrialsOfCell {
    std::vector<std::int32_t> first, last;

    template <class CellOf>
    TrialsOfCell(std::size_t n_trials, const CellOf& cell_of) {
        for (std::size_t i = 0; i < n_trials; ++i) {
            const auto cell = static_cast<std::size_t>(cell_of(i));
            if (cell >= first.size()) {
                first.resize(cell + 1, 0);
                last.resize(cell + 1, 0);
            }
            if (last[cell] == 0) first[cell] = static_cast<std::int32_t>(i);
            last[cell] = static_cast<std::int32_t>(i) + 1;
        }
    }

    bool has(std::int32_t cell) const { return cell >= 0 && cell < std::ssize(first); }
};

std::uint32_t repeat_of(const PartSample& sample, std::size_t i) {
    if (sample.weights != nullptr) return sample.weights[i] > 0;
    return sample.repeats != nullptr ? sample.repeats[i] : 1;
}

std::int64_t units_of(const PartSample& sample, std::size_t i) {
    return sample.weights != nullptr ? sample.weights[i]
                                     : static_cast<std::int64_t>(repeat_of(sample, i));
}

template <class Code, class Count>
GrownNode grow_counting(const Table<Code>& table, std::vector<Row> rows, const AsideNode& node,
                        const std::vector<std::int32_t>& features, const LeafRankOptions& options,
                        Watch& watch) {
    View<Code> view;
    view.codes = table.codes;
    view.weights = table.weights;
    std::vector<Row> scratch(rows.size());
    LeafRank<Code, Count> leafrank(table.features, options, watch, nullptr);
    const OpenNode open{0, node.depth, node.key, node.lower, node.upper};
    leafrank.grow_node(view, rows.data(), rows.size(), scratch.data(), node.cell, features, open,
                       node.mass);
    return {std::move(leafrank.nodes), std::move(leafrank.category_sets),
            std::move(leafrank.values)};
}

}  // namespace

Placed place_rows(const PartSample& sample, const std::int32_t* cell_of_row,
                  const std::vector<TrialRoot>& roots) {
    const TrialsOfCell trials(roots.size(), [&](std::size_t i) { return roots[i].cell; });
    const auto visit = [&](const auto& put) {
        for (std::size_t i = 0; i < sample.n; ++i) {
            const std::int32_t cell = cell_of_row[i], own = sample.labels[i];
            if (!trials.has(cell) || repeat_of(sample, i) == 0) continue;
            for (std::int32_t t = trials.first[cell]; t < trials.last[cell]; ++t)
                if (own == roots[t].worse_class || own == roots[t].better_class) put(i, t);
        }
    };
    Placed placed;
    placed.starts.assign(roots.size() + 1, 0);
    visit([&](std::size_t, std::int32_t t) { ++placed.starts[t + 1]; });
    std::partial_sum(placed.starts.begin(), placed.starts.end(), placed.starts.begin());
    placed.rows.resize(static_cast<std::size_t>(placed.starts.back()));
    std::vector<std::int64_t> next(placed.starts.begin(), placed.starts.end() - 1);
    visit([&](std::size_t i, std::int32_t t) {
        placed.rows[next[t]++] =
            pack_row(static_cast<std::uint32_t>(i), sample.labels[i] == roots[t].better_class,
                     repeat_of(sample, i));
    });
    return placed;
}

template <class Code>
Placed step_rows(const CodeMatrix<Code>& codes, const Placed& placed,
                 const std::vector<Step>& steps, const std::vector<CategorySet>& sets,
                 Placed& aside) {
    Placed next;
    next.rows.reserve(placed.rows.size());
    std::vector<Row> rows, scratch;
    const auto put = [&](std::uint8_t fate, const Row* first, const Row* last) {
        if (fate != Step::kGone) (fate == Step::kKept ? next : aside).add_slot(first, last);
    };
    for (std::size_t s = 0; s < steps.size(); ++s) {
        const Step& step = steps[s];
        const Row* first = placed.rows.data() + placed.starts[s];
        const auto n = static_cast<std::size_t>(placed.starts[s + 1] - placed.starts[s]);
        if (step.test.feature == Step::kStay) put(Step::kKept, first, first + n);
        if (step.test.feature < 0) continue;
        rows.assign(first, first + n);
        scratch.resize(std::max(scratch.size(), n));
        const CategorySet set = step.test.categorical ? sets[step.test.cut] : CategorySet{};
        const std::size_t n_left = part_by_test<Code, PackedCount>(
            step.test, set, codes, rows.data(), n, scratch.data(), nullptr);
        put(step.left, rows.data(), rows.data() + n_left);
        put(step.right, rows.data() + n_left, rows.data() + n);
    }
    return next;
}

template <class Code, class Count>
void count_slots(const CodeMatrix<Code>& codes, const std::int64_t* weights, const Placed& placed,
                 const std::vector<std::int32_t>& slots, const Features& features, Count* out) {
    std::vector<std::int32_t> all(features.size());
    std::iota(all.begin(), all.end(), 0);
    for (std::size_t i = 0; i < slots.size(); ++i) {
        const std::int64_t first = placed.starts[slots[i]], last = placed.starts[slots[i] + 1];
        count_features(codes, weights, placed.rows.data() + first,
                       static_cast<std::size_t>(last - first), features, all,
                       out + i * features.histogram_size(), nullptr);
    }
}

template <class Code>
std::vector<std::int64_t> trial_masses(const CodeMatrix<Code>& codes, const PartSample& sample,
                                       const std::int32_t* cell_of_row,
                                       const LevelGrowth::GrownTrials& grown,
                                       std::size_t n_classes) {
    const TrialsOfCell trials(grown.cells.size(), [&](std::size_t i) { return grown.cells[i]; });
    std::vector<std::int64_t> mass(grown.nodes.size() * n_classes);
    for (std::size_t i = 0; i < sample.n; ++i) {
        const std::int32_t cell = cell_of_row[i];
        if (!trials.has(cell) || repeat_of(sample, i) == 0) continue;
        for (std::int32_t t = trials.first[cell]; t < trials.last[cell]; ++t) {
            std::int32_t at = grown.starts[t];
            while (grown.nodes[at].left >= 0) {
                const LeafRankNode& node = grown.nodes[at];
                const std::uint32_t code = codes.column(node.test.feature)[i];
                at = goes_left(node.test, code, grown.category_sets) ? node.left : node.right;
            }
            mass[at * n_classes + sample.labels[i]] += units_of(sample, i);
        }
    }
    return mass;
}

template <class Code>
GrownNode grow_node(const Table<Code>& table, std::vector<Row> rows, const AsideNode& node,
                    const std::vector<std::int32_t>& cell_features, const LeafRankOptions& options,
                    Watch& watch) {
    return table.weights == nullptr
               ? grow_counting<Code, PackedCount>(table, std::move(rows), node, cell_features,
                                                  options, watch)
               : grow_counting<Code, WideCount>(table, std::move(rows), node, cell_features,
                                                options, watch);
}

#define TREERANK_INSTANTIATE(Code)                                                                 \
    template Placed step_rows(const CodeMatrix<Code>&, const Placed&, const std::vector<Step>&,    \
                              const std::vector<CategorySet>&, Placed&);                           \
    template void count_slots(const CodeMatrix<Code>&, const std::int64_t*, const Placed&,         \
                              const std::vector<std::int32_t>&, const Features&, PackedCount*);    \
    template void count_slots(const CodeMatrix<Code>&, const std::int64_t*, const Placed&,         \
                              const std::vector<std::int32_t>&, const Features&, WideCount*);      \
    template std::vector<std::int64_t> trial_masses(const CodeMatrix<Code>&, const PartSample&,    \
                                                    const std::int32_t*,                           \
                                                    const LevelGrowth::GrownTrials&, std::size_t); \
    template GrownNode grow_node(const Table<Code>&, std::vector<Row>, const AsideNode&,           \
                                 const std::vector<std::int32_t>&, const LeafRankOptions&,         \
                                 Watch&);
TREERANK_INSTANTIATE(std::uint8_t)
TREERANK_INSTANTIATE(std::uint16_t)
#undef TREERANK_INSTANTIATE

}  // namespace treerank
