#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "bindings/arrays.hpp"
#include "bindings/options.hpp"
#include "core/data/types.hpp"
#include "core/prune/cost_complexity.hpp"
#include "core/prune/held_out_path.hpp"
#include "core/prune/ranking_quality.hpp"

namespace treerank {

namespace {

using Cube = nb::ndarray<const double, nb::numpy, nb::ndim<3>, nb::c_contig>;

// Checks that children come after their parent and collapse no later.
void check_nested(const HeldOutTree& tree) {
    const auto n = static_cast<std::int32_t>(tree.n_cells);
    const auto below = [&](std::int32_t child, std::int32_t cell) {
        return child > cell && child < n && tree.collapsed_at[child] <= tree.collapsed_at[cell];
    };
    for (std::int32_t cell = 0; cell < n; ++cell) {
        const bool leaf = tree.left[cell] < 0 && tree.collapsed_at[cell] == 0;
        const bool inner = tree.collapsed_at[cell] > 0 && below(tree.left[cell], cell) &&
                           below(tree.right[cell], cell);
        if (!leaf && !inner) throw nb::value_error("held_out_paths: subtrees are not nested");
    }
}

HeldOutTree held_out_tree(const Vector<std::int32_t>& left, const Vector<std::int32_t>& right,
                          const Vector<std::int32_t>& collapsed_at, const Matrix<double>& weight) {
    const std::size_t n = left.size(), n_classes = weight.shape(1);
    if (n == 0 || right.size() != n || collapsed_at.size() != n || weight.shape(0) != n ||
        n_classes < 2 || n_classes > kMaxClasses)
        throw nb::value_error("held_out_paths: arrays of different lengths");
    HeldOutTree tree{left.data(),
                     right.data(),
                     collapsed_at.data(),
                     weight.data(),
                     n,
                     n_classes,
                     static_cast<std::size_t>(collapsed_at.data()[0]) + 1};
    check_nested(tree);
    return tree;
}

nb::list py_held_out_paths(const std::vector<Vector<std::int32_t>>& left,
                           const std::vector<Vector<std::int32_t>>& right,
                           const std::vector<Vector<std::int32_t>>& collapsed_at,
                           const std::vector<Matrix<double>>& weight,
                           const std::vector<Matrix<double>>& value, const std::vector<Cube>& share,
                           std::size_t n_jobs, const nb::tuple& focus) {
    const std::size_t n = left.size();
    if (right.size() != n || collapsed_at.size() != n || weight.size() != n || value.size() != n ||
        share.size() != n)
        throw nb::value_error("held_out_paths: lists of different lengths");
    std::vector<HeldOutTree> trees;
    std::vector<CellScores> scores;
    for (std::size_t t = 0; t < n; ++t) {
        trees.push_back(held_out_tree(left[t], right[t], collapsed_at[t], weight[t]));
        const std::size_t n_ways = value[t].shape(0), n_cells = trees[t].n_cells;
        const bool with_shares = share[t].shape(0) > 0;
        if (value[t].shape(1) != n_cells ||
            (with_shares && (share[t].shape(0) != n_ways || share[t].shape(1) != n_cells ||
                             share[t].shape(2) != trees[t].n_classes - 1)))
            throw nb::value_error("held_out_paths: scores of the wrong shape");
        scores.push_back({value[t].data(), with_shares ? share[t].data() : nullptr, n_ways});
    }
    std::vector<PathWorth> worth;
    const Focus counts = focus_of(focus);
    run_released(n_jobs,
                 [&](ThreadPool& pool) { worth = held_out_paths(trees, scores, counts, pool); });
    nb::list result;
    for (PathWorth& one : worth)
        result.append(nb::make_tuple(to_numpy(std::move(one.auc)), to_numpy(std::move(one.brier))));
    return result;
}

nb::list py_cost_complexities(const std::vector<Vector<std::int32_t>>& left,
                              const std::vector<Vector<std::int32_t>>& right,
                              const std::vector<Vector<double>>& gain, std::size_t n_jobs) {
    const std::size_t n = left.size();
    bool fits = right.size() == n && gain.size() == n;
    for (std::size_t t = 0; fits && t < n; ++t)
        fits = left[t].size() == right[t].size() && left[t].size() == gain[t].size();
    if (!fits) throw nb::value_error("cost_complexities: arrays of different lengths");
    std::vector<PruningSequence> sequences(n);
    run_released(n_jobs, [&](ThreadPool& pool) {
        pool.run(n, [&](std::size_t t) {
            sequences[t] =
                cost_complexity(left[t].data(), right[t].data(), gain[t].data(), left[t].size());
        });
    });
    nb::list result;
    for (PruningSequence& sequence : sequences)
        result.append(nb::make_tuple(to_numpy(std::move(sequence.lambdas)),
                                     to_numpy(std::move(sequence.collapsed_at))));
    return result;
}

auto py_ranking_quality(const Matrix<double>& scores, const Vector<std::uint8_t>& labels,
                        const Units& units, std::size_t n_jobs, const nb::tuple& focus) {
    const Focus parsed = focus_of(focus);
    const std::size_t n = scores.shape(0);
    if (labels.size() != n || (units && units->size() != n))
        throw nb::value_error("ranking_quality: arrays of different lengths");
    if (std::any_of(scores.data(), scores.data() + scores.size(),
                    [](double score) { return std::isnan(score); }))
        throw nb::value_error("ranking_quality: NaN among the scores");
    std::vector<double> quality(scores.shape(1));
    const ScoredRows rows{scores.data(), n, quality.size(), labels.data(), data_of(units)};
    run_released(n_jobs,
                 [&](ThreadPool& pool) { ranking_quality(rows, parsed, pool, quality.data()); });
    return to_numpy(std::move(quality));
}

}  // namespace

void bind_prune(nb::module_& m) {
    m.def(
        "cost_complexity",
        [](const Vector<std::int32_t>& left, const Vector<std::int32_t>& right,
           const Vector<double>& gain) {
            const nb::list found = py_cost_complexities({left}, {right}, {gain}, 1);
            return nb::cast<nb::tuple>(found[0]);
        },
        nb::arg("left").noconvert(), nb::arg("right").noconvert(), nb::arg("gain").noconvert(),
        "Returns the nested subtrees: (lambdas, the step at which each cell collapses).");
    m.def("cost_complexities", &py_cost_complexities, nb::arg("left").noconvert(),
          nb::arg("right").noconvert(), nb::arg("gain").noconvert(), nb::arg("n_jobs"),
          "The same for several trees.");
    m.def(
        "penalised_subtree",
        [](const Vector<std::int32_t>& left, const Vector<std::int32_t>& right,
           const Vector<double>& gain, const Vector<double>& penalty) {
            if (left.size() != right.size() || left.size() != gain.size() || penalty.size() == 0)
                throw nb::value_error("penalised_subtree: arrays of different lengths");
            PenalisedSubtree subtree =
                penalised_subtree(left.data(), right.data(), gain.data(), left.size(),
                                  penalty.data(), penalty.size());
            return nb::make_tuple(to_numpy(std::move(subtree.gain)),
                                  to_numpy(std::move(subtree.split)));
        },
        nb::arg("left").noconvert(), nb::arg("right").noconvert(), nb::arg("gain").noconvert(),
        nb::arg("penalty").noconvert(),
        "Returns the subtree that maximises gain - penalty[leaves - 1]: (largest gain by number of "
        "leaves, whether each cell is split).");
    m.def(
        "vus_complexity",
        [](const Vector<std::int32_t>& left, const Vector<std::int32_t>& right,
           const Matrix<double>& weight) {
            if (left.size() != right.size() || left.size() != weight.shape(0) ||
                weight.shape(1) > kMaxClasses)
                throw nb::value_error("vus_complexity: arrays of different lengths");
            PruningSequence sequence = vus_complexity(left.data(), right.data(), weight.data(),
                                                      weight.shape(0), weight.shape(1));
            return nb::make_tuple(to_numpy(std::move(sequence.lambdas)),
                                  to_numpy(std::move(sequence.collapsed_at)));
        },
        nb::arg("left").noconvert(), nb::arg("right").noconvert(), nb::arg("weight").noconvert(),
        "Returns the nested subtrees by VUS: (lambdas, the step at which each cell collapses).");
    m.def("ranking_quality", &py_ranking_quality, nb::arg("scores").noconvert(),
          nb::arg("labels").noconvert(), nb::arg("units").noconvert().none(), nb::arg("n_jobs"),
          nb::arg("focus"),
          "Returns the AUC of each column of scores (rows x columns, without NaN), or with a focus "
          "the local or partial AUC. Labels are 0 and 1; both classes must have weight.");
    m.def("held_out_paths", &py_held_out_paths, nb::arg("left").noconvert(),
          nb::arg("right").noconvert(), nb::arg("collapsed_at").noconvert(),
          nb::arg("weight").noconvert(), nb::arg("value").noconvert(), nb::arg("share").noconvert(),
          nb::arg("n_jobs"), nb::arg("focus"),
          "Evaluates the nested subtrees of each tree on the rows counted in `weight` (cells x "
          "classes), for several ways to score its cells (`value`: ways x cells; `share`: ways x "
          "cells x (classes - 1), or without ways): (AUC or VUS, Brier score), each ways x "
          "subtrees. `focus`: \"all\", \"rows\" or \"negatives\", and two rates.");
}

}  // namespace treerank
