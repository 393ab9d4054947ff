// How arrays cross between NumPy and the core: exactly typed, never converted.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstring>
#include <memory>
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

template <class T>
std::vector<T> to_vector(const Vector<T>& values) {
    return {values.data(), values.data() + values.size()};
}

// Hands a vector to NumPy without a copy.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> to_numpy(std::vector<T>&& values) {
    auto* held = new std::vector<T>(std::move(values));
    nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return {held->data(), {held->size()}, owner};
}

template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> to_numpy(Unfilled<T>&& values) {
    auto* held = new Unfilled<T>(std::move(values));
    nb::capsule owner(held, [](void* p) noexcept { delete static_cast<Unfilled<T>*>(p); });
    return {held->data(), {held->size()}, owner};
}

// Hands structs to NumPy as rows of bytes; Python views them as records.
template <class Struct>
nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<2>> to_records(std::vector<Struct>&& values) {
    auto* held = new std::vector<Struct>(std::move(values));
    nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<Struct>*>(p); });
    return {held->data(), {held->size(), sizeof(Struct)}, owner};
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
void bind_prune(nb::module_& m);
void bind_predict(nb::module_& m);
void bind_attributions(nb::module_& m);

}  // namespace treerank
