#include "bindings/arrays.hpp"
#include "core/data/types.hpp"
#include "core/prune/cost_complexity.hpp"

namespace treerank {

void bind_prune(nb::module_& m) {
    m.def(
        "cost_complexity",
        [](const Vector<std::int32_t>& left, const Vector<std::int32_t>& right,
           const Vector<double>& gain) {
            if (left.size() != right.size() || left.size() != gain.size())
                throw nb::value_error("cost_complexity: arrays of different lengths");
            PruningSequence sequence =
                cost_complexity(left.data(), right.data(), gain.data(), left.size());
            return nb::make_tuple(to_numpy(std::move(sequence.lambdas)),
                                  to_numpy(std::move(sequence.collapsed_at)));
        },
        nb::arg("left").noconvert(), nb::arg("right").noconvert(), nb::arg("gain").noconvert(),
        "The nested subtrees: (lambdas, the step at which each cell is collapsed).");
    m.def(
        "penalised_subtree",
        [](const Vector<std::int32_t>& left, const Vector<std::int32_t>& right,
           const Vector<double>& gain, const Vector<double>& penalty) {
            if (left.size() != right.size() || left.size() != gain.size() || penalty.size() == 0)
                throw nb::value_error("penalised_subtree: arrays of different lengths");
            PenalisedSubtree subtree =
                penalised_subtree(left.data(), right.data(), gain.data(), left.size(),
                                  penalty.data(), penalty.size());
            return nb::make_tuple(to_numpy(std::move(subtree.gain)),
                                  to_numpy(std::move(subtree.split)));
        },
        nb::arg("left").noconvert(), nb::arg("right").noconvert(), nb::arg("gain").noconvert(),
        nb::arg("penalty").noconvert(),
        "The subtree of largest gain less penalty[leaves - 1]: (largest gain by leaves, whether "
        "each cell is split).");
    m.def(
        "vus_complexity",
        [](const Vector<std::int32_t>& left, const Vector<std::int32_t>& right,
           const Matrix<double>& weight) {
            if (left.size() != right.size() || left.size() != weight.shape(0) ||
                weight.shape(1) > kMaxClasses)
                throw nb::value_error("vus_complexity: arrays of different lengths");
            PruningSequence sequence = vus_complexity(left.data(), right.data(), weight.data(),
                                                      weight.shape(0), weight.shape(1));
            return nb::make_tuple(to_numpy(std::move(sequence.lambdas)),
                                  to_numpy(std::move(sequence.collapsed_at)));
        },
        nb::arg("left").noconvert(), nb::arg("right").noconvert(), nb::arg("weight").noconvert(),
        "The nested subtrees by VUS: (lambdas, the step at which each cell is collapsed).");
    m.def(
        "vus_of_leaves",
        [](const Matrix<std::uint8_t>& is_leaf, const Vector<double>& value,
           const Matrix<double>& weight) {
            if (is_leaf.shape(1) != weight.shape(0) || value.size() != weight.shape(0) ||
                weight.shape(1) > kMaxClasses)
                throw nb::value_error("vus_of_leaves: arrays of different lengths");
            return to_numpy(vus_of_leaves(is_leaf.data(), is_leaf.shape(0), value.data(),
                                          weight.data(), weight.shape(0), weight.shape(1)));
        },
        nb::arg("is_leaf").noconvert(), nb::arg("value").noconvert(), nb::arg("weight").noconvert(),
        "VUS of each choice of leaves, the cells scored by their values.");
}

}  // namespace treerank
