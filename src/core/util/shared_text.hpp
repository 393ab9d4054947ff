// Definitions required by the source files that the core shares with the GPU kernels
// (treerank/_device/kernels/shared). These files are included inside the namespace.
#pragma once

#include <math.h>

#include <cstdint>

#define ALWAYS_INLINE [[gnu::always_inline]] inline
#define SELDOM inline  // not inlined on a device

namespace treerank {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

ALWAYS_INLINE u64 bits_of(double x) { return __builtin_bit_cast(u64, x); }
ALWAYS_INLINE double double_of(u64 bits) { return __builtin_bit_cast(double, bits); }

}  // namespace treerank
