// Converts boosted trees and their options between Python and the core.
#pragma once

#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "core/grow/boosting.hpp"
#include "core/tree/boosted_forest.hpp"

namespace treerank {

inline BoostingOptions boosting_options(const nb::dict& d) {
    BoostingOptions options;
    options.max_depth = nb::cast<std::int32_t>(d["max_depth"]);
    if (d.contains("max_leaf_nodes"))
        options.max_leaf_nodes = nb::cast<std::int32_t>(d["max_leaf_nodes"]);
    options.leafrank_depth = nb::cast<std::int32_t>(d["leafrank_depth"]);
    options.min_weight_leaf = nb::cast<std::int64_t>(d["min_weight_leaf"]);
    options.independent_weight = nb::cast<double>(d["independent_weight"]);
    options.scale.l2 = nb::cast<double>(d["l2"]);
    options.learning_rate = nb::cast<double>(d["learning_rate"]);
    options.by_stratum = nb::cast<bool>(d["by_stratum"]);
    return options;
}

// (slots, value of each slot, cell or category set of each slot, category sets, importance, share
// that each slot sends left)
inline nb::tuple to_tuple(BoostedTree&& tree) {
    return nb::make_tuple(
        to_records(std::move(tree.flat.slots)), to_numpy(std::move(tree.value)),
        to_numpy(std::move(tree.flat.target)), to_records(std::move(tree.flat.category_sets)),
        to_numpy(std::move(tree.importance)), to_numpy(std::move(tree.left_share)));
}

// (starts of the trees, slots, value of each slot, category set of each slot, category sets,
// importance, share that each slot sends left)
inline nb::tuple to_tuple(BoostedForest&& forest) {
    return nb::make_tuple(to_numpy(std::move(forest.starts)), to_records(std::move(forest.slots)),
                          to_numpy(std::move(forest.step)), to_numpy(std::move(forest.set_of)),
                          to_records(std::move(forest.category_sets)),
                          to_numpy(std::move(forest.importance)),
                          to_numpy(std::move(forest.left_share)));
}

}  // namespace treerank
