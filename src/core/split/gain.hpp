// What a cut gains by each criterion, and how far levels can be believed.
#pragma once

#include <array>

#include "core/data/types.hpp"
#include "core/util/shared_text.hpp"

namespace treerank {
#include "treerank/_device/kernels/shared/gain.hpp"
#include "treerank/_device/kernels/shared/level_evidence.hpp"

// What a user calls them, in the order of the enum.
inline constexpr std::array kCriterionNames{"gini", "entropy", "auc", "hellinger"};
}  // namespace treerank
