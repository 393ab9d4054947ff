// Passes arrays between NumPy and the core: exactly typed, never converted.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/data/types.hpp"
#include "core/tree/flat_tree.hpp"
#include "core/util/unfilled.hpp"

namespace nb = nanobind;

namespace treerank {

template <class T>
using Vector = nb::ndarray<const T, nb::numpy, nb::ndim<1>, nb::c_contig>;
template <class T>
using Matrix = nb::ndarray<const T, nb::numpy, nb::ndim<2>, nb::c_contig>;
template <class T>
using Numbers = nb::ndarray<const T, nb::numpy, nb::ndim<2>>;  // any strides
using Units = std::optional<Vector<std::int64_t>>;             // weights; none: all 1
using Repeats = std::optional<Vector<std::uint8_t>>;           // repeat counts; none: all 1

// Returns null if there is no array.
template <class Optional>
auto data_of(const Optional& array) {
    return array ? array->data() : nullptr;
}

template <class T>
std::vector<T> to_vector(const Vector<T>& values) {
    return {values.data(), values.data() + values.size()};
}

// The same for numbers that are used as indices.
template <class T>
std::vector<T> checked_numbers(const Vector<T>& numbers, std::size_t below, const char* what) {
    for (std::size_t i = 0; i < numbers.size(); ++i)
        if (static_cast<std::size_t>(numbers.data()[i]) >= below) throw nb::value_error(what);
    return to_vector(numbers);
}

// The same row by row.
template <class T>
std::vector<std::vector<T>> checked_rows(const Matrix<T>& numbers, std::size_t below,
                                         const char* what) {
    std::vector<std::vector<T>> rows;
    const T* const end = numbers.data() + numbers.size();
    for (const T* row = numbers.data(); row != end; row += numbers.shape(1)) {
        rows.emplace_back(row, row + numbers.shape(1));
        for (const T number : rows.back())
            if (static_cast<std::size_t>(number) >= below) throw nb::value_error(what);
    }
    return rows;
}

// Keeps values (a vector or Unfilled) alive as long as an array that refers to them.
template <class Values>
std::pair<Values*, nb::capsule> keep_alive(Values&& values) {
    auto* held = new Values(std::move(values));
    return {held, nb::capsule(held, [](void* p) noexcept { delete static_cast<Values*>(p); })};
}

// Passes values to NumPy without a copy.
template <class Values>
nb::ndarray<nb::numpy, typename Values::value_type, nb::ndim<1>> to_numpy(Values&& values) {
    const auto [held, owner] = keep_alive(std::move(values));
    return {held->data(), {held->size()}, owner};
}

// Passes structs to NumPy as rows of bytes, which Python views as records.
template <class Values, class Struct = typename Values::value_type>
nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<2>> to_records(Values&& values) {
    const auto [held, owner] = keep_alive(std::move(values));
    return {held->data(), {held->size(), sizeof(Struct)}, owner};
}
// The same for a copy.
template <class Struct>
auto to_records(const std::vector<Struct>& values) {
    return to_records(std::vector<Struct>(values));
}

// Passes structs of integers to NumPy as one array of integers.
template <class Struct>
nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>> to_words(std::vector<Struct>&& values) {
    const auto [held, owner] = keep_alive(std::move(values));
    return {held->data(), {held->size() * sizeof(Struct) / sizeof(std::int64_t)}, owner};
}

using Records = Matrix<std::uint8_t>;
template <class Struct>
std::vector<Struct> from_records(const Records& records, const char* name) {
    if (records.shape(1) != sizeof(Struct))
        throw nb::value_error((std::string(name) + ": records of another size").c_str());
    std::vector<Struct> values(records.shape(0));
    if (!values.empty()) std::memcpy(values.data(), records.data(), records.nbytes());
    return values;
}

template <class Struct>
Struct from_record(const Records& records, const char* name) {
    const std::vector<Struct> values = from_records<Struct>(records, name);
    if (values.size() != 1)
        throw nb::value_error((std::string(name) + ": one record expected").c_str());
    return values[0];
}

template <class Code>
CodeMatrix<Code> code_matrix(const Matrix<Code>& codes) {
    return {codes.data(), codes.shape(1), codes.shape(0), codes.shape(1)};
}

void bind_binning(nb::module_& m);
void bind_grow(nb::module_& m);
void bind_level_growth(nb::module_& m);
void bind_shards(nb::module_& m);
void bind_forest(nb::module_& m);
void bind_boosting(nb::module_& m);
void bind_summed_boosting(nb::module_& m);
void bind_boosted_growth(nb::module_& m);
void bind_geometric(nb::module_& m);
void bind_cell_values(nb::module_& m);
void bind_prune(nb::module_& m);
void bind_predict(nb::module_& m);
void bind_attributions(nb::module_& m);

}  // namespace treerank
