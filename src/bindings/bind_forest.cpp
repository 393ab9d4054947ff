#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "bindings/arrays.hpp"
#include "bindings/forest_view.hpp"
#include "bindings/options.hpp"
#include "bindings/trees.hpp"
#include "core/grow/level_growth.hpp"
#include "core/tree/forest.hpp"
#include "core/tree/used_cuts.hpp"
#include "core/util/unfilled.hpp"

namespace treerank {

namespace {

constexpr std::array kTreeValues{"path", "rank", "monotone"};
constexpr std::int64_t kMaxCuts = std::int64_t{1} << 17;  // codes take 16 bits
constexpr std::size_t kFewRows = 16;  // rows for which walking is faster than checking all slots

ForestOptions forest_options(const nb::dict& d) {
    ForestOptions options;
    for (const auto& kind : nb::cast<nb::list>(d["kinds"]))
        options.kinds.push_back(treerank_options(nb::cast<nb::dict>(kind)));
    const auto kind_of = nb::cast<Vector<std::uint8_t>>(d["kind_of"]);
    options.kind_of.assign(kind_of.data(), kind_of.data() + kind_of.size());
    for (const std::uint8_t kind : options.kind_of)
        if (kind >= options.kinds.size()) throw nb::value_error("forest: no such kind of tree");
    options.first_tree = nb::cast<std::size_t>(d["first_tree"]);
    options.sampling = sampling_of(nb::cast<nb::dict>(d["sampling"]));
    options.value = choice_of<TreeValue>(d["value"], "value", kTreeValues);
    options.shrinkages = nb::cast<std::vector<double>>(d["shrinkages"]);
    if (options.shrinkages.empty()) throw nb::value_error("forest: no shrinkage");
    options.scale = nb::cast<double>(d["scale"]);
    return options;
}

// Concatenates the arrays of the trees and renumbers their category sets. Steps are ordered by set
// of values, then by tree.
nb::tuple to_arrays(std::vector<ForestTree>&& trees, std::size_t n_jobs) {
    std::vector<std::int64_t> starts{0};
    std::vector<CategorySet> sets;
    std::vector<std::size_t> first_set;
    std::vector<double> importance;
    bool categorical = false;
    for (const ForestTree& tree : trees) {
        starts.push_back(starts.back() + static_cast<std::int64_t>(tree.slots.size()));
        categorical = categorical || !tree.set_of.empty();
        first_set.push_back(sets.size());
        sets.insert(sets.end(), tree.category_sets.begin(), tree.category_sets.end());
        importance.insert(importance.end(), tree.importance.begin(), tree.importance.end());
    }
    const auto n_slots = static_cast<std::size_t>(starts.back());
    const std::size_t n_values = trees[0].step.size() / trees[0].slots.size();
    // Filled by all threads, each with its own trees, so that page faults are spread over the
    // threads.
    Unfilled<Slot> slots(n_slots);
    Unfilled<float> step(n_slots * n_values), weight(n_slots), left_share(n_slots);
    Unfilled<std::int32_t> set_of(categorical ? n_slots : 0);
    run_released(n_jobs, [&](ThreadPool& pool) {
        pool.run(trees.size(), [&](std::size_t t) {
            ForestTree& tree = trees[t];
            const auto first = static_cast<std::size_t>(starts[t]);
            const std::size_t n = tree.slots.size();
            std::copy_n(tree.slots.begin(), n, slots.data() + first);
            std::copy_n(tree.weight.begin(), n, weight.data() + first);
            std::copy_n(tree.left_share.begin(), n, left_share.data() + first);
            for (std::size_t v = 0; v < n_values; ++v)
                std::copy_n(tree.step.begin() + static_cast<std::ptrdiff_t>(v * n), n,
                            step.data() + v * n_slots + first);
            for (std::size_t s = 0; categorical && s < n; ++s) {
                const bool is_set = !tree.set_of.empty() && (tree.slots[s].next & kCategorical);
                set_of[first + s] =
                    is_set ? tree.set_of[s] + static_cast<std::int32_t>(first_set[t]) : -1;
            }
            tree = ForestTree{};
        });
    });
    return nb::make_tuple(to_numpy(std::move(starts)), to_records(std::move(slots)),
                          to_numpy(std::move(step)), to_numpy(std::move(weight)),
                          to_numpy(std::move(set_of)), to_records(std::move(sets)),
                          to_numpy(std::move(importance)), to_numpy(std::move(left_share)));
}

// Trees in the form that a forest stores, collected in batches.
struct PackedTrees {
    std::vector<ForestTree> trees;
};

void pack_growths(PackedTrees& packed, const std::vector<LevelGrowth*>& growths,
                  const nb::dict& options, std::size_t n_features, std::size_t n_jobs) {
    const ForestOptions parsed = forest_options(options);
    const std::size_t first = packed.trees.size();
    packed.trees.resize(first + growths.size());
    run_released(n_jobs, [&](ThreadPool& pool) {
        pool.run(growths.size(), [&](std::size_t i) {
            packed.trees[first + i] = keep_tree(growths[i]->take_tree(), parsed, n_features);
        });
    });
}

nb::tuple packed_arrays(PackedTrees& packed, std::size_t n_jobs) {
    if (packed.trees.empty()) throw nb::value_error("arrays: no trees");
    return to_arrays(std::move(packed.trees), n_jobs);
}

template <class Code>
nb::list py_grow_forests(const Matrix<Code>& codes, const Vector<std::uint8_t>& labels,
                         const Units& weights, const Vector<std::int32_t>& n_codes,
                         const Vector<std::uint8_t>& categorical,
                         const Vector<std::int8_t>& monotonic, const nb::list& options,
                         std::size_t n_jobs, const nb::object& progress, std::size_t n_classes) {
    const Table<Code> table =
        table_of(codes, labels, n_classes, weights, make_features(n_codes, categorical, monotonic));
    std::vector<ForestOptions> parsed;
    for (const auto& one : options) parsed.push_back(forest_options(nb::cast<nb::dict>(one)));
    for (const ForestOptions& one : parsed) {
        if (one.kind_of.empty()) throw nb::value_error("grow_forests: no trees");
        if (one.sampling.n_draws > table.codes.rows)
            throw nb::value_error("grow_forests: more draws than rows");
    }
    std::vector<std::vector<ForestTree>> forests;
    run_released(n_jobs, progress, [&](ThreadPool& pool, ProgressMonitor& monitor) {
        forests = grow_forests<Code>(table, parsed, pool, monitor);
    });
    nb::list result;
    for (std::vector<ForestTree>& trees : forests)
        result.append(to_arrays(std::move(trees), n_jobs));
    return result;
}

nb::tuple py_bake_shrinkage(const Vector<std::int64_t>& starts, const Slots& slots,
                            const Vector<float>& step, const Vector<float>& weight,
                            const Vector<std::int32_t>& set_of, const Records& sets, double lambda,
                            float scale, std::size_t n_jobs) {
    const ForestView view = unchecked_view(starts, slots, &step, &weight, set_of, sets, nullptr);
    Unfilled<float> baked(step.size());
    std::vector<std::uint8_t> at_end(view.n_trees);
    run_released(n_jobs, [&](ThreadPool& pool) {
        check_slots(view, kMaxFeatures, &pool);
        bake_shrinkage(view, lambda, scale, pool, baked.data(), at_end.data());
    });
    return nb::make_tuple(to_numpy(std::move(baked)), to_numpy(std::move(at_end)));
}

// Returns where the cuts of each feature start in the list of all cuts.
FirstCuts first_cuts(const Vector<std::int64_t>& n_cuts) {
    FirstCuts first{0};
    for (std::size_t f = 0; f < n_cuts.size(); ++f) {
        const std::int64_t n = n_cuts.data()[f];
        if (n < 0 || n > kMaxCuts) throw nb::value_error("cuts: a feature has too many cuts");
        first.push_back(first.back() + static_cast<std::size_t>(n));
    }
    return first;
}

auto py_used_cuts(const Vector<std::int64_t>& starts, const Slots& slots,
                  const Vector<std::int64_t>& n_cuts, std::size_t n_jobs) {
    const ForestView view = slots_alone(starts, slots);
    const FirstCuts first = first_cuts(n_cuts);
    std::vector<std::uint8_t> used;
    run_released(n_jobs, [&](ThreadPool& pool) { used = used_cuts(view, first, pool); });
    if (used.size() != first.back()) raise_damaged();
    return to_numpy(std::move(used));
}

auto py_renumber_cuts(const Vector<std::int64_t>& starts, const Slots& slots,
                      const Vector<std::int64_t>& n_cuts, const Vector<std::int32_t>& new_cut,
                      std::size_t n_jobs) {
    const ForestView view = slots_alone(starts, slots);
    const FirstCuts first = first_cuts(n_cuts);
    const std::vector<std::int32_t> cuts = to_vector(new_cut);
    if (cuts.size() != first.back())
        throw nb::value_error("renumber_cuts: one new number per cut expected");
    Unfilled<Slot> renumbered(slots.shape(0));
    run_released(n_jobs, [&](ThreadPool& pool) {
        if (!renumber_cuts(view, first, cuts, pool, renumbered.data())) raise_damaged();
    });
    return to_records(std::move(renumbered));
}

template <class Code>
auto py_score(const Vector<std::int64_t>& starts, const Slots& slots, const Vector<float>& step,
              const Vector<std::int32_t>& set_of, const Records& sets,
              const Vector<std::uint8_t>& at_end, const Matrix<Code>& codes, std::size_t n_jobs) {
    std::vector<double> sums(codes.shape(1));
    const ForestView view = unchecked_view(starts, slots, &step, nullptr, set_of, sets, &at_end);
    if (codes.shape(1) <= kFewRows) {
        if (!add_scores_checked(view, code_matrix(codes), sums.data())) raise_damaged();
        return to_numpy(std::move(sums));
    }
    run_released(n_jobs, [&](ThreadPool& pool) {
        check_slots(view, codes.shape(0), &pool);
        add_scores(view, code_matrix(codes), pool, sums.data());
    });
    return to_numpy(std::move(sums));
}

// Computes one number per tree and row.
template <class Code, class Number,
          void (*Walk)(const ForestView&, const CodeMatrix<Code>&, ThreadPool&, Number*)>
auto py_each(const Vector<std::int64_t>& starts, const Slots& slots, const Vector<float>& step,
             const Vector<std::int32_t>& set_of, const Records& sets,
             const Vector<std::uint8_t>& at_end, const Matrix<Code>& codes, std::size_t n_jobs) {
    const ForestView view = unchecked_view(starts, slots, &step, nullptr, set_of, sets, &at_end);
    std::vector<Number> numbers(view.n_trees * codes.shape(1));
    run_released(n_jobs, [&](ThreadPool& pool) {
        check_slots(view, codes.shape(0), &pool);
        Walk(view, code_matrix(codes), pool, numbers.data());
    });
    return to_numpy(std::move(numbers));
}

// Returns the requested row indices, checked against the rows that are here.
std::vector<std::uint32_t> asked_rows(const Vector<std::uint32_t>& rows, const DrawnFrom& from,
                                      std::size_t n_here) {
    std::vector<std::uint32_t> asked(rows.data(), rows.data() + rows.size());
    for (const std::uint32_t row : asked)
        if (row >= n_here) throw nb::value_error("score_out_of_bag: no such row");
    if (from.sampling.n_draws < 1 || from.sampling.n_draws > from.n_all ||
        from.first + n_here > from.n_all)
        throw nb::value_error("score_out_of_bag: rows or draws out of range");
    return asked;
}

template <class Code>
nb::tuple py_score_out_of_bag(const Vector<std::int64_t>& starts, const Slots& slots,
                              const Vector<float>& step, const Vector<float>& weight,
                              const Vector<std::int32_t>& set_of, const Records& sets,
                              const Matrix<Code>& codes, const nb::dict& sampling,
                              const Vector<std::uint32_t>& rows, const std::vector<float>& lambdas,
                              std::size_t n_jobs, const nb::object& progress, std::size_t n_all,
                              std::size_t first, std::size_t first_tree) {
    const ForestView view = unchecked_view(starts, slots, &step, &weight, set_of, sets, nullptr);
    const DrawnFrom parsed{sampling_of(sampling), n_all, first, first_tree};
    const auto chosen = asked_rows(rows, parsed, codes.shape(1));
    if (lambdas.empty() || lambdas.size() > kMaxLambdas)
        throw nb::value_error("score_out_of_bag: no lambda, or too many");
    std::vector<double> sums(chosen.size() * lambdas.size());
    std::vector<std::int32_t> n_trees(chosen.size());
    run_released(n_jobs, progress, [&](ThreadPool& pool, ProgressMonitor&) {
        check_slots(view, codes.shape(0), &pool);
        score_out_of_bag(view, code_matrix(codes), parsed, chosen, lambdas, pool, sums.data(),
                         n_trees.data());
    });
    return nb::make_tuple(to_numpy(std::move(sums)), to_numpy(std::move(n_trees)));
}

template <class Code>
nb::tuple py_score_out_of_bag_by_feature(const Vector<std::int64_t>& starts, const Slots& slots,
                                         const Vector<float>& step, const Vector<float>& weight,
                                         const Vector<std::int32_t>& set_of, const Records& sets,
                                         const Matrix<Code>& codes, const nb::dict& sampling,
                                         const Vector<std::uint32_t>& rows, float lambda,
                                         std::size_t n_jobs, std::size_t n_all, std::size_t first,
                                         std::size_t first_tree) {
    const ForestView view = unchecked_view(starts, slots, &step, &weight, set_of, sets, nullptr);
    const DrawnFrom parsed{sampling_of(sampling), n_all, first, first_tree};
    const auto chosen = asked_rows(rows, parsed, codes.shape(1));
    std::vector<double> sums(chosen.size() * codes.shape(0));
    std::vector<std::int32_t> n_trees(chosen.size());
    run_released(n_jobs, [&](ThreadPool& pool) {
        check_slots(view, codes.shape(0), &pool);
        score_out_of_bag_by_feature(view, code_matrix(codes), parsed, chosen, lambda, pool,
                                    sums.data(), n_trees.data());
    });
    return nb::make_tuple(to_numpy(std::move(sums)), to_numpy(std::move(n_trees)));
}

template <class Code>
void bind_forest_for(nb::module_& m) {
    m.def("grow_forests", &py_grow_forests<Code>, nb::arg("codes").noconvert(),
          nb::arg("labels").noconvert(), nb::arg("weights").noconvert().none(),
          nb::arg("n_codes").noconvert(), nb::arg("categorical").noconvert(),
          nb::arg("monotonic").noconvert(), nb::arg("options"), nb::arg("n_jobs"),
          nb::arg("progress").none(), nb::arg("n_classes") = 2,
          "Grows forests on resampled rows, one for each of the options: (starts, slots, step, "
          "weight, set of each slot, category sets, importance of each feature in each tree, share "
          "that each slot sends left).");
    const auto def = [&m](const char* name, auto function, const char* doc) {
        m.def(name, function, nb::arg("starts").noconvert(), nb::arg("slots").noconvert(),
              nb::arg("step").noconvert(), nb::arg("set_of").noconvert(),
              nb::arg("category_sets").noconvert(), nb::arg("at_end").noconvert(),
              nb::arg("codes").noconvert(), nb::arg("n_jobs"), doc);
    };
    def("score_forest", &py_score<Code>, "Returns the sum over the trees for each row.");
    def("score_forest_each", &py_each<Code, float, score_each<Code>>,
        "Returns the value of each row in each tree (trees x rows, flat).");
    def("apply_forest", &py_each<Code, std::int32_t, apply_each<Code>>,
        "Returns the slot in which each row ends in each tree (trees x rows, flat).");
    m.def("score_out_of_bag", &py_score_out_of_bag<Code>, nb::arg("starts").noconvert(),
          nb::arg("slots").noconvert(), nb::arg("step").noconvert(), nb::arg("weight").noconvert(),
          nb::arg("set_of").noconvert(), nb::arg("category_sets").noconvert(),
          nb::arg("codes").noconvert(), nb::arg("sampling"), nb::arg("rows").noconvert(),
          nb::arg("lambdas"), nb::arg("n_jobs"), nb::arg("progress").none(), nb::arg("n_all"),
          nb::arg("first"), nb::arg("first_tree"),
          "Returns the sums over the trees that did not draw a row (rows x lambdas, flat), and the "
          "number of those trees.");
    m.def("score_out_of_bag_by_feature", &py_score_out_of_bag_by_feature<Code>,
          nb::arg("starts").noconvert(), nb::arg("slots").noconvert(), nb::arg("step").noconvert(),
          nb::arg("weight").noconvert(), nb::arg("set_of").noconvert(),
          nb::arg("category_sets").noconvert(), nb::arg("codes").noconvert(), nb::arg("sampling"),
          nb::arg("rows").noconvert(), nb::arg("shrinkage"), nb::arg("n_jobs"), nb::arg("n_all"),
          nb::arg("first"), nb::arg("first_tree"),
          "The same for one amount of shrinkage, divided by the feature of each step (rows x "
          "features).");
}

}  // namespace

void bind_forest(nb::module_& m) {
    bind_forest_for<std::uint8_t>(m);
    bind_forest_for<std::uint16_t>(m);
    m.def("bake_shrinkage", &py_bake_shrinkage, nb::arg("starts").noconvert(),
          nb::arg("slots").noconvert(), nb::arg("step").noconvert(), nb::arg("weight").noconvert(),
          nb::arg("set_of").noconvert(), nb::arg("category_sets").noconvert(), nb::arg("shrinkage"),
          nb::arg("scale"), nb::arg("n_jobs"),
          "Returns one number per slot and, for each tree, whether only the slot at the end of a "
          "walk counts.");
    m.def(
        "used_cuts", &py_used_cuts, nb::arg("starts").noconvert(), nb::arg("slots").noconvert(),
        nb::arg("n_cuts").noconvert(), nb::arg("n_jobs"),
        "Returns whether each cut of each feature is used by a numeric test, feature by feature.");
    m.def("renumber_cuts", &py_renumber_cuts, nb::arg("starts").noconvert(),
          nb::arg("slots").noconvert(), nb::arg("n_cuts").noconvert(),
          nb::arg("new_cut").noconvert(), nb::arg("n_jobs"),
          "Returns the slots with a new number for each cut.");
    m.def(
        "draw_counts",
        [](const nb::dict& sampling, std::size_t tree, std::size_t n_all, std::size_t first,
           std::size_t n) {
            const Sampling parsed = sampling_of(sampling);
            if (parsed.n_draws < 1 || parsed.n_draws > n_all || first + n > n_all ||
                (!parsed.replace && n_all >> 32 != 0))
                throw nb::value_error("draw_counts: no such rows, or no such draws");
            std::vector<std::uint8_t> counts;
            {
                nb::gil_scoped_release release;
                counts = draw_counts(parsed, tree, n_all, first, n);
            }
            return to_numpy(std::move(counts));
        },
        nb::arg("sampling"), nb::arg("tree"), nb::arg("n_all"), nb::arg("first"), nb::arg("n"),
        "Returns how often each of the given rows was drawn for a tree.");
    m.def(
        "pack_forest",
        [](const nb::list& trees, std::size_t n_classes, const nb::dict& options,
           std::size_t n_features) {
            const ForestOptions parsed = forest_options(options);
            std::vector<ForestTree> kept;
            for (const auto& tree : trees)
                kept.push_back(
                    keep_tree(rank_tree(nb::cast<nb::tuple>(tree), n_classes, n_features), parsed,
                              n_features));
            if (kept.empty()) throw nb::value_error("pack_forest: no trees");
            return to_arrays(std::move(kept), 1);
        },
        nb::arg("trees"), nb::arg("n_classes"), nb::arg("options"), nb::arg("n_features"),
        "Converts trees that were grown one by one to the arrays of a forest.");
    nb::class_<PackedTrees>(m, "PackedTrees",
                            "Trees in the form that a forest stores, collected in batches.")
        .def(nb::init<>())
        .def("add", &pack_growths, nb::arg("growths"), nb::arg("options"), nb::arg("n_features"),
             nb::arg("n_jobs"), "Adds finished trees; their growths cannot be used afterwards.")
        .def("arrays", &packed_arrays, nb::arg("n_jobs"),
             "Returns all trees as the arrays of a forest.");
    m.attr("ROWS_PER_BLOCK") = kRowsPerBlock;
}

}  // namespace treerank
