// Imputes missing values with the mean of their cell, as an alternative to learning their side
// (Clémençon, Depecker & Vayatis 2011, section 5).
#pragma once

#include <algorithm>

#include "core/data/types.hpp"
#include "core/split/criterion.hpp"

namespace treerank {

// Returns the code of the mean of the known values in a cell; for a category, its most frequent
// level (on ties the lowest code); 0 if no value is known. Sums run in the order of the codes, so
// that they do not depend on the order of the rows.
inline std::int32_t impute_code(const OccupiedCodes& cell, const Features& features,
                                std::int32_t feature) {
    const std::size_t first = cell.has_missing() ? 1 : 0;
    if (first == cell.codes.size()) return 0;
    const double* means = features.code_mean.data() + features.offset[feature];
    double total = 0, sum = 0, largest = 0;
    std::int32_t most_frequent = 0;
    for (std::size_t i = first; i < cell.codes.size(); ++i) {
        const double weight = cell.weights[i].total();
        total += weight;
        sum += weight * means[cell.codes[i]];
        if (weight > largest) {
            largest = weight;
            most_frequent = cell.codes[i];
        }
    }
    if (features.categorical[feature]) return most_frequent;
    // Rounding must not move the mean beyond the values.
    const double mean = std::clamp(sum / total, means[cell.codes[first]], means[cell.codes.back()]);
    const double* upper = features.code_upper.data() + features.offset[feature];
    return static_cast<std::int32_t>(
        std::lower_bound(upper + 1, upper + features.n_codes[feature], mean) - upper);
}

}  // namespace treerank
