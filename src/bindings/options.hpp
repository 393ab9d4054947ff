// How options, features and progress cross from Python to the core.
#pragma once

#include <optional>
#include <string>

#include "bindings/arrays.hpp"
#include "core/data/types.hpp"
#include "core/split/gain.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

inline Features make_features(const Vector<std::int32_t>& n_codes,
                              const Vector<std::uint8_t>& categorical,
                              const Vector<std::int8_t>& monotonic, std::size_t n_features) {
    if (n_codes.size() != n_features || categorical.size() != n_features ||
        monotonic.size() != n_features)
        throw nb::value_error("features: one entry a feature expected");
    Features features;
    features.n_codes.assign(n_codes.data(), n_codes.data() + n_features);
    features.categorical.assign(categorical.data(), categorical.data() + n_features);
    features.monotonic.assign(monotonic.data(), monotonic.data() + n_features);
    features.offset = offsets_of(features.n_codes);
    return features;
}

// Class numbers below n_classes, one per row; the core indexes arrays by them.
inline void check_classes(const Vector<std::uint8_t>& labels, std::size_t n_classes) {
    if (n_classes < 2 || n_classes > kMaxClasses)
        throw nb::value_error("labels: from 2 to 32 classes expected");
    for (std::size_t i = 0; i < labels.size(); ++i)
        if (labels.data()[i] >= n_classes) throw nb::value_error("labels: no such class");
}

// Means and upper ends of all codes, feature after feature.
inline void set_code_values(Features& features, const Matrix<double>& values) {
    const std::size_t n = features.histogram_size();
    if (values.shape(0) != 2 || values.shape(1) != n)
        throw nb::value_error("code_values: a mean and an upper end for each code expected");
    features.code_mean.assign(values.data(), values.data() + n);
    features.code_upper.assign(values.data() + n, values.data() + 2 * n);
}

inline Features all_features(const Vector<std::int32_t>& n_codes,
                             const Vector<std::uint8_t>& categorical,
                             const Vector<std::int8_t>& monotonic,
                             const std::optional<Matrix<double>>& code_values) {
    Features features = make_features(n_codes, categorical, monotonic, n_codes.size());
    if (code_values) set_code_values(features, *code_values);
    return features;
}

inline Criterion criterion_of(const std::string& name) {
    for (std::size_t i = 0; i < kCriterionNames.size(); ++i)
        if (name == kCriterionNames[i]) return static_cast<Criterion>(i);
    throw nb::value_error(("unknown criterion: " + name).c_str());
}

inline LeafRankOptions leafrank_options(const nb::dict& d) {
    LeafRankOptions options;
    options.criterion = criterion_of(nb::cast<std::string>(d["criterion"]));
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

inline Tournament tournament_of(const std::string& name) {
    if (name == "adjacent") return Tournament::kAdjacent;
    if (name == "all") return Tournament::kAll;
    throw nb::value_error(("unknown tournament: " + name).c_str());
}

inline TournamentGain tournament_gain_of(const std::string& name) {
    if (name == "vus") return TournamentGain::kVus;
    if (name == "local") return TournamentGain::kLocal;
    throw nb::value_error(("unknown tournament gain: " + name).c_str());
}

// ("all" | "rows" | "negatives", from, to)
inline Focus focus_of(const nb::tuple& given) {
    if (given.size() != 3) throw nb::value_error("focus: a kind and two rates expected");
    Focus focus;
    const auto name = nb::cast<std::string>(given[0]);
    if (name == "rows")
        focus.of = Focus::Of::kRows;
    else if (name == "negatives")
        focus.of = Focus::Of::kNegatives;
    else if (name != "all")
        throw nb::value_error(("unknown focus: " + name).c_str());
    focus.low = nb::cast<double>(given[1]);
    focus.high = nb::cast<double>(given[2]);
    if (!(0 <= focus.low && focus.low < focus.high && focus.high <= 1))
        throw nb::value_error("focus: rates from 0 to 1 expected");
    return focus;
}

inline TreeRankOptions treerank_options(const nb::dict& d) {
    TreeRankOptions options;
    options.leafrank = leafrank_options(nb::cast<nb::dict>(d["leafrank"]));
    options.tournament = tournament_of(nb::cast<std::string>(d["tournament"]));
    options.tournament_gain = tournament_gain_of(nb::cast<std::string>(d["tournament_gain"]));
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

// Asks Python for pending signals and shows it the progress. The error, if any,
// stays set in this thread until it is raised.
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

// Calls work(pool, monitor) without Python's lock. A signal, or an error in `progress`, ends it,
// and is raised in the caller.
template <class Work>
void run_released(std::size_t n_jobs, const nb::object& progress, const Work& work) {
    try {
        ProgressMonitor monitor(
            reporter(progress));  // holds a Python object: made and ended under the lock
        nb::gil_scoped_release release;
        ThreadPool pool(n_jobs, &monitor);
        work(pool, monitor);
    } catch (const Interrupted&) {
        if (PyErr_Occurred()) throw nb::python_error();
        throw;
    }
}
template <class Work>
void run_released(std::size_t n_jobs, const Work& work) {
    run_released(n_jobs, nb::none(), [&](ThreadPool& pool, ProgressMonitor&) { work(pool); });
}

}  // namespace treerank
