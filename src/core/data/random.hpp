// Counter-based random numbers, keyed by what they are drawn for, and draws made with them.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/util/shared_text.hpp"

namespace treerank {
#include "treerank/_device/kernels/shared/random.hpp"

// Returns the image of `number` under a permutation of 0 .. size - 1 that is drawn by its key: four
// rounds of a Feistel network, repeated while the result is too large (cycle walking).
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

// Precomputed hashes of small indices: every node of a forest draws its features with them.
struct MixedNumbers {
    std::uint64_t of[64] = {};
    constexpr MixedNumbers() {
        for (std::uint64_t i = 0; i < 64; ++i) of[i] = mix(i);
    }
};
inline constexpr MixedNumbers kMixedNumbers;

// Moves `count` randomly chosen entries to items[first], items[first + 1], ... (a partial
// Fisher-Yates shuffle).
inline void draw_to_front(std::vector<std::int32_t>& items, std::size_t first, std::size_t count,
                          std::uint64_t key) {
    for (std::size_t i = first; i < first + count && i + 1 < items.size(); ++i) {
        const auto left = static_cast<std::uint32_t>(items.size() - i);
        const std::uint64_t mixed = i < 64 ? kMixedNumbers.of[i] : mix(i);
        std::swap(items[i], items[i + uniform_below(mix(key ^ mixed), left)]);
    }
}

}  // namespace treerank
