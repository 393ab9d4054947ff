// Converts options, features and progress callbacks from Python to the core.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "bindings/arrays.hpp"
#include "core/data/row_view.hpp"
#include "core/data/sampling.hpp"
#include "core/data/types.hpp"
#include "core/split/gain.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

// `code_values`: the means and upper ends of all codes, feature by feature, if missing values are
// imputed with the mean of their cell.
using CodeValues = std::optional<Matrix<double>>;
inline Features make_features(const Vector<std::int32_t>& n_codes,
                              const Vector<std::uint8_t>& categorical,
                              const Vector<std::int8_t>& monotonic,
                              const CodeValues& code_values = std::nullopt) {
    if (categorical.size() != n_codes.size() || monotonic.size() != n_codes.size())
        throw nb::value_error("features: one entry per feature expected");
    Features features;
    features.n_codes = to_vector(n_codes);
    features.categorical = to_vector(categorical);
    features.monotonic = to_vector(monotonic);
    features.offset = offsets_of(features.n_codes);
    if (!code_values) return features;
    const std::size_t n = features.histogram_size();
    if (code_values->shape(0) != 2 || code_values->shape(1) != n)
        throw nb::value_error("code_values: a mean and an upper end for each code expected");
    features.code_mean.assign(code_values->data(), code_values->data() + n);
    features.code_upper.assign(code_values->data() + n, code_values->data() + 2 * n);
    return features;
}

inline Sampling sampling_of(const nb::dict& d) {
    return {nb::cast<bool>(d["replace"]), nb::cast<std::size_t>(d["n_draws"]),
            nb::cast<std::uint64_t>(d["seed"])};
}

// A table whose rows carry label bits.
template <class Code>
Table<Code> table_of(const Matrix<Code>& codes, const Units& weights, Features features) {
    const std::size_t n = codes.shape(1);
    if (features.size() != codes.shape(0) || (weights && weights->size() != n) || n > kMaxRows)
        throw nb::value_error("table: arrays that do not fit together, or too many rows");
    Table<Code> table;
    table.codes = code_matrix(codes);
    table.features = std::move(features);
    table.weights = data_of(weights);
    return table;
}

// Checks that class numbers are below n_classes, since the core uses them as indices.
inline void check_classes(const Vector<std::uint8_t>& labels, std::size_t n_classes) {
    if (n_classes < 2 || n_classes > kMaxClasses)
        throw nb::value_error("labels: from 2 to 32 classes expected");
    for (std::size_t i = 0; i < labels.size(); ++i)
        if (labels.data()[i] >= n_classes) throw nb::value_error("labels: no such class");
}

template <class Code>
Table<Code> table_of(const Matrix<Code>& codes, const Vector<std::uint8_t>& labels,
                     std::size_t n_classes, const Units& weights, Features features) {
    check_classes(labels, n_classes);
    if (labels.size() != codes.shape(1)) throw nb::value_error("labels: one per row expected");
    Table<Code> table = table_of(codes, weights, std::move(features));
    table.labels = labels.data();
    table.n_classes = n_classes;
    return table;
}

// Returns the enumerator with the given name; `names` are in the order of the enum.
template <class Enum, std::size_t N>
Enum choice_of(const nb::handle& given, const char* what, const std::array<const char*, N>& names) {
    const auto name = nb::cast<std::string>(given);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
        throw nb::value_error(("unknown " + std::string(what) + ": " + name).c_str());
    return static_cast<Enum>(found - names.begin());
}

inline Criterion criterion_of(const nb::handle& name) {
    return choice_of<Criterion>(name, "criterion", kCriterionNames);
}

inline LeafRankOptions leafrank_options(const nb::dict& d) {
    LeafRankOptions options;
    options.criterion = criterion_of(d["criterion"]);
    options.max_depth = nb::cast<std::int32_t>(d["max_depth"]);
    options.max_leaf_nodes = nb::cast<std::int32_t>(d["max_leaf_nodes"]);
    options.min_weight_leaf = nb::cast<double>(d["min_weight_leaf"]);
    options.min_weight_split = nb::cast<double>(d["min_weight_split"]);
    options.max_features = nb::cast<std::int32_t>(d["max_features"]);
    options.random_cuts = nb::cast<bool>(d["random_cuts"]);
    options.pruning = nb::cast<bool>(d["pruning"]);
    options.row_weight = nb::cast<double>(d["row_weight"]);
    options.independent_weight = nb::cast<double>(d["independent_weight"]);
    return options;
}

// ("all" | "rows" | "negatives", from, to)
inline Focus focus_of(const nb::tuple& given) {
    if (given.size() != 3) throw nb::value_error("focus: a kind and two rates expected");
    constexpr std::array kNames{"all", "rows", "negatives"};
    Focus focus;
    focus.of = choice_of<Focus::Of>(given[0], "focus", kNames);
    focus.low = nb::cast<double>(given[1]);
    focus.high = nb::cast<double>(given[2]);
    if (!(0 <= focus.low && focus.low < focus.high && focus.high <= 1))
        throw nb::value_error("focus: rates from 0 to 1 expected");
    return focus;
}

inline TreeRankOptions treerank_options(const nb::dict& d) {
    constexpr std::array kTournaments{"adjacent", "all"}, kTournamentGains{"vus", "local"};
    TreeRankOptions options;
    options.leafrank = leafrank_options(nb::cast<nb::dict>(d["leafrank"]));
    options.tournament = choice_of<Tournament>(d["tournament"], "tournament", kTournaments);
    options.tournament_gain =
        choice_of<TournamentGain>(d["tournament_gain"], "tournament gain", kTournamentGains);
    options.max_depth = nb::cast<std::int32_t>(d["max_depth"]);
    options.min_weight_leaf = nb::cast<double>(d["min_weight_leaf"]);
    options.min_weight_split = nb::cast<double>(d["min_weight_split"]);
    options.min_auc_gain = nb::cast<double>(d["min_auc_gain"]);
    options.max_features = nb::cast<std::int32_t>(d["max_features"]);
    options.seed = nb::cast<std::uint64_t>(d["seed"]);
    options.first_tree = nb::cast<std::uint64_t>(d["first_tree"]);
    options.focus = focus_of(nb::cast<nb::tuple>(d["focus"]));
    return options;
}

// Checks for pending signals and reports the progress to Python. An error, if any, stays set in
// this thread until it is raised.
inline ProgressMonitor::Report reporter(const nb::object& progress) {
    return [progress](double done) {
        nb::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals() != 0) return true;
        if (progress.is_none()) return false;
        try {
            progress(done);
        } catch (nb::python_error& error) {
            error.restore();
            return true;
        }
        return false;
    };
}

// Calls work() without the GIL. If a signal or an error in `progress` has interrupted it, that is
// raised in the caller.
template <class Work>
void release_gil(const Work& work) {
    try {
        nb::gil_scoped_release release;
        work();
    } catch (const Interrupted&) {
        if (PyErr_Occurred()) throw nb::python_error();
        throw;
    }
}

// Calls work(pool, monitor) without the GIL.
template <class Work>
void run_released(std::size_t n_jobs, const nb::object& progress, const Work& work) {
    ProgressMonitor monitor(reporter(progress));  // holds a Python object: lives under the GIL
    release_gil([&] {
        ThreadPool pool(n_jobs, &monitor);
        work(pool, monitor);
    });
}
template <class Work>
void run_released(std::size_t n_jobs, const Work& work) {
    run_released(n_jobs, nb::none(), [&](ThreadPool& pool, ProgressMonitor&) { work(pool); });
}

}  // namespace treerank
