// Large pages for the arrays of trees with millions of nodes. By default the operating system maps
// small pages and zeroes each one when it is first touched; these page faults take longer than
// filling the memory, and threads wait for each other meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace treerank {

inline constexpr std::size_t kLargePage = std::size_t{1} << 21;

// Requests large pages for memory that has not been touched yet. This is a hint only: if the system
// ignores it, the program is slower but otherwise unchanged.
inline void ask_for_large_pages([[maybe_unused]] void* memory,
                                [[maybe_unused]] std::size_t n_bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    const auto first = reinterpret_cast<std::uintptr_t>(memory);
    const std::uintptr_t from = (first + kLargePage - 1) & ~(kLargePage - 1);
    const std::uintptr_t to = (first + n_bytes) & ~(kLargePage - 1);
    if (to > from) madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE);
#endif
}

// Reserves room for n values and requests large pages for the unused part.
template <class T>
void reserve_large(std::vector<T>& values, std::size_t n) {
    if (n <= values.capacity()) return;
    values.reserve(n);
    T* const unused = values.data() + values.size();
    ask_for_large_pages(unused, (n - values.size()) * sizeof(T));
}

}  // namespace treerank
