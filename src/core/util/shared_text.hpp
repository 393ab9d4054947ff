// What a text that is shared with the kernels of a device (treerank/_device/kernels/shared) takes
// for granted. Such a text is included inside of the namespace.
#pragma once

#include <math.h>

#include <cstdint>

#define ALWAYS_INLINE [[gnu::always_inline]] inline
#define SELDOM inline  // a device does not copy it to where it is called

namespace treerank {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

ALWAYS_INLINE u64 bits_of(double x) { return __builtin_bit_cast(u64, x); }
ALWAYS_INLINE double double_of(u64 bits) { return __builtin_bit_cast(double, bits); }

}  // namespace treerank
