// Memory for trees of millions of nodes. The system hands memory out in small pages, each of which
// is cleared when it is first touched; getting them takes longer than filling them, and threads
// wait for each other meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace treerank {

inline constexpr std::size_t kLargePage = std::size_t{1} << 21;

// Asks for large pages under memory that nobody has touched yet. A hint: where it is not taken, all
// that changes is the time.
inline void ask_for_large_pages([[maybe_unused]] void* memory,
                                [[maybe_unused]] std::size_t n_bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    const auto first = reinterpret_cast<std::uintptr_t>(memory);
    const std::uintptr_t from = (first + kLargePage - 1) & ~(kLargePage - 1);
    const std::uintptr_t to = (first + n_bytes) & ~(kLargePage - 1);
    if (to > from) madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE);
#endif
}

// Reserves room for n values of an empty vector.
template <class T>
void reserve_large(std::vector<T>& values, std::size_t n) {
    if (n <= values.capacity()) return;
    values.reserve(n);
    T* const unused = values.data() + values.size();
    ask_for_large_pages(unused, (n - values.size()) * sizeof(T));
}

}  // namespace treerank
