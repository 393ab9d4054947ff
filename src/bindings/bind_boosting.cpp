#include <nanobind/stl/optional.h>

#include <memory>
#include <optional>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/boosted_trees.hpp"
#include "bindings/options.hpp"
#include "core/grow/boosting.hpp"

namespace treerank {

namespace {

using GivenDerivatives = std::optional<Vector<double>>;
using Scores = nb::ndarray<double, nb::numpy, nb::ndim<1>, nb::c_contig>;

// The rounds of a fit, with the arrays that they refer to.
class PyRounds {
  public:
    template <class Code>
    PyRounds(const Matrix<Code>& codes, const Units& weights, const Vector<std::int32_t>& n_codes,
             const Vector<std::uint8_t>& categorical, const Vector<std::int8_t>& monotonic,
             std::size_t n_jobs)
        : n_rows_(codes.shape(1)), n_features_(codes.shape(0)) {
        if ((weights && weights->size() != n_rows_) || n_rows_ > kMaxRows ||
            n_codes.size() != n_features_)
            throw nb::value_error("BoostingRounds: arrays of different lengths, or too many rows");
        struct Held {
            Matrix<Code> codes;
            Units weights;
            BoostingTable<Code> table;
        };
        auto held = std::make_shared<Held>(Held{codes, weights, {}});
        held->table.codes = code_matrix(codes);
        held->table.features = make_features(n_codes, categorical, monotonic);
        held->table.weights = data_of(weights);
        held_ = held;
        {
            nb::gil_scoped_release release;
            pool_.emplace(n_jobs, &monitor_);
        }
        run([&] { rounds_ = make_rounds(held->table, *pool_); });
    }

    void set_logistic_gradients(const Vector<double>& scores, const Vector<std::uint8_t>& labels,
                                int bits) {
        if (scores.size() != n_rows_ || labels.size() != n_rows_ || !is_width(bits))
            throw nb::value_error(
                "set_logistic_gradients: arrays of different lengths, or too many bits");
        run([&] { rounds_->set_logistic_gradients(scores.data(), labels.data(), bits, *pool_); });
    }

    nb::object grow(const GivenDerivatives& first, const GivenDerivatives& second, int bits,
                    double scale, const std::optional<Vector<std::uint32_t>>& rows,
                    const Vector<std::int32_t>& chosen, const nb::dict& options,
                    const std::optional<Scores>& scores) {
        if (first.has_value() != second.has_value() || (first && first->size() != n_rows_) ||
            (second && second->size() != n_rows_) || chosen.size() == 0 ||
            (scores && scores->size() != n_rows_) || !is_width(bits))
            throw nb::value_error("grow: arrays of different lengths, or too many bits");
        std::vector<std::uint32_t> of_rows;
        if (rows) of_rows = checked_numbers(*rows, n_rows_, "grow: no such row");
        const auto of_features = checked_numbers(chosen, n_features_, "grow: no such feature");
        BoostingOptions parsed = boosting_options(options);
        std::optional<BoostedTree> tree;
        run([&] {
            if (first) rounds_->set_gradients(first->data(), second->data(), bits, *pool_);
            if (!rounds_->has_gradients()) return;
            parsed.gradient_unit = rounds_->units().gradient / scale;
            parsed.hessian_unit = rounds_->units().hessian / scale;
            tree = rounds_->grow(rows ? &of_rows : nullptr, of_features, parsed, *pool_);
            if (scores) rounds_->add_to(scores->data(), *pool_);
        });
        if (!tree) return nb::none();
        return to_tuple(std::move(*tree));
    }

  private:
    static bool is_width(int bits) { return bits >= 1 && bits <= kGradientBits; }

    // Runs `work` without the GIL; a signal interrupts it.
    template <class Work>
    static void run(const Work& work) {
        try {
            nb::gil_scoped_release release;
            work();
        } catch (const Interrupted&) {
            if (PyErr_Occurred()) throw nb::python_error();
            throw;
        }
    }

    std::size_t n_rows_, n_features_;
    // Shared by all rounds: starting threads takes as long as a small round.
    ProgressMonitor monitor_{reporter(nb::none())};
    std::optional<ThreadPool> pool_;
    std::shared_ptr<void> held_;
    std::unique_ptr<BoostingRounds> rounds_;
};

template <class Code>
void bind_rounds_for(nb::class_<PyRounds>& rounds) {
    rounds.def(nb::init<const Matrix<Code>&, const Units&, const Vector<std::int32_t>&,
                        const Vector<std::uint8_t>&, const Vector<std::int8_t>&, std::size_t>(),
               nb::arg("codes").noconvert(), nb::arg("weights").noconvert().none(),
               nb::arg("n_codes").noconvert(), nb::arg("categorical").noconvert(),
               nb::arg("monotonic").noconvert(), nb::arg("n_jobs"));
}

}  // namespace

void bind_boosting(nb::module_& m) {
    nb::class_<PyRounds> rounds(m, "BoostingRounds", "Trees grown one after another on gradients.");
    bind_rounds_for<std::uint8_t>(rounds);
    bind_rounds_for<std::uint16_t>(rounds);
    rounds.def("set_logistic_gradients", &PyRounds::set_logistic_gradients,
               nb::arg("scores").noconvert(), nb::arg("labels").noconvert(), nb::arg("bits"),
               "Sets the gradients of the logistic loss, rounded to `bits` bits. Scores are "
               "log-odds; labels are 0 or 1.");
    rounds.def(
        "grow", &PyRounds::grow, nb::arg("first").noconvert().none(),
        nb::arg("second").noconvert().none(), nb::arg("bits"), nb::arg("scale"),
        nb::arg("rows").noconvert().none(), nb::arg("chosen").noconvert(), nb::arg("options"),
        nb::arg("scores").noconvert().none(),
        "Grows a ranking tree on `rows` (None: all), using first and second derivatives rounded to "
        "`bits` bits (None: the gradients set last); `scale` units of weight make one row. If "
        "scores are given, adds the values of the tree to those of its rows. Returns None if all "
        "gradients are 0, otherwise (slots, value of each slot, cell or category set of each slot, "
        "category sets, importance, share that each slot sends left).");
}

}  // namespace treerank
