#include "core/grow/shard_rows.hpp"

#include <numeric>

#include "core/grow/leafrank.hpp"
#include "core/histogram/histogram.hpp"

namespace treerank {

namespace {

// Trials of each cell: a range of the list, which has those of one cell side by side.
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

std::uint32_t repeat_of(const ShardSample& sample, std::size_t i) {
    if (sample.weights != nullptr) return sample.weights[i] > 0;
    return sample.repeats != nullptr ? sample.repeats[i] : 1;
}

std::int64_t units_of(const ShardSample& sample, std::size_t i) {
    return sample.weights != nullptr ? sample.weights[i]
                                     : static_cast<std::int64_t>(repeat_of(sample, i));
}

template <class Code, class Count>
GrownNode grow_counting(const Table<Code>& table, std::vector<Row> rows, const GatheredNode& node,
                        const std::vector<std::int32_t>& features, const LeafRankOptions& options,
                        ProgressMonitor& monitor) {
    View<Code> view;
    view.codes = table.codes;
    view.weights = table.weights;
    std::vector<Row> scratch(rows.size());
    LeafRank<Code, Count> leafrank(table.features, options, monitor, nullptr);
    const OpenNode open{0, node.depth, node.key, node.lower, node.upper};
    leafrank.grow(view, rows.data(), rows.size(), scratch.data(), node.cell, features, open,
                  node.weight, nullptr);
    return {std::move(leafrank.nodes), std::move(leafrank.category_sets),
            std::move(leafrank.values)};
}

}  // namespace

RowState place_rows(const ShardSample& sample, const std::int32_t* cell_of_row,
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
    RowState placed;
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

template <class Code, class Count>
void count_slots(const CodeMatrix<Code>& codes, const std::int64_t* weights, const RowState& placed,
                 const std::vector<std::int32_t>& slots, const Features& features, Count* out) {
    std::vector<std::int32_t> all(features.size());
    std::iota(all.begin(), all.end(), 0);
    for (std::size_t i = 0; i < slots.size(); ++i)
        count_features(codes, weights, placed.begin(slots[i]), placed.size(slots[i]), features, all,
                       out + i * features.histogram_size(), nullptr);
}

template <class Code>
std::vector<std::int64_t> trial_weights(const CodeMatrix<Code>& codes, const ShardSample& sample,
                                        const std::int32_t* cell_of_row, const GrownTrials& grown,
                                        std::size_t n_classes) {
    const TrialsOfCell trials(grown.cells.size(), [&](std::size_t i) { return grown.cells[i]; });
    std::vector<std::int64_t> weight(grown.nodes.size() * n_classes);
    for (std::size_t i = 0; i < sample.n; ++i) {
        const std::int32_t cell = cell_of_row[i];
        if (!trials.has(cell) || repeat_of(sample, i) == 0) continue;
        for (std::int32_t t = trials.first[cell]; t < trials.last[cell]; ++t) {
            std::int32_t at = grown.starts[t];
            while (grown.nodes[at].left >= 0) {
                const LeafRankNode& node = grown.nodes[at];
                const std::uint32_t code = codes.column(node.condition.feature)[i];
                at = goes_left(node.condition, code, grown.category_sets) ? node.left : node.right;
            }
            weight[at * n_classes + sample.labels[i]] += units_of(sample, i);
        }
    }
    return weight;
}

template <class Code>
GrownNode grow_node(const Table<Code>& table, std::vector<Row> rows, const GatheredNode& node,
                    const std::vector<std::int32_t>& cell_features, const LeafRankOptions& options,
                    ProgressMonitor& monitor) {
    return table.weights == nullptr
               ? grow_counting<Code, PackedCount>(table, std::move(rows), node, cell_features,
                                                  options, monitor)
               : grow_counting<Code, WideCount>(table, std::move(rows), node, cell_features,
                                                options, monitor);
}

#define TREERANK_INSTANTIATE(Code)                                                                \
    template void count_slots(const CodeMatrix<Code>&, const std::int64_t*, const RowState&,      \
                              const std::vector<std::int32_t>&, const Features&, PackedCount*);   \
    template void count_slots(const CodeMatrix<Code>&, const std::int64_t*, const RowState&,      \
                              const std::vector<std::int32_t>&, const Features&, WideCount*);     \
    template std::vector<std::int64_t> trial_weights(const CodeMatrix<Code>&, const ShardSample&, \
                                                     const std::int32_t*, const GrownTrials&,     \
                                                     std::size_t);                                \
    template GrownNode grow_node(const Table<Code>&, std::vector<Row>, const GatheredNode&,       \
                                 const std::vector<std::int32_t>&, const LeafRankOptions&,        \
                                 ProgressMonitor&);
TREERANK_INSTANTIATE(std::uint8_t)
TREERANK_INSTANTIATE(std::uint16_t)
#undef TREERANK_INSTANTIATE

}  // namespace treerank
