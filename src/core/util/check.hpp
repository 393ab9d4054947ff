// Validation of numbers from outside the core, before they are used as indices.
#pragma once

#include <stdexcept>

namespace treerank {

inline void check(bool sound, const char* what) {
    if (!sound) throw std::invalid_argument(what);
}

}  // namespace treerank
