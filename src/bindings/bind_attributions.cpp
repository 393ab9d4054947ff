#include <nanobind/stl/optional.h>

#include <optional>

#include "bindings/arrays.hpp"
#include "bindings/forest_view.hpp"
#include "bindings/options.hpp"
#include "core/tree/attributions.hpp"

namespace treerank {

namespace {

// The arrays of a forest, under the names of their arguments.
struct Arrays {
    const Vector<std::int64_t>& starts;
    const Records& slots;
    const Vector<double>& step;
    const Vector<std::int32_t>& set_of;
    const Records& sets;
    const Vector<std::uint8_t>& at_end;
};

AttributedForest attributed_forest(const Arrays& arrays, std::size_t n_features) {
    AttributedForest forest;
    forest.walks = forest_view(arrays.starts, arrays.slots, nullptr, nullptr, arrays.set_of,
                               arrays.sets, &arrays.at_end, n_features);
    if (arrays.step.size() != arrays.slots.shape(0))
        throw nb::value_error("attributions: arrays that do not fit together");
    forest.step = arrays.step.data();
    return forest;
}

nb::tuple to_tuple(Attributions&& found) {
    return nb::make_tuple(to_numpy(std::move(found.values)), found.expected, found.exact);
}

template <class Code>
nb::tuple py_attribute_paths(const Vector<std::int64_t>& starts, const Records& slots,
                             const Vector<double>& step, const Vector<std::int32_t>& set_of,
                             const Records& sets, const Vector<std::uint8_t>& at_end,
                             const Vector<double>& left_share, const Matrix<Code>& codes,
                             bool interactions, std::size_t max_paths, std::size_t n_orders,
                             std::size_t n_jobs) {
    AttributedForest forest =
        attributed_forest({starts, slots, step, set_of, sets, at_end}, codes.shape(0));
    if (left_share.size() != slots.shape(0))
        throw nb::value_error("attributions: arrays that do not fit together");
    for (std::size_t s = 0; s < left_share.size(); ++s)
        if (!(left_share.data()[s] >= 0 && left_share.data()[s] <= 1))
            throw nb::value_error("attributions: shares from 0 to 1 expected");
    forest.left_share = left_share.data();
    Attributions found;
    run_released(n_jobs, [&](ThreadPool& pool) {
        found =
            attribute_paths(forest, code_matrix(codes), {max_paths, n_orders, interactions}, pool);
    });
    return to_tuple(std::move(found));
}

template <class Code>
nb::tuple py_attribute_baseline(const Vector<std::int64_t>& starts, const Records& slots,
                                const Vector<double>& step, const Vector<std::int32_t>& set_of,
                                const Records& sets, const Vector<std::uint8_t>& at_end,
                                const Matrix<Code>& codes, const Matrix<Code>& baseline,
                                bool interactions, std::size_t n_jobs) {
    if (baseline.shape(0) != codes.shape(0) || baseline.shape(1) == 0)
        throw nb::value_error("attributions: the baseline has other features, or no rows");
    const AttributedForest forest =
        attributed_forest({starts, slots, step, set_of, sets, at_end}, codes.shape(0));
    AttributionOptions options;
    options.interactions = interactions;
    Attributions found;
    run_released(n_jobs, [&](ThreadPool& pool) {
        found =
            attribute_baseline(forest, code_matrix(codes), code_matrix(baseline), options, pool);
    });
    return to_tuple(std::move(found));
}

template <class Code>
void bind_attributions_for(nb::module_& m) {
    m.def("attribute_paths", &py_attribute_paths<Code>, nb::arg("starts").noconvert(),
          nb::arg("slots").noconvert(), nb::arg("step").noconvert(), nb::arg("set_of").noconvert(),
          nb::arg("category_sets").noconvert(), nb::arg("at_end").noconvert(),
          nb::arg("left_share").noconvert(), nb::arg("codes").noconvert(), nb::arg("interactions"),
          nb::arg("max_paths"), nb::arg("n_orders"), nb::arg("n_jobs"),
          "Returns path-dependent attributions, summed over the trees: (rows x features, or rows x "
          "features x features, flat; the expected value; whether all trees are exact).");
    m.def("attribute_baseline", &py_attribute_baseline<Code>, nb::arg("starts").noconvert(),
          nb::arg("slots").noconvert(), nb::arg("step").noconvert(), nb::arg("set_of").noconvert(),
          nb::arg("category_sets").noconvert(), nb::arg("at_end").noconvert(),
          nb::arg("codes").noconvert(), nb::arg("baseline").noconvert(), nb::arg("interactions"),
          nb::arg("n_jobs"),
          "Returns interventional attributions relative to the rows of a baseline, in the same "
          "form.");
}

}  // namespace

void bind_attributions(nb::module_& m) {
    bind_attributions_for<std::uint8_t>(m);
    bind_attributions_for<std::uint16_t>(m);
    m.def(
        "estimated_paths",
        [](const Vector<std::int64_t>& starts, const Records& slots,
           const Vector<std::int32_t>& set_of, const Records& sets,
           const Vector<std::uint8_t>& at_end, std::size_t max_paths) {
            const ForestView forest =
                forest_view(starts, slots, nullptr, nullptr, set_of, sets, &at_end, kMaxFeatures);
            return to_numpy(estimated_paths(forest, max_paths));
        },
        nb::arg("starts").noconvert(), nb::arg("slots").noconvert(), nb::arg("set_of").noconvert(),
        nb::arg("category_sets").noconvert(), nb::arg("at_end").noconvert(), nb::arg("max_paths"),
        "Returns the number of paths through each tree that is to be estimated.");
}

}  // namespace treerank
