#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/boosted_trees.hpp"
#include "bindings/options.hpp"
#include "core/grow/boosted_growth.hpp"
#include "core/grow/boosting.hpp"
#include "core/grow/logistic_loss.hpp"

namespace treerank {

namespace {

using Derivatives = nb::ndarray<double, nb::numpy, nb::ndim<1>, nb::c_contig>;

void make_boosted_growth(BoostedGrowth* self, const Vector<std::int32_t>& n_codes,
                         const Vector<std::uint8_t>& categorical,
                         const Vector<std::int8_t>& monotonic) {
    new (self) BoostedGrowth(make_features(n_codes, categorical, monotonic));
}

void start(BoostedGrowth& growth, const nb::dict& options, double gradient_unit,
           double hessian_unit, std::int64_t n_rows, const Vector<std::int64_t>& sum,
           std::size_t max_open) {
    if (sum.size() != 3 || n_rows < 0)
        throw nb::value_error("start: rows, gradient, curvature and weight expected");
    BoostingOptions parsed = boosting_options(options);
    parsed.scale.gradient_unit = gradient_unit;
    parsed.scale.hessian_unit = hessian_unit;
    growth.start(parsed, n_rows, {sum.data()[0], sum.data()[1], sum.data()[2]}, max_open);
}

void derive(const Vector<double>& scores, const Vector<std::uint8_t>& labels, Derivatives& first,
            Derivatives& second) {
    const std::size_t n = scores.size();
    if (labels.size() != n || first.size() != n || second.size() != n)
        throw nb::value_error("logistic_derivatives: arrays of different lengths");
    nb::gil_scoped_release release;
    logistic_derivatives(scores.data(), labels.data(), n, first.data(), second.data());
}

}  // namespace

void bind_boosted_growth(nb::module_& m) {
    m.def("logistic_derivatives", &derive, nb::arg("scores").noconvert(),
          nb::arg("labels").noconvert(), nb::arg("first").noconvert(),
          nb::arg("second").noconvert(),
          "Computes the first and second derivatives of the logistic loss with respect to the "
          "scores; labels are 0 or 1.");
    m.def("gradient_unit", &gradient_unit, nb::arg("largest"), nb::arg("bits"),
          "Returns the real value of the integer 1 if the largest value takes this many bits; 0 if "
          "it is 0.");
    nb::class_<BoostedGrowth>(m, "BoostedGrowth",
                              "A boosted tree whose rows are counted and partitioned elsewhere.")
        .def("__init__", &make_boosted_growth, nb::arg("n_codes").noconvert(),
             nb::arg("categorical").noconvert(), nb::arg("monotonic").noconvert())
        .def("start", &start, nb::arg("options"), nb::arg("gradient_unit"), nb::arg("hessian_unit"),
             nb::arg("n_rows"), nb::arg("sum").noconvert(), nb::arg("max_open"))
        .def_prop_ro("n_histograms", &BoostedGrowth::n_histograms)
        .def_prop_ro("square_shift", &BoostedGrowth::square_shift)
        .def("moves", [](const BoostedGrowth& growth) { return to_records(growth.moves()); })
        .def("counts", [](const BoostedGrowth& growth) { return to_records(growth.counts()); })
        .def("nodes", [](const BoostedGrowth& growth) { return to_records(growth.nodes()); })
        .def(
            "take",
            [](BoostedGrowth& growth, const Records& cuts) {
                growth.take(from_records<BoostedFoundCut>(cuts, "cuts"));
            },
            nb::arg("cuts").noconvert())
        .def("finish", [](BoostedGrowth& growth) { return to_tuple(growth.finish()); })
        .def("steps", [](const BoostedGrowth& growth) { return to_records(growth.steps()); });
}

}  // namespace treerank
