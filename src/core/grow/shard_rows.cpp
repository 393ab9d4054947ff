#include "core/grow/shard_rows.hpp"

#include <numeric>

#include "core/grow/leafrank.hpp"
#include "core/histogram/histogram.hpp"

namespace treerank {

namespace {

// The trials of each cell, as ranges of a list in which the trials of one cell are contiguous.
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

}  // namespace

RowState place_rows(const WeightedRows& rows, std::span<const std::int32_t> cell_of_row,
                    const std::vector<TrialRoot>& roots) {
    const TrialsOfCell trials(roots.size(), [&](std::size_t i) { return roots[i].cell; });
    const auto visit = [&](const auto& put) {
        for (std::size_t i = 0; i < cell_of_row.size(); ++i) {
            const std::int32_t cell = cell_of_row[i], own = rows.labels[i];
            if (!trials.has(cell) || rows.weight(i) == 0) continue;
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
        const std::int64_t repeat = rows.units != nullptr ? 1 : rows.weight(i);
        placed.rows[next[t]++] =
            pack_row(static_cast<std::uint32_t>(i), rows.labels[i] == roots[t].better_class,
                     static_cast<std::uint32_t>(repeat));
    });
    return placed;
}

template <class Count, class Code>
std::vector<Count> count_slots(const CodeMatrix<Code>& codes, const std::int64_t* weights,
                               const RowState& placed, const std::vector<std::int32_t>& slots,
                               const Features& features) {
    const std::vector<std::int32_t> all = features.all();
    std::vector<Count> counts(slots.size() * features.histogram_size());
    for (std::size_t i = 0; i < slots.size(); ++i)
        count_features(codes, weights, placed.begin(slots[i]), placed.size(slots[i]), features, all,
                       counts.data() + i * features.histogram_size(), nullptr);
    return counts;
}

template <class Code>
std::vector<std::int64_t> trial_weights(const CodeMatrix<Code>& codes, const WeightedRows& rows,
                                        std::span<const std::int32_t> cell_of_row,
                                        const GrownTrials& grown) {
    const TrialsOfCell trials(grown.cells.size(), [&](std::size_t i) { return grown.cells[i]; });
    std::vector<std::int64_t> weight(grown.nodes.size() * rows.n_classes);
    for (std::size_t i = 0; i < cell_of_row.size(); ++i) {
        const std::int32_t cell = cell_of_row[i];
        if (!trials.has(cell) || rows.weight(i) == 0) continue;
        for (std::int32_t t = trials.first[cell]; t < trials.last[cell]; ++t) {
            const std::int32_t at =
                leaf_of(grown.starts[t], grown.nodes, grown.category_sets, codes, i);
            weight[at * rows.n_classes + rows.labels[i]] += rows.weight(i);
        }
    }
    return weight;
}

template <class Code>
LeafRankNodes grow_node(const Table<Code>& table, std::vector<Row> rows, const GatheredNode& node,
                        const std::vector<std::int32_t>& cell_features,
                        const LeafRankOptions& options, ProgressMonitor& monitor) {
    const View<Code> view = view_of(table);
    std::vector<Row> scratch(rows.size());
    OpenNode root = node;
    root.node = 0;
    const auto grow = [&]<class Count>(Count) -> LeafRankNodes {
        LeafRank<Code, Count> tree(table.features, options, monitor, nullptr);
        tree.grow({view, rows.data(), rows.size(), scratch.data(), cell_features, root, node.weight,
                   node.cell},
                  nullptr);
        return tree;
    };
    return table.weights == nullptr ? grow(PackedCount{}) : grow(WideCount{});
}

#define TREERANK_INSTANTIATE(Code)                                                                 \
    template std::vector<PackedCount> count_slots(                                                 \
        const CodeMatrix<Code>&, const std::int64_t*, const RowState&,                             \
        const std::vector<std::int32_t>&, const Features&);                                        \
    template std::vector<WideCount> count_slots(const CodeMatrix<Code>&, const std::int64_t*,      \
                                                const RowState&, const std::vector<std::int32_t>&, \
                                                const Features&);                                  \
    template std::vector<std::int64_t> trial_weights(const CodeMatrix<Code>&, const WeightedRows&, \
                                                     std::span<const std::int32_t>,                \
                                                     const GrownTrials&);                          \
    template LeafRankNodes grow_node(const Table<Code>&, std::vector<Row>, const GatheredNode&,    \
                                     const std::vector<std::int32_t>&, const LeafRankOptions&,     \
                                     ProgressMonitor&);
TREERANK_INSTANTIATE(std::uint8_t)
TREERANK_INSTANTIATE(std::uint16_t)
#undef TREERANK_INSTANTIATE

}  // namespace treerank
