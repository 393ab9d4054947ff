// The gain of a cut by each criterion, and the shrinkage of categorical levels.
#pragma once

#include <array>

#include "core/data/types.hpp"
#include "core/util/shared_text.hpp"

namespace treerank {
#include "treerank/_device/kernels/shared/gain.hpp"
#include "treerank/_device/kernels/shared/level_evidence.hpp"

// The user-facing names of the criteria, in the order of the enum.
inline constexpr std::array kCriterionNames{"gini", "entropy", "auc", "hellinger"};
}  // namespace treerank
