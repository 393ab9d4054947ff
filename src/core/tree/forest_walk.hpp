// Walks rows through one tree of a forest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/tree/forest.hpp"

namespace treerank {

inline constexpr std::size_t kRowsTogether = 256;  // rows walked in lockstep
inline constexpr int kStepsPerTest = 4;
inline constexpr std::size_t kWideRow = 256;  // up to this many bytes of codes, a row is copied

// The codes of a block of rows, row-major or column-major.
template <class Code, bool ByRow>
struct CodeBlock {
    const Code* data;
    std::size_t stride;

    std::size_t place(std::size_t row) const { return ByRow ? row * stride : row; }
    std::uint16_t code(std::size_t place, std::size_t feature) const {
        return ByRow ? data[place + feature] : data[feature * stride + place];
    }
};

// The step of a row from one slot to the next.
template <bool HasCategories, class Block>
struct Steps {
    TreeView tree;
    Block block;

    std::uint32_t step(std::size_t place, std::uint32_t at) const {
        const Slot slot = tree.slots[at];
        const std::uint16_t code = block.code(place, slot.feature);
        const std::uint32_t next = slot.next & kNextMask;
        if constexpr (HasCategories) {
            if (slot.next & kCategorical) return next + !tree.sets[tree.set_of[at]].contains(code);
        }
        return next + !slot.sends_left(code);
    }
};

// Walks rows through one tree, all of them one step at a time: the processor has many independent
// steps in flight while they wait for memory. Every few steps, the rows that have arrived are
// removed, so that none waits for the longest path.
template <bool Adds, class Steps>
class Walker {
  public:
    explicit Walker(const Steps& steps) : steps_(steps) {}

    // Calls take(row, end slot, value) for rows [0, n).
    template <class Take>
    void walk(std::size_t n, const Take& take) {
        for (std::size_t first = 0; first < n; first += kRowsTogether)
            walk_together(first, std::min(kRowsTogether, n - first), take);
    }

  private:
    template <class Take>
    void walk_together(std::size_t first, std::size_t n, const Take& take) {
        for (std::size_t i = 0; i < n; ++i) {
            row_[i] = static_cast<std::uint32_t>(first + i);
            place_[i] = static_cast<std::uint32_t>(steps_.block.place(first + i));
            at_[i] = 0;
            sum_[i] = steps_.tree.step[0];
        }
        while (n > 0) {
            for (int s = 0; s < kStepsPerTest; ++s) move(n);
            std::size_t open = 0, ended = 0;
            for (std::size_t i = 0; i < n; ++i) {
                const bool end = steps_.tree.is_end(at_[i]);
                ended_row_[ended] = row_[open] = row_[i];
                ended_at_[ended] = at_[open] = at_[i];
                ended_sum_[ended] = sum_[open] = sum_[i];
                place_[open] = place_[i];
                ended += end;
                open += !end;
            }
            for (std::size_t i = 0; i < ended; ++i)
                take(ended_row_[i], ended_at_[i],
                     Adds ? ended_sum_[i] : steps_.tree.step[ended_at_[i]]);
            n = open;
        }
    }

    void move(std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint32_t next = steps_.step(place_[i], at_[i]);
            if constexpr (Adds) sum_[i] += next != at_[i] ? steps_.tree.step[next] : 0.0f;
            at_[i] = next;
        }
    }

    const Steps steps_;
    std::uint32_t row_[kRowsTogether], place_[kRowsTogether], at_[kRowsTogether];
    std::uint32_t ended_row_[kRowsTogether], ended_at_[kRowsTogether];
    float sum_[kRowsTogether], ended_sum_[kRowsTogether];
};

}  // namespace treerank
