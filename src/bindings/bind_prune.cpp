#include "bindings/arrays.hpp"
#include "core/prune.hpp"

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
}

}  // namespace treerank
