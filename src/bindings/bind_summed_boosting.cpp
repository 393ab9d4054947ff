#include <nanobind/stl/optional.h>

#include <optional>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/boosted_trees.hpp"
#include "bindings/options.hpp"
#include "bindings/placed_rows.hpp"
#include "core/grow/gradient_shards.hpp"
#include "core/grow/summed_boosting.hpp"

namespace treerank {

namespace {

static_assert(sizeof(GradientSum) == 3 * sizeof(std::int64_t) &&
              sizeof(GradientSquares) == 3 * sizeof(std::int64_t) &&
              sizeof(RowGradient) == 2 * sizeof(std::int32_t));

template <class Struct>
std::vector<Struct> from_words(const Vector<std::int64_t>& words, std::size_t n) {
    if (words.size() * sizeof(std::int64_t) != n * sizeof(Struct))
        throw nb::value_error("answer: sums that do not fit the request");
    std::vector<Struct> values(n);
    if (n > 0) std::memcpy(static_cast<void*>(values.data()), words.data(), words.nbytes());
    return values;
}

class PySummedBoosting {
  public:
    PySummedBoosting(const Vector<std::int32_t>& n_codes, const Vector<std::uint8_t>& categorical,
                     const Vector<std::int8_t>& monotonic, const Vector<std::int32_t>& chosen,
                     const nb::dict& options, double gradient_unit, double hessian_unit,
                     std::int64_t weight, std::size_t histogram_bytes) {
        if (chosen.size() == 0 || !(gradient_unit > 0) || !(hessian_unit > 0) || weight < 1)
            throw nb::value_error("SummedBoosting: features, units and weight expected");
        BoostingOptions parsed = boosting_options(options);
        parsed.scale.gradient_unit = gradient_unit;
        parsed.scale.hessian_unit = hessian_unit;
        growth_.emplace(make_features(n_codes, categorical, monotonic),
                        checked_numbers(chosen, n_codes.size(), "SummedBoosting: no such feature"),
                        parsed, weight, histogram_bytes);
    }

    nb::object request() {
        if (growth_->is_done()) return nb::none();
        BoostingRequest request = growth_->request();
        n_asked_ = request.wanted.size();
        with_squares_ = request.square_shift >= 0;
        nb::object steps = nb::none();
        if (request.moves) steps = nb::cast(to_records(std::move(request.steps)));
        return nb::make_tuple(steps, to_records(std::move(request.sets)), request.n_slots,
                              to_numpy(std::move(request.wanted)), request.square_shift);
    }

    void answer(const Vector<std::int64_t>& sums,
                const std::optional<Vector<std::int64_t>>& squares) {
        if (n_asked_ == 0 || squares.has_value() != with_squares_)
            throw nb::value_error("answer: no such request");
        const auto counted = from_words<GradientSum>(sums, n_asked_ * growth_->histogram_size());
        std::vector<GradientSquares> squared;
        if (squares) squared = from_words<GradientSquares>(*squares, n_asked_);
        n_asked_ = 0;
        nb::gil_scoped_release release;
        growth_->answer(counted.data(), squared.data());
    }

    nb::tuple tree() {
        if (!growth_->is_done()) throw nb::value_error("tree: it is still growing");
        return to_tuple(growth_->compile());
    }

  private:
    std::optional<SummedBoosting> growth_;
    std::size_t n_asked_ = 0;
    bool with_squares_ = false;
};

template <class Code>
nb::tuple py_count_gradients(const Matrix<Code>& codes, const Matrix<std::int32_t>& gradients,
                             const Units& weights, const Vector<std::uint32_t>& rows,
                             const Vector<std::int64_t>& starts, const Vector<std::int32_t>& slots,
                             const Vector<std::int32_t>& n_codes,
                             const Vector<std::int32_t>& chosen, int square_shift) {
    const std::size_t n_rows = codes.shape(1), n_features = codes.shape(0);
    if (gradients.shape(0) != n_rows || gradients.shape(1) != 2 || n_codes.size() != n_features ||
        (weights && weights->size() != n_rows) || square_shift > kGradientBits)
        throw nb::value_error("count_gradients: arrays that do not fit together");
    const RowState placed = placed_of(rows, starts, n_rows);
    const auto wanted = checked_numbers(slots, placed.n_slots(), "slots: no such slot");
    const auto features = checked_numbers(chosen, n_features, "chosen: no such feature");
    std::vector<RowGradient> of_rows(n_rows);
    if (n_rows > 0)
        std::memcpy(static_cast<void*>(of_rows.data()), gradients.data(), gradients.nbytes());
    const GradientShard<Code> shard{code_matrix(codes), of_rows.data(), data_of(weights)};
    std::vector<GradientSum> sums;
    std::vector<GradientSquares> squares;
    {
        nb::gil_scoped_release release;
        sums = count_gradients(shard, placed, wanted, to_vector(n_codes), features);
        if (square_shift >= 0) squares = sum_squares(shard, placed, wanted, square_shift);
    }
    return nb::make_tuple(to_words(std::move(sums)), to_words(std::move(squares)));
}

template <class Code>
void bind_count_gradients_for(nb::module_& m) {
    m.def("count_gradients", &py_count_gradients<Code>, nb::arg("codes").noconvert(),
          nb::arg("gradients").noconvert(), nb::arg("weights").noconvert().none(),
          nb::arg("rows").noconvert(), nb::arg("starts").noconvert(), nb::arg("slots").noconvert(),
          nb::arg("n_codes").noconvert(), nb::arg("chosen").noconvert(), nb::arg("square_shift"),
          "Returns the sums of gradient, hessian and weight by slot, chosen feature and code, and "
          "the sums of squares by slot (empty if the shift is negative).");
}

}  // namespace

void bind_summed_boosting(nb::module_& m) {
    nb::class_<PySummedBoosting>(m, "SummedBoosting",
                                 "A boosted tree that is grown from sums over shards.")
        .def(nb::init<const Vector<std::int32_t>&, const Vector<std::uint8_t>&,
                      const Vector<std::int8_t>&, const Vector<std::int32_t>&, const nb::dict&,
                      double, double, std::int64_t, std::size_t>(),
             nb::arg("n_codes").noconvert(), nb::arg("categorical").noconvert(),
             nb::arg("monotonic").noconvert(), nb::arg("chosen").noconvert(), nb::arg("options"),
             nb::arg("gradient_unit"), nb::arg("hessian_unit"), nb::arg("weight"),
             nb::arg("histogram_bytes"))
        .def("request", &PySummedBoosting::request,
             "Returns the next request to all shards, or None if the tree is done: (steps of the "
             "rows or None, category sets, number of new slots, slots to be counted, shift of the "
             "squares).")
        .def("answer", &PySummedBoosting::answer, nb::arg("sums").noconvert(),
             nb::arg("squares").noconvert().none(), "Takes the requested sums over all shards.")
        .def("tree", &PySummedBoosting::tree,
             "Returns the tree in the form that BoostingRounds returns.");
    bind_count_gradients_for<std::uint8_t>(m);
    bind_count_gradients_for<std::uint16_t>(m);
}

}  // namespace treerank
