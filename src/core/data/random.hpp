// Counter-based random numbers: a draw is a function of its key (seed, tree,
// node path), never of what was drawn before, so that threads, processes and
// row blocks cannot change it.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace treerank {

// The finaliser of splitmix64: a bijection of 64 bits without visible structure.
constexpr std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}
constexpr std::uint64_t key_of(std::uint64_t parent, std::uint64_t branch) {
    return mix(parent ^ mix(branch));
}

// Uniform integer below n: the high word of a 32 x 32 bit product.
constexpr std::uint32_t uniform_below(std::uint64_t random_bits, std::uint32_t n) {
    return static_cast<std::uint32_t>(((random_bits >> 32) * n) >> 32);
}

// A permutation of 0 .. size - 1, drawn by its key: four rounds of a Feistel network, again as long
// as the number is too large.
constexpr std::uint64_t shuffled(std::uint64_t number, std::uint64_t size, std::uint64_t key) {
    const int half = (std::bit_width(size - 1) + 1) / 2;
    const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
    do {
        std::uint64_t high = number >> half, low = number & mask;
        for (std::uint64_t round = 0; round < 4; ++round)
            high = std::exchange(low, high ^ (mix(low ^ key_of(key, round)) & mask));
        number = high << half | low;
    } while (number >= size);
    return number;
}

// Every node of a forest draws its features with the same few numbers.
struct MixedNumbers {
    std::uint64_t of[64] = {};
    constexpr MixedNumbers() {
        for (std::uint64_t i = 0; i < 64; ++i) of[i] = mix(i);
    }
};
inline constexpr MixedNumbers kMixedNumbers;

// Moves a random choice of `count` entries to the front (Fisher-Yates, stopped early).
inline void draw_to_front(std::vector<std::int32_t>& items, std::size_t first, std::size_t count,
                          std::uint64_t key) {
    for (std::size_t i = first; i < first + count && i + 1 < items.size(); ++i) {
        const auto left = static_cast<std::uint32_t>(items.size() - i);
        const std::uint64_t mixed = i < 64 ? kMixedNumbers.of[i] : mix(i);
        std::swap(items[i], items[i + uniform_below(mix(key ^ mixed), left)]);
    }
}

}  // namespace treerank
