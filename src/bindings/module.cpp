#include "bindings/arrays.hpp"
#include "core/data/types.hpp"
#include "core/histogram/kernels.hpp"
#include "core/split/gain.hpp"
#include "core/util/instruction_set.hpp"

NB_MODULE(_core, m) {
    m.doc() = "The compiled core: binning, growing, pruning and scoring of ranking trees.";
    m.def("instruction_set", &treerank::instruction_set,
          "The instruction set of the hot loops: 'avx512', 'avx2' or 'base'.");
    m.attr("MAX_ROWS") = treerank::kMaxRows;
    m.attr("MAX_FEATURES") = treerank::kMaxFeatures;
    m.attr("MAX_CLASSES") = treerank::kMaxClasses;
    m.attr("MAX_REPEAT") = treerank::kMaxRepeat;
    m.attr("MAX_CATEGORY_CODES") = treerank::kMaxCategoryCodes;
    nb::list criteria;
    for (const char* name : treerank::kCriterionNames) criteria.append(name);
    m.attr("CRITERIA") = nb::tuple(criteria);
    treerank::bind_binning(m);
    treerank::bind_grow(m);
    treerank::bind_level_growth(m);
    treerank::bind_shards(m);
    treerank::bind_forest(m);
    treerank::bind_boosting(m);
    treerank::bind_summed_boosting(m);
    treerank::bind_boosted_growth(m);
    treerank::bind_geometric(m);
    treerank::bind_cell_values(m);
    treerank::bind_prune(m);
    treerank::bind_predict(m);
    treerank::bind_attributions(m);
}
