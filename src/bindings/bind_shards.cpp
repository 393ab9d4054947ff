#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "bindings/arrays.hpp"
#include "bindings/options.hpp"
#include "bindings/placed_rows.hpp"
#include "bindings/trees.hpp"
#include "core/grow/level_growth.hpp"
#include "core/grow/shard_rows.hpp"

namespace treerank {

namespace {

WeightedRows rows_of_shard(const Vector<std::uint8_t>& labels, const Repeats& repeats,
                           const Units& weights, const Vector<std::int32_t>& cell_of_row,
                           std::size_t n_classes = kMaxClasses) {
    const std::size_t n = labels.size();
    if ((repeats && repeats->size() != n) || (weights && weights->size() != n) ||
        cell_of_row.size() != n || n > kMaxRows)
        throw nb::value_error("shard: arrays of different lengths, or too many rows");
    for (std::size_t i = 0; repeats && i < n; ++i)
        if (repeats->data()[i] > kMaxRepeat) throw nb::value_error("shard: too many repeats");
    return {labels.data(), n_classes, data_of(repeats), data_of(weights)};
}

std::vector<Row> rows_below(const Vector<std::uint32_t>& rows, std::size_t n) {
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (row_id(rows.data()[i]) >= n) throw nb::value_error("rows: no such row");
    return to_vector(rows);
}

nb::tuple py_place_rows(const Vector<std::uint8_t>& labels, const Repeats& repeats,
                        const Units& weights, const Vector<std::int32_t>& cell_of_row,
                        const Records& roots) {
    const WeightedRows rows = rows_of_shard(labels, repeats, weights, cell_of_row);
    const auto parsed = from_records<TrialRoot>(roots, "roots");
    for (const TrialRoot& root : parsed)
        if (root.cell < 0 || root.cell >= static_cast<std::int64_t>(kMaxRows))
            throw nb::value_error("roots: no such cell");
    RowState placed;
    {
        nb::gil_scoped_release release;
        placed = place_rows(rows, {cell_of_row.data(), cell_of_row.size()}, parsed);
    }
    return from_placed(std::move(placed));
}

template <class Code>
nb::tuple py_step_rows(const Matrix<Code>& codes, const Vector<std::uint32_t>& rows,
                       const Vector<std::int64_t>& starts, const Records& steps,
                       const Records& sets, std::int32_t n_slots) {
    const RowState placed = placed_of(rows, starts, codes.shape(1));
    const auto parsed = from_records<SlotStep>(steps, "steps");
    const auto category_sets = from_records<CategorySet>(sets, "category sets");
    bool sound = parsed.size() == placed.n_slots() && n_slots >= 0;
    for (const SlotStep& step : parsed) {
        const SplitCondition& test = step.condition;
        sound = sound && test.feature < static_cast<std::int64_t>(codes.shape(0)) &&
                (test.feature < 0 || !test.categorical ||
                 (test.cut >= 0 && test.cut < std::ssize(category_sets)));
        for (const std::int32_t slot : {step.left, step.right})
            sound = sound && slot >= SlotStep::kGone && slot < n_slots;
    }
    if (!sound) throw nb::value_error("steps: no such slot, feature or category set");
    RowState next;
    {
        nb::gil_scoped_release release;
        next = step_rows(code_matrix(codes), placed, parsed, category_sets,
                         static_cast<std::size_t>(n_slots));
    }
    return from_placed(std::move(next));
}

// Packed counters are widened (`wide`) if the sum over all shards would not fit.
template <class Code>
nb::object py_count_slots(const Matrix<Code>& codes, const Units& weights,
                          const Vector<std::uint32_t>& rows, const Vector<std::int64_t>& starts,
                          const Vector<std::int32_t>& slots, const Vector<std::int32_t>& n_codes,
                          bool wide) {
    const RowState placed = placed_of(rows, starts, codes.shape(1));
    const auto wanted = checked_numbers(slots, placed.n_slots(), "slots: no such slot");
    if (n_codes.size() != codes.shape(0) || (weights && weights->size() != codes.shape(1)))
        throw nb::value_error("count_slots: arrays that do not fit together");
    Features features;
    features.n_codes = to_vector(n_codes);
    features.offset = offsets_of(features.n_codes);
    std::vector<PackedCount> packed;
    std::vector<WideCount> counted;
    {
        nb::gil_scoped_release release;
        const CodeMatrix<Code> matrix = code_matrix(codes);
        if (weights)
            counted = count_slots<WideCount>(matrix, weights->data(), placed, wanted, features);
        else
            packed = count_slots<PackedCount>(matrix, nullptr, placed, wanted, features);
        if (wide)
            std::transform(packed.begin(), packed.end(), std::back_inserter(counted), widened);
    }
    if (!weights && !wide) return nb::cast(to_numpy(std::move(packed)));
    return nb::cast(to_words(std::move(counted)));
}

template <class Code>
auto py_trial_weights(const Matrix<Code>& codes, const Vector<std::uint8_t>& labels,
                      const Repeats& repeats, const Units& weights,
                      const Vector<std::int32_t>& cell_of_row, const Vector<std::int32_t>& cells,
                      const Vector<std::int32_t>& starts, const Records& nodes, const Records& sets,
                      std::size_t n_classes) {
    const WeightedRows rows = rows_of_shard(labels, repeats, weights, cell_of_row, n_classes);
    check_classes(labels, n_classes);
    GrownTrials trials{to_vector(cells), to_vector(starts),
                       from_records<LeafRankNode>(nodes, "nodes"),
                       from_records<CategorySet>(sets, "category sets")};
    bool sound = codes.shape(1) == labels.size() && trials.starts.size() == trials.cells.size() + 1;
    const auto n_nodes = std::ssize(trials.nodes);
    for (const std::int32_t start : trials.starts) sound = sound && start >= 0 && start <= n_nodes;
    for (std::size_t t = 0; sound && t < trials.cells.size(); ++t)
        sound = trials.cells[t] >= 0 && trials.cells[t] < static_cast<std::int64_t>(kMaxRows) &&
                trials.starts[t] < trials.starts[t + 1];
    sound = sound &&
            fit_together(trials.nodes, 0, n_nodes, codes.shape(0), trials.category_sets.size());
    if (!sound) throw nb::value_error("trial_weights: arrays that do not fit together");
    std::vector<std::int64_t> sums;
    {
        nb::gil_scoped_release release;
        sums = trial_weights(code_matrix(codes), rows, {cell_of_row.data(), cell_of_row.size()},
                             trials);
    }
    return to_numpy(std::move(sums));
}

template <class Code>
nb::tuple py_grow_node(const Matrix<Code>& codes, const Vector<std::uint32_t>& rows,
                       const Units& weights, const Vector<std::int32_t>& n_codes,
                       const Vector<std::uint8_t>& categorical,
                       const Vector<std::int8_t>& monotonic, const nb::dict& options,
                       const CodeValues& code_values, const Records& node,
                       const Vector<std::int32_t>& features) {
    const Table<Code> table =
        table_of(codes, weights, make_features(n_codes, categorical, monotonic, code_values));
    const auto at = from_record<GatheredNode>(node, "node");
    const auto chosen = checked_numbers(features, codes.shape(0), "grow_node: no such feature");
    std::vector<Row> here = rows_below(rows, codes.shape(1));
    const TreeRankOptions parsed = treerank_options(options);
    LeafRankNodes grown;
    {
        nb::gil_scoped_release release;
        ProgressMonitor monitor;
        grown = grow_node(table, std::move(here), at, chosen, parsed.leafrank, monitor);
    }
    return nb::make_tuple(to_records(std::move(grown.nodes)),
                          to_records(std::move(grown.category_sets)),
                          to_numpy(std::move(grown.values)));
}

template <class Code>
nb::tuple py_grow_cell(const Matrix<Code>& codes, const Vector<std::uint32_t>& rows,
                       const Units& weights, const Vector<std::int32_t>& n_codes,
                       const Vector<std::uint8_t>& categorical,
                       const Vector<std::int8_t>& monotonic, const nb::dict& options,
                       const CodeValues& code_values, const Records& cell,
                       std::pair<double, double> total) {
    const Table<Code> table =
        table_of(codes, weights, make_features(n_codes, categorical, monotonic, code_values));
    const auto at = from_record<GatheredCell>(cell, "cell");
    std::vector<Row> here = rows_below(rows, codes.shape(1));
    const TreeRankOptions parsed = treerank_options(options);
    RankTree tree;
    {
        nb::gil_scoped_release release;
        ProgressMonitor monitor;
        const ClassWeight whole{total.first, total.second};
        tree =
            grow_tree(table, std::move(here), {at.key, at.depth, whole}, parsed, nullptr, monitor);
    }
    return to_tuple(std::move(tree));
}

template <class Code>
void bind_shards_for(nb::module_& m) {
    m.def("step_rows", &py_step_rows<Code>, nb::arg("codes").noconvert(),
          nb::arg("rows").noconvert(), nb::arg("starts").noconvert(), nb::arg("steps").noconvert(),
          nb::arg("sets").noconvert(), nb::arg("n_slots"),
          "Moves the rows of each slot as its step says, to `n_slots` slots: (rows, starts).");
    m.def("count_slots", &py_count_slots<Code>, nb::arg("codes").noconvert(),
          nb::arg("weights").noconvert().none(), nb::arg("rows").noconvert(),
          nb::arg("starts").noconvert(), nb::arg("slots").noconvert(),
          nb::arg("n_codes").noconvert(), nb::arg("wide"),
          "Counts the histograms of slots: one packed word per code, or two words if `wide` or "
          "weighted.");
    m.def("trial_weights", &py_trial_weights<Code>, nb::arg("codes").noconvert(),
          nb::arg("labels").noconvert(), nb::arg("repeats").noconvert().none(),
          nb::arg("weights").noconvert().none(), nb::arg("cell_of_row").noconvert(),
          nb::arg("cells").noconvert(), nb::arg("starts").noconvert(), nb::arg("nodes").noconvert(),
          nb::arg("sets").noconvert(), nb::arg("n_classes"),
          "Returns the weights of all classes in the leaves of every trial (nodes x classes).");
    m.def("grow_node", &py_grow_node<Code>, nb::arg("codes").noconvert(),
          nb::arg("rows").noconvert(), nb::arg("weights").noconvert().none(),
          nb::arg("n_codes").noconvert(), nb::arg("categorical").noconvert(),
          nb::arg("monotonic").noconvert(), nb::arg("options"),
          nb::arg("code_values").noconvert().none(), nb::arg("node").noconvert(),
          nb::arg("features").noconvert(),
          "Grows the LeafRank tree below a node whose rows are all here: (nodes, category sets, "
          "values).");
    m.def("grow_cell", &py_grow_cell<Code>, nb::arg("codes").noconvert(),
          nb::arg("rows").noconvert(), nb::arg("weights").noconvert().none(),
          nb::arg("n_codes").noconvert(), nb::arg("categorical").noconvert(),
          nb::arg("monotonic").noconvert(), nb::arg("options"),
          nb::arg("code_values").noconvert().none(), nb::arg("cell").noconvert(), nb::arg("total"),
          "Grows the ranking tree below a cell of two classes whose rows are all here.");
}

}  // namespace

void bind_shards(nb::module_& m) {
    m.def("place_rows", &py_place_rows, nb::arg("labels").noconvert(),
          nb::arg("repeats").noconvert().none(), nb::arg("weights").noconvert().none(),
          nb::arg("cell_of_row").noconvert(), nb::arg("roots").noconvert(),
          "Puts the rows of a shard into the slots of the trials: (rows, starts).");
    bind_shards_for<std::uint8_t>(m);
    bind_shards_for<std::uint16_t>(m);
}

}  // namespace treerank
