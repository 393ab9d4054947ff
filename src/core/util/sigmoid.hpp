// The logistic function.
#pragma once

#include "core/util/shared_text.hpp"

namespace treerank {
#include "treerank/_device/kernels/shared/sigmoid.hpp"
}  // namespace treerank
