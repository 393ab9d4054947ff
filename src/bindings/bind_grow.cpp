#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <numeric>
#include <optional>
#include <string>

#include "bindings/arrays.hpp"
#include "bindings/options.hpp"
#include "bindings/trees.hpp"
#include "core/grow/driver.hpp"
#include "core/histogram/histogram.hpp"
#include "core/prune/vus.hpp"
#include "core/split/criterion.hpp"

namespace treerank {

namespace {

using SoftLabels =
    std::optional<nb::ndarray<const std::uint32_t, nb::numpy, nb::ndim<3>, nb::c_contig>>;

// Checks that the units of every tree fit in the counters, which have 32 bits for each class.
void check_soft(const SoftLabels::value_type& soft, std::size_t n_rows, std::size_t n_classes) {
    if (soft.shape(1) != n_rows || soft.shape(2) != n_classes)
        throw nb::value_error("soft: units of each tree, row and class expected");
    const std::size_t size = n_rows * n_classes;
    for (std::size_t t = 0; t < soft.shape(0); ++t) {
        const std::uint32_t* units = soft.data() + t * size;
        if (std::accumulate(units, units + size, std::uint64_t{0}) >> 32 != 0)
            throw nb::value_error("soft: units that add up to less than 2^32 expected");
    }
}

template <class Code>
nb::list py_grow_trees(const Matrix<Code>& codes, const Vector<std::uint8_t>& labels,
                       const std::optional<Matrix<std::uint8_t>>& repeats, const Units& weights,
                       const Vector<std::int32_t>& n_codes, const Vector<std::uint8_t>& categorical,
                       const Vector<std::int8_t>& monotonic, const nb::dict& options,
                       std::size_t n_jobs, const nb::object& progress,
                       const CodeValues& code_values, std::size_t n_classes,
                       const SoftLabels& soft) {
    Table<Code> table = table_of(codes, labels, n_classes, weights,
                                 make_features(n_codes, categorical, monotonic, code_values));
    if (repeats && repeats->shape(1) != codes.shape(1))
        throw nb::value_error("repeats: one per row expected");
    if (soft) {
        check_soft(*soft, codes.shape(1), n_classes);
        if (repeats || weights) throw nb::value_error("soft: neither repeats nor weights expected");
        table.soft = soft->data();
    }
    const std::size_t n_trees = repeats ? repeats->shape(0) : soft ? soft->shape(0) : 1;
    const TreeRankOptions parsed = treerank_options(options);
    std::vector<RankTree> trees;
    run_released(n_jobs, progress, [&](ThreadPool& pool, ProgressMonitor& monitor) {
        trees = grow_trees(table, n_trees, data_of(repeats), parsed, pool, monitor);
    });
    nb::list result;
    for (auto& tree : trees) result.append(to_tuple(std::move(tree)));
    return result;
}

template <class Code>
auto py_histogram(const Matrix<Code>& codes, const Vector<std::uint8_t>& labels,
                  const Vector<std::uint32_t>& rows, const Vector<std::int32_t>& n_codes,
                  std::size_t repetitions) {
    if (labels.size() != codes.shape(1) || n_codes.size() != codes.shape(0))
        throw nb::value_error("histogram: arrays of different lengths");
    std::vector<Row> packed;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::uint32_t row = rows.data()[i];
        if (row >= codes.shape(1)) throw nb::value_error("histogram: no such row");
        packed.push_back(pack_row(row, labels.data()[row] != 0, 1));
    }
    Features features;
    features.n_codes = to_vector(n_codes);
    features.offset = offsets_of(features.n_codes);
    std::vector<PackedCount> counters(features.histogram_size());
    {
        nb::gil_scoped_release release;
        for (std::size_t r = 0; r < repetitions; ++r)
            count_features(code_matrix(codes), nullptr, packed.data(), packed.size(), features,
                           features.all(), counters.data(), nullptr);
    }
    return to_numpy(std::move(counters));
}

nb::tuple py_best_cut(const Vector<std::int32_t>& codes, const Matrix<double>& weights,
                      const nb::str& criterion, std::pair<double, double> cell,
                      double min_weight_leaf, int monotonic) {
    OccupiedCodes occupied;
    CutSearch search;
    search.criterion = criterion_of(criterion);
    search.negative_cost = cell.second;
    search.positive_cost = cell.first;
    search.min_weight_leaf = min_weight_leaf;
    search.monotonic = static_cast<std::int8_t>(monotonic);
    for (std::size_t i = 0; i < codes.size(); ++i) {
        occupied.add(codes.data()[i], {weights.data()[2 * i], weights.data()[2 * i + 1]});
        search.node = search.node + occupied.weights.back();
    }
    const BestCut cut = best_cut(occupied, search);
    return nb::make_tuple(cut.gain, cut.cut, cut.missing_left);
}

auto py_vus_gains(const Matrix<double>& cells, std::size_t place, const Matrix<double>& left,
                  const Vector<double>& total) {
    const std::size_t n_classes = total.size();
    if (cells.shape(1) != n_classes || left.shape(1) != n_classes || n_classes > kMaxClasses ||
        place >= cells.shape(0))
        throw nb::value_error("vus_gains: arrays that do not fit together");
    const auto rows_of = [&](const Matrix<double>& from) {
        std::vector<std::vector<double>> rows;
        for (std::size_t i = 0; i < from.shape(0); ++i)
            rows.emplace_back(from.data() + i * n_classes, from.data() + (i + 1) * n_classes);
        return rows;
    };
    return to_numpy(
        vus_gains(rows_of(cells), place, rows_of(left), {total.data(), total.data() + n_classes}));
}

template <class Code>
void bind_grow_for(nb::module_& m) {
    m.def("grow_trees", &py_grow_trees<Code>, nb::arg("codes").noconvert(),
          nb::arg("labels").noconvert(), nb::arg("repeats").noconvert().none(),
          nb::arg("weights").noconvert().none(), nb::arg("n_codes").noconvert(),
          nb::arg("categorical").noconvert(), nb::arg("monotonic").noconvert(), nb::arg("options"),
          nb::arg("n_jobs"), nb::arg("progress").none(),
          nb::arg("code_values").noconvert().none() = nb::none(), nb::arg("n_classes") = 2,
          nb::arg("soft").noconvert().none() = nb::none(),
          "Grows one tree for each row of `repeats` (how often each row of the table counts), or "
          "one on all rows: [(cells, weights, tests, category sets, weights of tests)]. With "
          "`code_values`, missing values are imputed with the mean of their cell. `soft` has the "
          "units of each row in each class, for each tree.");
    m.def("histogram", &py_histogram<Code>, nb::arg("codes").noconvert(),
          nb::arg("labels").noconvert(), nb::arg("rows").noconvert(),
          nb::arg("n_codes").noconvert(), nb::arg("repetitions") = 1,
          "Returns the counters of all features, with negatives in the low half of a word and "
          "positives in the high half.");
}

}  // namespace

void bind_grow(nb::module_& m) {
    bind_grow_for<std::uint8_t>(m);
    bind_grow_for<std::uint16_t>(m);
    m.def("vus_gains", &py_vus_gains, nb::arg("cells").noconvert(), nb::arg("place"),
          nb::arg("left").noconvert(), nb::arg("total").noconvert(),
          "Returns the increase of VUS if one of the cells (weights by class, best cell first) is "
          "split, for each better side given.");
    m.def("best_cut", &py_best_cut, nb::arg("codes").noconvert(), nb::arg("weights").noconvert(),
          nb::arg("criterion"), nb::arg("cell"), nb::arg("min_weight_leaf"), nb::arg("monotonic"),
          "Returns the best cut of one feature: (gain, last code on the left, whether missing goes "
          "left).");
}

}  // namespace treerank
