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
}

}  // namespace treerank
