#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>

#include "bindings/arrays.hpp"
#include "bindings/options.hpp"
#include "bindings/trees.hpp"
#include "core/data/random.hpp"
#include "core/grow/level_growth.hpp"

namespace treerank {

namespace {

void make_level_growth(LevelGrowth* self, const Vector<std::int32_t>& n_codes,
                       const Vector<std::uint8_t>& categorical,
                       const Vector<std::int8_t>& monotonic, const nb::dict& options,
                       const Vector<double>& total, std::size_t tree, const CodeValues& code_values,
                       double gathered_weight, std::size_t histogram_bytes, bool gathers_cells) {
    if (total.size() < 2 || total.size() > kMaxClasses)
        throw nb::value_error("total: from 2 to 32 classes expected");
    const TreeRankOptions parsed = treerank_options(options);
    new (self) LevelGrowth(make_features(n_codes, categorical, monotonic, code_values), parsed,
                           to_vector(total), key_of(parsed.seed, tree), gathered_weight,
                           histogram_bytes, gathers_cells);
}

void give_packed(LevelGrowth& growth, const Matrix<std::uint64_t>& counts) {
    std::vector<WideCount> wide(counts.size());
    std::transform(counts.data(), counts.data() + counts.size(), wide.begin(), widened);
    if (counts.shape(1) != growth.features().histogram_size())
        throw nb::value_error("give: histograms of another size");
    growth.frontier().give(wide.data(), counts.shape(0));
}

void give_wide(LevelGrowth& growth, const Matrix<std::int64_t>& counts) {
    if (counts.shape(1) != 2 * growth.features().histogram_size())
        throw nb::value_error("give: histograms of another size");
    growth.frontier().give(reinterpret_cast<const WideCount*>(counts.data()), counts.shape(0));
}

void finish_level(LevelGrowth& growth, const Units& weights) {
    growth.finish_level({data_of(weights), weights ? weights->size() : 0});
}

// Grafts the trials of several trees whose tests were found elsewhere. With two classes, this
// finishes the level.
void graft_splits(const std::vector<LevelGrowth*>& growths, const std::vector<Records>& records,
                  const Records& sets, std::size_t n_jobs) {
    if (growths.size() != records.size() || sets.shape(1) != sizeof(CategorySet))
        throw nb::value_error("graft_splits: arrays that do not fit together");
    for (const Records& some : records)
        if (some.shape(1) != sizeof(SplitRecord))
            throw nb::value_error("graft_splits: records of another size");
    run_released(n_jobs, [&](ThreadPool& pool) {
        pool.run(growths.size(), [&](std::size_t i) {
            growths[i]->frontier().graft_splits(
                {reinterpret_cast<const SplitRecord*>(records[i].data()), records[i].shape(0),
                 reinterpret_cast<const CategorySet*>(sets.data()), sets.shape(0)});
            if (growths[i]->n_classes() == 2) growths[i]->finish_level({});
        });
    });
}

// (cells, starts, nodes, category sets)
nb::tuple to_tuple(GrownTrials&& grown) {
    return nb::make_tuple(to_numpy(std::move(grown.cells)), to_numpy(std::move(grown.starts)),
                          to_records(std::move(grown.nodes)),
                          to_records(std::move(grown.category_sets)));
}

// Returns one of the frontier's lists as records.
template <auto Get>
auto frontier_records(LevelGrowth& growth) {
    return to_records((growth.frontier().*Get)());
}

void bind_growth(nb::module_& m) {
    nb::class_<LevelGrowth>(m, "LevelGrowth",
                            "A ranking tree grown from sums over shards of the rows.")
        .def("__init__", &make_level_growth, nb::arg("n_codes").noconvert(),
             nb::arg("categorical").noconvert(), nb::arg("monotonic").noconvert(),
             nb::arg("options"), nb::arg("total").noconvert(), nb::arg("tree"),
             nb::arg("code_values").noconvert().none(), nb::arg("gathered_weight"),
             nb::arg("histogram_bytes"), nb::arg("gathers_cells") = true)
        .def_prop_ro("done", &LevelGrowth::done)
        .def_prop_ro("depth", &LevelGrowth::depth)
        .def_prop_ro("open_weight", &LevelGrowth::open_weight)
        .def_prop_ro("n_slots", [](LevelGrowth& growth) { return growth.frontier().n_slots(); })
        .def_prop_ro("n_step_slots",
                     [](LevelGrowth& growth) { return growth.frontier().n_step_slots(); })
        .def_prop_ro("n_trials", [](LevelGrowth& growth) { return growth.frontier().n_trees(); })
        .def("tree", [](LevelGrowth& growth) { return to_tuple(growth.tree()); })
        .def(
            "resume",
            [](LevelGrowth& growth, const nb::tuple& tree, std::int32_t depth,
               const Vector<std::int32_t>& gathered) {
                growth.resume(rank_tree(tree, growth.n_classes(), growth.features().size()), depth,
                              to_vector(gathered));
            },
            nb::arg("tree"), nb::arg("depth"), nb::arg("gathered").noconvert())
        .def("start_level", &LevelGrowth::start_level)
        .def("roots", &frontier_records<&LeafRankFrontier::roots>)
        .def("gathered_roots", &frontier_records<&LeafRankFrontier::gathered_roots>)
        .def("wanted",
             [](LevelGrowth& growth) {
                 return to_numpy(std::vector<std::int32_t>(growth.frontier().wanted()));
             })
        .def("give", &give_packed, nb::arg("counts").noconvert())
        .def("give", &give_wide, nb::arg("counts").noconvert())
        .def("advance", [](LevelGrowth& growth) { growth.frontier().advance(); })
        .def("steps", &frontier_records<&LeafRankFrontier::steps>)
        .def("step_sets", &frontier_records<&LeafRankFrontier::step_sets>)
        .def("gathered_nodes", &frontier_records<&LeafRankFrontier::gathered_nodes>)
        .def("trial_features",
             [](LevelGrowth& growth, std::size_t trial) {
                 return to_numpy(std::vector<std::int32_t>(growth.frontier().features_of(trial)));
             })
        .def(
            "graft_node",
            [](LevelGrowth& growth, const Records& at, const Records& nodes, const Records& sets,
               const Vector<double>& values) {
                growth.frontier().graft_node(
                    from_record<GatheredNode>(at, "node"),
                    {from_records<LeafRankNode>(nodes, "nodes"),
                     from_records<CategorySet>(sets, "category sets"), to_vector(values)});
            },
            nb::arg("at").noconvert(), nb::arg("nodes").noconvert(), nb::arg("sets").noconvert(),
            nb::arg("values").noconvert())
        .def("open_cells", [](LevelGrowth& growth) { return to_numpy(growth.open_cells()); })
        .def("last_splits", [](LevelGrowth& growth) { return to_tuple(growth.last_splits()); })
        .def("grown_trials", [](LevelGrowth& growth) { return to_tuple(growth.grown_trials()); })
        .def("finish_level", &finish_level, nb::arg("weights").noconvert().none())
        .def("gathered_cells",
             [](LevelGrowth& growth) { return to_records(growth.gathered_cells()); })
        .def(
            "graft_cell",
            [](LevelGrowth& growth, std::size_t gathered, const nb::tuple& tree) {
                growth.graft_cell(gathered,
                                  rank_tree(tree, growth.n_classes(), growth.features().size()));
            },
            nb::arg("gathered"), nb::arg("tree"));
}

}  // namespace

void bind_level_growth(nb::module_& m) {
    bind_growth(m);
    m.def("graft_splits", &graft_splits, nb::arg("growths"), nb::arg("records"),
          nb::arg("sets").noconvert(), nb::arg("n_jobs"),
          "Assembles the LeafRank trees of a level from records of the outcome for each node. With "
          "two classes, this finishes the level.");
}

}  // namespace treerank
