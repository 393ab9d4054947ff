#include "bindings/arrays.hpp"
#include "core/predict.hpp"

namespace treerank {

namespace {

nb::tuple py_freeze(const Records& cells, const Records& tests, const Records& category_sets,
                    const Vector<std::uint8_t>& is_split) {
    RankTree tree;
    tree.cells = from_records<Cell>(cells, "cells");
    tree.tests = from_records<LeafRankNode>(tests, "tests");
    tree.category_sets = from_records<CategorySet>(category_sets, "category_sets");
    if (is_split.size() != tree.cells.size())
        throw nb::value_error("freeze: is_split and cells differ in length");
    FlatTree flat = freeze(tree, is_split.data());
    return nb::make_tuple(to_records(std::move(flat.slots)), to_numpy(std::move(flat.target)));
}

template <class Code>
auto py_apply(const Records& slots, const Vector<std::int32_t>& target,
              const Records& category_sets, const Matrix<Code>& codes, std::size_t n_jobs) {
    FlatTree flat;
    flat.slots = from_records<Slot>(slots, "slots");
    flat.target.assign(target.data(), target.data() + target.size());
    flat.category_sets = from_records<CategorySet>(category_sets, "category_sets");
    flat.any_categorical = !flat.category_sets.empty();
    if (!is_sound(flat, codes.shape(0)))
        throw nb::value_error("apply: the tree is damaged, or was fitted to other features");
    std::vector<std::int32_t> cells(codes.shape(1));
    {
        nb::gil_scoped_release release;
        Team team(n_jobs);
        apply(flat, code_matrix(codes), team, cells.data());
    }
    return to_numpy(std::move(cells));
}

}  // namespace

void bind_predict(nb::module_& m) {
    m.def("freeze", &py_freeze, nb::arg("cells").noconvert(), nb::arg("tests").noconvert(),
          nb::arg("category_sets").noconvert(), nb::arg("is_split").noconvert(),
          "Freezes a subtree for scoring: (slots, the target of each slot).");
    const char* doc = "The cell in which each row ends.";
    m.def("apply", &py_apply<std::uint8_t>, nb::arg("slots").noconvert(),
          nb::arg("target").noconvert(), nb::arg("category_sets").noconvert(),
          nb::arg("codes").noconvert(), nb::arg("n_jobs"), doc);
    m.def("apply", &py_apply<std::uint16_t>, nb::arg("slots").noconvert(),
          nb::arg("target").noconvert(), nb::arg("category_sets").noconvert(),
          nb::arg("codes").noconvert(), nb::arg("n_jobs"), doc);
}

}  // namespace treerank
