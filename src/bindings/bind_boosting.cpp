#include <nanobind/stl/optional.h>

#include <optional>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/options.hpp"
#include "core/grow/boosting.hpp"

namespace treerank {

namespace {

BoostingOptions boosting_options(const nb::dict& d) {
    BoostingOptions options;
    options.max_depth = nb::cast<std::int32_t>(d["max_depth"]);
    options.leafrank_depth = nb::cast<std::int32_t>(d["leafrank_depth"]);
    options.min_weight_leaf = nb::cast<std::int64_t>(d["min_weight_leaf"]);
    options.independent_weight = nb::cast<double>(d["independent_weight"]);
    options.l2 = nb::cast<double>(d["l2"]);
    options.gradient_unit = nb::cast<double>(d["gradient_unit"]);
    options.hessian_unit = nb::cast<double>(d["hessian_unit"]);
    options.learning_rate = nb::cast<double>(d["learning_rate"]);
    options.by_stratum = nb::cast<bool>(d["by_stratum"]);
    return options;
}

template <class T>
std::vector<T> checked_numbers(const Vector<T>& numbers, std::size_t below, const char* what) {
    for (std::size_t i = 0; i < numbers.size(); ++i)
        if (static_cast<std::size_t>(numbers.data()[i]) >= below) throw nb::value_error(what);
    return {numbers.data(), numbers.data() + numbers.size()};
}

template <class Code>
nb::tuple py_grow_boosted_tree(const Matrix<Code>& codes, const Vector<std::uint32_t>& rows,
                               const Matrix<std::int32_t>& gradients,
                               const std::optional<Vector<std::int64_t>>& weights,
                               const Vector<std::int32_t>& n_codes,
                               const Vector<std::uint8_t>& categorical,
                               const Vector<std::int8_t>& monotonic,
                               const Vector<std::int32_t>& chosen, const nb::dict& options,
                               std::size_t n_jobs) {
    const std::size_t n = codes.shape(1), n_features = codes.shape(0);
    if (gradients.shape(0) != n || gradients.shape(1) != 2 || (weights && weights->size() != n) ||
        n > kMaxRows || n_codes.size() != n_features || categorical.size() != n_features ||
        monotonic.size() != n_features)
        throw nb::value_error("grow_boosted_tree: arrays of different lengths, or too many rows");
    BoostingTable<Code> table;
    table.codes = code_matrix(codes);
    table.features.n_codes.assign(n_codes.data(), n_codes.data() + n_features);
    table.features.categorical.assign(categorical.data(), categorical.data() + n_features);
    table.features.monotonic.assign(monotonic.data(), monotonic.data() + n_features);
    table.gradients = reinterpret_cast<const RowGradient*>(gradients.data());
    table.weights = weights ? weights->data() : nullptr;
    const auto of_rows = checked_numbers(rows, n, "grow_boosted_tree: no such row");
    const auto of_features =
        checked_numbers(chosen, n_features, "grow_boosted_tree: no such feature");
    const BoostingOptions parsed = boosting_options(options);
    BoostedTree tree;
    run_released(n_jobs, [&](ThreadPool& pool) {
        tree = grow_boosted_tree(table, of_rows, of_features, parsed, pool);
    });
    return nb::make_tuple(
        to_records(std::move(tree.flat.slots)), to_numpy(std::move(tree.value)),
        to_numpy(std::move(tree.flat.target)), to_records(std::move(tree.flat.category_sets)),
        to_numpy(std::move(tree.importance)), to_numpy(std::move(tree.left_share)));
}

template <class Code>
void bind_for_codes(nb::module_& m) {
    m.def("grow_boosted_tree", &py_grow_boosted_tree<Code>, nb::arg("codes").noconvert(),
          nb::arg("rows").noconvert(), nb::arg("gradients").noconvert(),
          nb::arg("weights").noconvert().none(), nb::arg("n_codes").noconvert(),
          nb::arg("categorical").noconvert(), nb::arg("monotonic").noconvert(),
          nb::arg("chosen").noconvert(), nb::arg("options"), nb::arg("n_jobs"),
          "A ranking tree grown on fixed-point gradients (rows x gradient, curvature): (slots, "
          "value of each slot, cell or category set of each slot, category sets, importance, "
          "share that each slot sends left).");
}

}  // namespace

void bind_boosting(nb::module_& m) {
    bind_for_codes<std::uint8_t>(m);
    bind_for_codes<std::uint16_t>(m);
}

}  // namespace treerank
