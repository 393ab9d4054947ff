// The logistic function, from the source shared with the GPU kernels.
#pragma once

#include "core/util/shared_text.hpp"

namespace treerank {
#include "treerank/_device/kernels/shared/sigmoid.hpp"
}  // namespace treerank
