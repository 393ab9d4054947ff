#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "bindings/arrays.hpp"
#include "bindings/options.hpp"
#include "core/data/binning.hpp"
#include "core/data/folds.hpp"
#include "core/data/labels.hpp"
#include "core/data/number_scan.hpp"

namespace treerank {

namespace {

template <class Value>
NumberMatrix<Value> number_matrix(const Numbers<Value>& x) {
    return {x.data(), x.shape(0), x.shape(1), x.stride(0), x.stride(1)};
}

auto py_sampled_rows(std::uint64_t first_row, std::size_t n_rows, std::uint64_t bound,
                     std::size_t n_jobs) {
    std::vector<std::uint32_t> rows;
    run_released(n_jobs,
                 [&](ThreadPool& pool) { rows = sampled_rows(first_row, n_rows, bound, pool); });
    return to_numpy(std::move(rows));
}

template <class Value>
nb::list py_find_thresholds(const Numbers<Value>& x, const Vector<std::uint32_t>& sample,
                            const Units& weights, std::size_t max_bins, std::size_t n_jobs) {
    const auto numbers = number_matrix(x);
    const std::vector<std::uint32_t> rows = to_vector(sample);
    std::vector<std::vector<double>> thresholds;
    run_released(n_jobs, [&](ThreadPool& pool) {
        thresholds = find_thresholds(numbers, rows, data_of(weights), max_bins, pool);
    });
    nb::list result;
    for (auto& column : thresholds) result.append(to_numpy(std::move(column)));
    return result;
}

template <class Value>
nb::tuple py_scan_numbers(const Numbers<Value>& x, std::size_t n_jobs) {
    const auto numbers = number_matrix(x);
    NumberScan found;
    run_released(n_jobs, [&](ThreadPool& pool) { found = scan_numbers(numbers, pool); });
    return nb::make_tuple(to_numpy(std::move(found.has_missing)), found.has_infinite);
}

template <class Value, class Code>
void py_encode(const Numbers<Value>& x, const std::vector<Vector<double>>& thresholds,
               nb::ndarray<Code, nb::numpy, nb::ndim<2>, nb::c_contig> codes, std::size_t n_jobs) {
    if (codes.shape(0) != x.shape(1) || codes.shape(1) != x.shape(0) ||
        thresholds.size() != x.shape(1))
        throw nb::value_error("encode: shapes of numbers, thresholds and codes do not agree");
    std::vector<std::vector<double>> tables;
    for (const auto& column : thresholds)
        tables.emplace_back(column.data(), column.data() + column.size());
    const auto numbers = number_matrix(x);
    run_released(n_jobs, [&](ThreadPool& pool) {
        encode(numbers, tables, codes.data(), codes.shape(1), pool);
    });
}

template <class Code>
auto py_row_hashes(const Matrix<Code>& codes, const Vector<std::uint8_t>& labels,
                   std::uint64_t seed, std::size_t n_jobs) {
    if (labels.size() != codes.shape(1))
        throw nb::value_error("row_hashes: labels of another length");
    Unfilled<std::uint64_t> hashes;
    run_released(n_jobs, [&](ThreadPool& pool) {
        hashes = row_hashes(code_matrix(codes), labels.data(), seed, pool);
    });
    return to_numpy(std::move(hashes));
}

auto py_rows_up_to(const Vector<std::uint64_t>& hashes, const Vector<std::uint8_t>& labels,
                   const Vector<std::uint64_t>& bounds, std::size_t n_jobs) {
    check_classes(labels, bounds.size());
    if (labels.size() != hashes.size())
        throw nb::value_error("rows_up_to: labels of another length");
    std::vector<std::int64_t> rows;
    run_released(n_jobs, [&](ThreadPool& pool) {
        rows = rows_up_to(hashes.data(), labels.data(), labels.size(), bounds.data(), pool);
    });
    return to_numpy(std::move(rows));
}

template <class Value>
nb::object py_number_labels(const Vector<Value>& labels) {
    auto found = number_labels(labels.data(), labels.size());
    if (!found) return nb::none();
    return nb::make_tuple(to_numpy(std::move(found->distinct)), to_numpy(std::move(found->number)));
}

auto py_assign_folds(const Vector<std::uint64_t>& hashes, const Vector<std::uint8_t>& labels,
                     const Units& units, std::size_t n_classes, std::int32_t n_folds,
                     std::uint64_t seed, std::size_t n_jobs) {
    const std::size_t n = hashes.size();
    check_classes(labels, n_classes);
    if (labels.size() != n || (units && units->size() != n) || n > kMaxRows || n_folds < 1)
        throw nb::value_error("assign_folds: arrays of different lengths, or too many rows");
    Unfilled<std::int32_t> fold;
    run_released(n_jobs, [&](ThreadPool& pool) {
        fold = assign_folds(hashes.data(), n, labels.data(), data_of(units), n_classes, n_folds,
                            seed, pool);
    });
    return to_numpy(std::move(fold));
}

auto py_places_in_class(const Vector<std::int64_t>& places, std::uint64_t class_size,
                        bool has_copies, std::uint64_t seed, std::size_t class_number) {
    std::vector<std::int64_t> found(places.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        const auto place = static_cast<std::uint64_t>(places.data()[i]);
        if (place >= class_size) throw nb::value_error("places_in_class: no such place");
        found[i] = static_cast<std::int64_t>(
            place_in_class(place, class_size, has_copies, seed, class_number));
    }
    return to_numpy(std::move(found));
}

template <class Value>
void bind_numbers_for(nb::module_& m) {
    m.def("find_thresholds", &py_find_thresholds<Value>, nb::arg("x").noconvert(),
          nb::arg("sample").noconvert(), nb::arg("weights").noconvert().none(), nb::arg("max_bins"),
          nb::arg("n_jobs"), "Returns the thresholds of every column, in ascending order.");
    m.def("scan_numbers", &py_scan_numbers<Value>, nb::arg("x").noconvert(), nb::arg("n_jobs"),
          "Returns whether each column has missing values, and whether any value is infinite.");
    const auto def_encode = [&m](auto function) {
        m.def("encode", function, nb::arg("x").noconvert(), nb::arg("thresholds").noconvert(),
              nb::arg("codes").noconvert(), nb::arg("n_jobs"),
              "Writes the codes of all columns into `codes` (features x rows).");
    };
    def_encode(&py_encode<Value, std::uint8_t>);
    def_encode(&py_encode<Value, std::uint16_t>);
}

template <class Code>
void bind_hashes_for(nb::module_& m) {
    m.def("row_hashes", &py_row_hashes<Code>, nb::arg("codes").noconvert(),
          nb::arg("labels").noconvert(), nb::arg("seed"), nb::arg("n_jobs") = 1,
          "Returns a hash of each row's codes and label, whatever its position in the table.");
}

template <class Value>
void bind_labels_for(nb::module_& m) {
    m.def("number_labels", &py_number_labels<Value>, nb::arg("labels").noconvert(),
          "Returns the distinct labels in ascending order and the index of each row's label among "
          "them; None if they are far apart.");
}

}  // namespace

void bind_binning(nb::module_& m) {
    m.def("sample_bound", &sample_bound, nb::arg("n_rows"), nb::arg("limit"),
          "Returns the bound on the hashes of row indices for the sample that determines the "
          "thresholds.");
    m.def("sampled_rows", &py_sampled_rows, nb::arg("first_row"), nb::arg("n_rows"),
          nb::arg("bound"), nb::arg("n_jobs") = 1,
          "Returns the rows of a block that are in the sample for the thresholds, counted from its "
          "first row.");
    bind_numbers_for<double>(m);
    bind_numbers_for<float>(m);
    bind_hashes_for<std::uint8_t>(m);
    bind_hashes_for<std::uint16_t>(m);
    m.def("assign_folds", &py_assign_folds, nb::arg("hashes").noconvert(),
          nb::arg("labels").noconvert(), nb::arg("units").noconvert().none(), nb::arg("n_classes"),
          nb::arg("n_folds"), nb::arg("seed"), nb::arg("n_jobs"),
          "Returns the fold of each row: the rows of a class are assigned in the order of their "
          "hashes, which is shuffled if some are equal.");
    m.def("rows_up_to", &py_rows_up_to, nb::arg("hashes").noconvert(),
          nb::arg("labels").noconvert(), nb::arg("bounds").noconvert(), nb::arg("n_jobs"),
          "Returns the rows whose hashes do not exceed the bound of their class.");
    bind_labels_for<std::int64_t>(m);
    bind_labels_for<std::int32_t>(m);
    bind_labels_for<std::int8_t>(m);
    bind_labels_for<std::uint8_t>(m);
    m.def(
        "count_labels",
        [](const Vector<std::uint8_t>& labels, std::size_t n_classes) {
            return to_numpy(count_labels(labels.data(), labels.size(), n_classes));
        },
        nb::arg("labels").noconvert(), nb::arg("n_classes"),
        "Counts the rows of each class number.");
    m.def("places_in_class", &py_places_in_class, nb::arg("places").noconvert(),
          nb::arg("class_size"), nb::arg("has_copies"), nb::arg("seed"), nb::arg("class_number"),
          "Returns the positions by which rows of a class are assigned to folds, given their "
          "positions in the order of hashes.");
}

}  // namespace treerank
