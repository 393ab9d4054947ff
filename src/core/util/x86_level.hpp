// Detects the x86-64 microarchitecture level that the processor and the operating system support.
//
// The compiler builtin __builtin_cpu_supports knows these levels only from GCC 12 and Clang 15 on,
// and needs an extra library on Windows.
#pragma once

#include <cpuid.h>

#include <cstdint>

namespace treerank {

enum class X86Level { kV1, kV3, kV4 };

// The register sets that the operating system saves on a context switch (XCR0).
inline std::uint64_t saved_registers() {
    std::uint32_t low = 0, high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (static_cast<std::uint64_t>(high) << 32) | low;
}

inline X86Level x86_level() {
    const auto all = [](std::uint32_t bits, std::uint32_t wanted) {
        return (bits & wanted) == wanted;
    };
    // SSE3, SSSE3, FMA, CMPXCHG16B, SSE4.1, SSE4.2, MOVBE, POPCNT, OSXSAVE, AVX, F16C
    constexpr std::uint32_t kBasic = 1u << 0 | 1u << 9 | 1u << 12 | 1u << 13 | 1u << 19 | 1u << 20 |
                                     1u << 22 | 1u << 23 | 1u << 27 | 1u << 28 | 1u << 29;
    constexpr std::uint32_t kExtended = 1u << 0 | 1u << 5;        // LAHF, LZCNT
    constexpr std::uint32_t kAvx2 = 1u << 3 | 1u << 5 | 1u << 8;  // BMI1, AVX2, BMI2
    // AVX-512 F, DQ, CD, BW, VL
    constexpr std::uint32_t kAvx512 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;
    constexpr std::uint64_t kAvxRegisters = 0x06, kAvx512Registers = 0xe6;

    std::uint32_t a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !all(c, kBasic)) return X86Level::kV1;
    const std::uint64_t saved = saved_registers();
    if ((saved & kAvxRegisters) != kAvxRegisters) return X86Level::kV1;
    if (!__get_cpuid(0x80000001, &a, &b, &c, &d) || !all(c, kExtended)) return X86Level::kV1;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !all(b, kAvx2)) return X86Level::kV1;
    const bool wide = all(b, kAvx512) && (saved & kAvx512Registers) == kAvx512Registers;
    return wide ? X86Level::kV4 : X86Level::kV3;
}

}  // namespace treerank
