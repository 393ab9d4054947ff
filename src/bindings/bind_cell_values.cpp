#include <algorithm>

#include "bindings/arrays.hpp"
#include "core/tree/cell_values.hpp"

namespace treerank {

namespace {

auto py_sum_children(const Vector<std::int32_t>& left, const Vector<std::int32_t>& right,
                     const Matrix<double>& counts) {
    const std::size_t n = left.size();
    if (right.size() != n || counts.shape(0) != n)
        throw nb::value_error("sum_children: arrays of different lengths");
    const auto is_below = [&](std::int32_t child, std::size_t cell) {
        return child >= 0 && static_cast<std::size_t>(child) > cell &&
               static_cast<std::size_t>(child) < n;
    };
    for (std::size_t cell = 0; cell < n; ++cell)
        if (left.data()[cell] >= 0 &&
            !(is_below(left.data()[cell], cell) && is_below(right.data()[cell], cell)))
            throw nb::value_error("sum_children: children after their parent expected");
    std::vector<double> sums(counts.data(), counts.data() + counts.size());
    sum_children(left.data(), right.data(), n, counts.shape(1), sums.data());
    return to_numpy(std::move(sums));
}

auto py_shrink_along_paths(const Vector<std::int32_t>& parent, const Vector<double>& weight,
                           const Matrix<double>& share, const Vector<double>& shrinkages) {
    const std::size_t n = parent.size();
    if (n == 0 || weight.size() != n || share.shape(0) != n)
        throw nb::value_error("shrink_along_paths: arrays of different lengths");
    for (std::size_t cell = 1; cell < n; ++cell)
        if (parent.data()[cell] < 0 || static_cast<std::size_t>(parent.data()[cell]) >= cell)
            throw nb::value_error("shrink_along_paths: parents before their children expected");
    std::vector<double> values(shrinkages.size() * share.size());
    const CellShares cells{parent.data(), weight.data(), share.data(), n, share.shape(1)};
    shrink_along_paths(cells, shrinkages.data(), shrinkages.size(), values.data());
    return to_numpy(std::move(values));
}

}  // namespace

void bind_cell_values(nb::module_& m) {
    m.def("sum_children", &py_sum_children, nb::arg("left").noconvert(),
          nb::arg("right").noconvert(), nb::arg("counts").noconvert(),
          "Returns the counts of all cells (cells x classes), given those of the leaf cells.");
    m.def("shrink_along_paths", &py_shrink_along_paths, nb::arg("parent").noconvert(),
          nb::arg("weight").noconvert(), nb::arg("share").noconvert(),
          nb::arg("shrinkages").noconvert(),
          "Returns the shares (cells x cuts) shrunk along the path from the root, for each "
          "shrinkage.");
}

}  // namespace treerank
