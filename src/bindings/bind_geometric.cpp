#include "bindings/arrays.hpp"
#include "bindings/options.hpp"
#include "core/geometric/geometric.hpp"

namespace treerank {

namespace {

AxisTree axis_tree(const Records& nodes, const Records& sets) {
    return {from_records<AxisNode>(nodes, "nodes"), from_records<CategorySet>(sets, "sets")};
}

auto py_expand(const Records& nodes, const Records& sets, const Vector<std::int32_t>& n_codes,
               std::size_t max_nodes) {
    return to_records(expand(axis_tree(nodes, sets), to_vector(n_codes), max_nodes).nodes);
}

nb::tuple py_find_boundary(const Records& nodes, const Records& sets,
                           const Vector<std::uint8_t>& side_of_leaf, const Matrix<double>& rows,
                           const Vector<double>& scale, std::size_t n_jobs) {
    const AxisTree tree = axis_tree(nodes, sets);
    const RowMatrix matrix{rows.data(), rows.shape(0), rows.shape(1)};
    if (scale.size() != matrix.features)
        throw nb::value_error("find_boundary: a scale for each feature expected");
    if (!is_sound(tree, matrix.features, side_of_leaf.size()))
        throw nb::value_error("find_boundary: the tree is damaged, or has other features");
    Boundary found;
    run_released(n_jobs, [&](ThreadPool& pool) {
        found = find_boundary(tree, to_vector(side_of_leaf), matrix, to_vector(scale), pool);
    });
    return nb::make_tuple(to_numpy(std::move(found.leaf)), to_numpy(std::move(found.distance)),
                          to_numpy(std::move(found.nearest)));
}

}  // namespace

void bind_geometric(nb::module_& m) {
    m.def("expand_boxes", &py_expand, nb::arg("nodes").noconvert(), nb::arg("sets").noconvert(),
          nb::arg("n_codes").noconvert(), nb::arg("max_nodes"),
          "Returns the nodes of an axis-parallel tree or graph as a tree in preorder, without "
          "empty boxes.");
    m.def("find_boundary", &py_find_boundary, nb::arg("nodes").noconvert(),
          nb::arg("sets").noconvert(), nb::arg("side_of_leaf").noconvert(),
          nb::arg("rows").noconvert(), nb::arg("scale").noconvert(), nb::arg("n_jobs"),
          "Returns for each row: (its leaf, the distance to the nearest box of the other side, the "
          "node of that box).");
}

}  // namespace treerank
