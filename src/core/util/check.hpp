// Numbers that come from elsewhere are checked before they index anything.
#pragma once

#include <stdexcept>

namespace treerank {

inline void check(bool sound, const char* what) {
    if (!sound) throw std::invalid_argument(what);
}

}  // namespace treerank
