#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/options.hpp"
#include "core/tree/dependence.hpp"
#include "core/tree/flat_tree.hpp"

namespace treerank {

namespace {

nb::tuple py_compile_tree(const Records& cells, const Records& tests, const Records& category_sets,
                          const Vector<std::uint8_t>& is_split) {
    RankTree tree;
    tree.cells = from_records<Cell>(cells, "cells");
    tree.tests = from_records<LeafRankNode>(tests, "tests");
    tree.category_sets = from_records<CategorySet>(category_sets, "category_sets");
    if (is_split.size() != tree.cells.size())
        throw nb::value_error("compile_tree: is_split and cells differ in length");
    FlatTree flat = compile_tree(tree, is_split.data());
    return nb::make_tuple(to_records(std::move(flat.slots)), to_numpy(std::move(flat.target)),
                          to_numpy(std::move(flat.test)));
}

FlatTree flat_tree(const Records& slots, const Vector<std::int32_t>& target,
                   const Records& category_sets, std::size_t n_features) {
    FlatTree flat;
    flat.slots = from_records<Slot>(slots, "slots");
    flat.target.assign(target.data(), target.data() + target.size());
    flat.category_sets = from_records<CategorySet>(category_sets, "category_sets");
    flat.any_categorical = !flat.category_sets.empty();
    if (!is_sound(flat, n_features))
        throw nb::value_error("apply: the tree is damaged, or was fitted to other features");
    return flat;
}

template <class Code>
auto py_apply(const Records& slots, const Vector<std::int32_t>& target,
              const Records& category_sets, const Matrix<Code>& codes, std::size_t n_jobs) {
    const FlatTree flat = flat_tree(slots, target, category_sets, codes.shape(0));
    std::vector<std::int32_t> cells(codes.shape(1));
    run_released(n_jobs,
                 [&](ThreadPool& pool) { apply(flat, code_matrix(codes), pool, cells.data()); });
    return to_numpy(std::move(cells));
}

std::int32_t last_cell(const FlatTree& flat) {
    std::int32_t last = 0;
    for (std::size_t i = 0; i < flat.slots.size(); ++i)
        if (flat.slots[i].next == i) last = std::max(last, flat.target[i]);
    return last;
}

template <class Code>
auto py_leaf_weights(const Records& slots, const Vector<std::int32_t>& target,
                     const Records& category_sets, const Matrix<Code>& codes,
                     const Vector<std::uint8_t>& labels, const Repeats& repeats, const Units& units,
                     std::size_t n_cells, std::size_t n_classes, std::size_t n_jobs) {
    const FlatTree flat = flat_tree(slots, target, category_sets, codes.shape(0));
    const std::size_t n = codes.shape(1);
    check_classes(labels, n_classes);
    if (labels.size() != n || (repeats && repeats->size() != n) || (units && units->size() != n) ||
        static_cast<std::size_t>(last_cell(flat)) >= n_cells)
        throw nb::value_error("leaf_weights: arrays of different lengths");
    const WeightedRows rows{labels.data(), n_classes, data_of(repeats), data_of(units)};
    std::vector<std::int64_t> weights;
    run_released(n_jobs, [&](ThreadPool& pool) {
        weights = leaf_weights(flat, code_matrix(codes), rows, n_cells, pool);
    });
    return to_numpy(std::move(weights));
}

// Returns the weights of the rows of each fold, in the cells of the tree with the number of the
// fold.
template <class Code>
nb::list py_held_out_weights(const std::vector<Records>& slots,
                             const std::vector<Vector<std::int32_t>>& target,
                             const std::vector<Records>& category_sets, const Matrix<Code>& codes,
                             const Vector<std::uint8_t>& labels, const Repeats& repeats,
                             const Units& units, const Vector<std::int32_t>& folds,
                             const std::vector<std::size_t>& n_cells, std::size_t n_classes,
                             std::size_t n_jobs) {
    const std::size_t n = codes.shape(1), n_trees = slots.size();
    check_classes(labels, n_classes);
    if (labels.size() != n || (repeats && repeats->size() != n) || (units && units->size() != n) ||
        folds.size() != n || target.size() != n_trees || category_sets.size() != n_trees ||
        n_cells.size() != n_trees)
        throw nb::value_error("held_out_weights: arrays of different lengths");
    std::vector<FlatTree> trees;
    for (std::size_t t = 0; t < n_trees; ++t) {
        trees.push_back(flat_tree(slots[t], target[t], category_sets[t], codes.shape(0)));
        if (static_cast<std::size_t>(last_cell(trees[t])) >= n_cells[t])
            throw nb::value_error("held_out_weights: a tree has more cells than n_cells");
    }
    std::vector<std::vector<std::int64_t>> weights(n_trees);
    run_released(n_jobs, [&](ThreadPool& pool) {
        for (std::size_t t = 0; t < n_trees; ++t)
            weights[t] = leaf_weights(trees[t], code_matrix(codes),
                                      {labels.data(), n_classes, data_of(repeats), data_of(units),
                                       folds.data(), static_cast<std::int32_t>(t)},
                                      n_cells[t], pool);
    });
    nb::list result;
    for (auto& some : weights) result.append(to_numpy(std::move(some)));
    return result;
}

Varied varied_of(std::int32_t feature, const Vector<std::uint16_t>& codes) {
    if (codes.size() == 0 || codes.size() > kMaxGrid)
        throw nb::value_error("sum_over_rows: 1 to 64 codes per feature expected");
    return {feature, std::vector<std::uint16_t>(codes.data(), codes.data() + codes.size())};
}

template <class Code>
auto py_sum_over_rows(const Records& slots, const Vector<std::int32_t>& target,
                      const Records& category_sets, const Matrix<Code>& codes,
                      const std::optional<Vector<double>>& weights,
                      const Vector<double>& cell_values, std::int32_t first,
                      const Vector<std::uint16_t>& first_codes, std::int32_t second,
                      const Vector<std::uint16_t>& second_codes, std::size_t n_jobs) {
    const FlatTree flat = flat_tree(slots, target, category_sets, codes.shape(0));
    const Varied a = varied_of(first, first_codes), b = varied_of(second, second_codes);
    if ((weights && weights->size() != codes.shape(1)) ||
        static_cast<std::size_t>(last_cell(flat)) >= cell_values.size())
        throw nb::value_error("sum_over_rows: arrays of different lengths");
    std::vector<double> sums;
    run_released(n_jobs, [&](ThreadPool& pool) {
        sums = sum_over_rows(flat, code_matrix(codes), data_of(weights), cell_values.data(), a, b,
                             pool);
    });
    return to_numpy(std::move(sums));
}

template <class Code>
void bind_predict_for(nb::module_& m) {
    m.def("apply", &py_apply<Code>, nb::arg("slots").noconvert(), nb::arg("target").noconvert(),
          nb::arg("category_sets").noconvert(), nb::arg("codes").noconvert(), nb::arg("n_jobs"),
          "Returns the cell in which each row ends.");
    m.def("leaf_weights", &py_leaf_weights<Code>, nb::arg("slots").noconvert(),
          nb::arg("target").noconvert(), nb::arg("category_sets").noconvert(),
          nb::arg("codes").noconvert(), nb::arg("labels").noconvert(),
          nb::arg("repeats").noconvert().none(), nb::arg("units").noconvert().none(),
          nb::arg("n_cells"), nb::arg("n_classes"), nb::arg("n_jobs"),
          "Returns the weight of each class in each cell in which rows end (cells x classes).");
    m.def("held_out_weights", &py_held_out_weights<Code>, nb::arg("slots").noconvert(),
          nb::arg("target").noconvert(), nb::arg("category_sets").noconvert(),
          nb::arg("codes").noconvert(), nb::arg("labels").noconvert(),
          nb::arg("repeats").noconvert().none(), nb::arg("units").noconvert().none(),
          nb::arg("folds").noconvert(), nb::arg("n_cells"), nb::arg("n_classes"), nb::arg("n_jobs"),
          "The same for the rows of each fold, in the tree with the number of the fold.");
    m.def("sum_over_rows", &py_sum_over_rows<Code>, nb::arg("slots").noconvert(),
          nb::arg("target").noconvert(), nb::arg("category_sets").noconvert(),
          nb::arg("codes").noconvert(), nb::arg("weights").noconvert().none(),
          nb::arg("cell_values").noconvert(), nb::arg("first"), nb::arg("first_codes").noconvert(),
          nb::arg("second"), nb::arg("second_codes").noconvert(), nb::arg("n_jobs"),
          "Returns, for each pair of codes of two features (-1: none), the sum over rows of the "
          "value of the cell in which a row ends with these codes.");
}

}  // namespace

void bind_predict(nb::module_& m) {
    m.def(
        "compile_tree", &py_compile_tree, nb::arg("cells").noconvert(),
        nb::arg("tests").noconvert(), nb::arg("category_sets").noconvert(),
        nb::arg("is_split").noconvert(),
        "Compiles a subtree for scoring: (slots, the target of each slot, the index of its test).");
    bind_predict_for<std::uint8_t>(m);
    bind_predict_for<std::uint16_t>(m);
}

}  // namespace treerank
