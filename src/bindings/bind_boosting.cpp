#include <nanobind/stl/optional.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/boosted_trees.hpp"
#include "bindings/options.hpp"
#include "core/grow/boosting.hpp"

namespace treerank {

namespace {

using Scores = nb::ndarray<double, nb::numpy, nb::ndim<1>, nb::c_contig>;

// The rounds of a fit, with the arrays that they refer to.
class PyRounds {
  public:
    template <class Code>
    PyRounds(const Matrix<Code>& codes, const Units& weights, const Vector<std::int32_t>& n_codes,
             const Vector<std::uint8_t>& categorical, const Vector<std::int8_t>& monotonic,
             std::size_t n_jobs)
        : n_rows_(codes.shape(1)), n_features_(codes.shape(0)) {
        struct Held {
            Matrix<Code> codes;
            Units weights;
            Table<Code> table;
        };
        auto held = std::make_shared<Held>(
            Held{codes, weights,
                 table_of(codes, weights, make_features(n_codes, categorical, monotonic))});
        release_gil([&] {
            pool_.emplace(n_jobs, &monitor_);
            rounds_ = make_rounds(held->table, *pool_);
        });
        boost_ = [this, held](const LogisticFit& fit, const RoundDraws& draws,
                              const BoostingOptions& options, BoostedForest& forest) {
            return boost_logistic(*rounds_, held->table.codes, fit, draws, options, *pool_, forest);
        };
    }

    nb::tuple boost(const Scores& scores, const Vector<std::uint8_t>& labels, int bits,
                    double scale, const std::optional<nb::dict>& sampling, std::size_t first_round,
                    const Matrix<std::int32_t>& chosen, const nb::dict& options) {
        if (scores.size() != n_rows_ || labels.size() != n_rows_ || chosen.size() == 0 ||
            !is_width(bits))
            throw nb::value_error("boost: arrays of different lengths, or too many bits");
        const LogisticFit fit{scores.data(), labels.data(), bits, scale};
        const RoundDraws draws{sampling ? sampling_of(*sampling) : Sampling{}, first_round,
                               checked_rows(chosen, n_features_, "boost: no such feature")};
        if (draws.rows.n_draws > n_rows_) throw nb::value_error("boost: more draws than rows");
        const BoostingOptions parsed = boosting_options(options);
        BoostedForest forest;
        bool goes_on = true;
        release_gil([&] { goes_on = boost_(fit, draws, parsed, forest); });
        return nb::make_tuple(to_tuple(std::move(forest)), goes_on);
    }

    nb::object grow(const Vector<double>& first, const Vector<double>& second, int bits,
                    double scale, const std::optional<Vector<std::uint32_t>>& rows,
                    const Vector<std::int32_t>& chosen, const nb::dict& options,
                    const std::optional<Scores>& scores) {
        if (first.size() != n_rows_ || second.size() != n_rows_ || chosen.size() == 0 ||
            (scores && scores->size() != n_rows_) || !is_width(bits))
            throw nb::value_error("grow: arrays of different lengths, or too many bits");
        std::vector<std::uint32_t> of_rows;
        if (rows) of_rows = checked_numbers(*rows, n_rows_, "grow: no such row");
        const auto of_features = checked_numbers(chosen, n_features_, "grow: no such feature");
        BoostingOptions parsed = boosting_options(options);
        std::optional<BoostedTree> tree;
        release_gil([&] {
            rounds_->set_gradients(first.data(), second.data(), bits, *pool_);
            if (!rounds_->has_gradients()) return;
            parsed.scale.gradient_unit = rounds_->units().gradient / scale;
            parsed.scale.hessian_unit = rounds_->units().hessian / scale;
            tree = rounds_->grow(rows ? &of_rows : nullptr, of_features, parsed, *pool_);
            if (scores) rounds_->add_to(scores->data(), *pool_);
        });
        if (!tree) return nb::none();
        return to_tuple(std::move(*tree));
    }

  private:
    static bool is_width(int bits) { return bits >= 1 && bits <= kGradientBits; }

    std::size_t n_rows_, n_features_;
    // Shared by all rounds: starting threads takes as long as a small round.
    ProgressMonitor monitor_{reporter(nb::none())};
    std::optional<ThreadPool> pool_;
    // boost_logistic() for the type of the codes; keeps the table alive.
    std::function<bool(const LogisticFit&, const RoundDraws&, const BoostingOptions&,
                       BoostedForest&)>
        boost_;
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
    rounds.def(
        "boost", &PyRounds::boost, nb::arg("scores").noconvert(), nb::arg("labels").noconvert(),
        nb::arg("bits"), nb::arg("scale"), nb::arg("sampling").none(), nb::arg("first_round"),
        nb::arg("chosen").noconvert(), nb::arg("options"),
        "Grows a tree of the logistic loss for each row of `chosen` (rounds x features) and adds "
        "it to the scores, which are log-odds; labels are 0 or 1, and gradients are rounded to "
        "`bits` bits. Rows are drawn by `sampling` (None: all). Returns the trees that have a "
        "split, as the arrays of a forest, and False if nothing is left to learn.");
    rounds.def(
        "grow", &PyRounds::grow, nb::arg("first").noconvert(), nb::arg("second").noconvert(),
        nb::arg("bits"), nb::arg("scale"), nb::arg("rows").noconvert().none(),
        nb::arg("chosen").noconvert(), nb::arg("options"), nb::arg("scores").noconvert().none(),
        "Grows a ranking tree on `rows` (None: all), using first and second derivatives rounded to "
        "`bits` bits; `scale` units of weight make one row. If scores are given, adds the values "
        "of the tree to those of its rows. Returns None if all gradients are 0, otherwise (slots, "
        "value of each slot, cell or category set of each slot, category sets, importance, share "
        "that each slot sends left).");
}

}  // namespace treerank
