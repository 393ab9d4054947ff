// Converts trees between Python and the core, as (cells, weights, tests, category sets, weights of
// the tests if there are more than two classes).
#pragma once

#include "bindings/arrays.hpp"
#include "core/grow/growing_cell.hpp"

namespace treerank {

inline nb::tuple to_tuple(RankTree&& tree) {
    return nb::make_tuple(to_records(std::move(tree.cells)), to_numpy(std::move(tree.cell_weight)),
                          to_records(std::move(tree.tests)),
                          to_records(std::move(tree.category_sets)),
                          to_numpy(std::move(tree.test_weight)));
}

// Returns a tree that was passed from Python, with its indices checked.
inline RankTree rank_tree(const nb::tuple& arrays, std::size_t n_classes, std::size_t n_features) {
    if (arrays.size() != 5) throw nb::value_error("tree: five arrays expected");
    RankTree tree;
    tree.n_classes = static_cast<std::int32_t>(n_classes);
    tree.cells = from_records<Cell>(nb::cast<Records>(arrays[0]), "cells");
    tree.cell_weight = to_vector(nb::cast<Vector<double>>(arrays[1]));
    tree.tests = from_records<LeafRankNode>(nb::cast<Records>(arrays[2]), "tests");
    tree.category_sets = from_records<CategorySet>(nb::cast<Records>(arrays[3]), "category sets");
    tree.test_weight = to_vector(nb::cast<Vector<double>>(arrays[4]));
    if (!is_sound(tree, n_features))
        throw nb::value_error("tree: cells or tests that do not fit together");
    return tree;
}

}  // namespace treerank
