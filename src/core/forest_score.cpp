// Rows walked through all trees of a forest.
#include <algorithm>

#include "core/forest.hpp"

namespace treerank {

namespace {

constexpr std::size_t kRowsPerTask = 8192;
constexpr std::size_t kRowsPerOobTask = 512;
constexpr int kInterleaved = 12;  // independent walks in flight, to hide the latency of memory
constexpr int kStepsPerTest = 4;

// One tree, its slots numbered from 0.
struct TreeView {
    const Slot* slots;
    const float* step;
    const std::int32_t* set_of;
    const CategorySet* sets;

    TreeView(const ForestView& forest, std::size_t tree)
        : slots(forest.slots + forest.starts[tree]),
          step(forest.step + forest.starts[tree]),
          set_of(forest.set_of != nullptr ? forest.set_of + forest.starts[tree] : nullptr),
          sets(forest.category_sets) {}
};

// A slot made ready for one table: nothing to unpack and no column to compute.
struct ReadySlot {
    std::uint32_t next;
    std::uint16_t cut;
    std::uint16_t shift;
    std::size_t column;
};

// All slots of the forest made ready, where there are rows enough to pay for it; else none.
std::vector<ReadySlot> make_ready(const ForestView& forest, std::size_t rows, std::size_t stride,
                                  Team& team) {
    const auto n_slots = static_cast<std::size_t>(forest.starts[forest.n_trees]);
    if (rows * forest.n_trees < n_slots / 4 || forest.set_of != nullptr) return {};
    std::vector<ReadySlot> ready(n_slots);
    team.run(forest.n_trees, [&](std::size_t t) {
        for (std::int64_t s = forest.starts[t]; s < forest.starts[t + 1]; ++s) {
            const Slot slot = forest.slots[s];
            ready[s] = {slot.next & kNextMask, slot.cut,
                        static_cast<std::uint16_t>((slot.next & kMissingRight) != 0),
                        slot.feature * stride};
        }
    });
    return ready;
}

template <class Code>
struct ReadySteps {
    const ReadySlot* slots;
    const Code* codes;

    std::uint32_t step(std::size_t row, std::uint32_t at) const {
        const ReadySlot& slot = slots[at];
        const std::uint16_t code = codes[slot.column + row];
        // Missing (code 0) wraps to the largest code when it is to go right.
        return slot.next + (static_cast<std::uint16_t>(code - slot.shift) > slot.cut);
    }
};

template <class Code, bool HasCategories>
struct PackedSteps {
    TreeView tree;
    const Code* codes;
    std::size_t stride;

    std::uint32_t step(std::size_t row, std::uint32_t at) const {
        const Slot slot = tree.slots[at];
        const std::uint16_t code = codes[slot.feature * stride + row];
        const std::uint32_t next = slot.next & kNextMask;
        if constexpr (HasCategories) {
            if (slot.next & kCategorical) return next + !tree.sets[tree.set_of[at]].contains(code);
        }
        const auto shift = static_cast<std::uint16_t>((slot.next >> 30) & 1);
        return next + (static_cast<std::uint16_t>(code - shift) > slot.cut);
    }
};

template <class Steps>
class Walker {
  public:
    Walker(const Steps& steps, const float* step) : steps_(steps), step_(step) {}

    // Calls take(row, slot at the end, sum of the steps) for rows [first, last). The sum is
    // made only where each step adds (`Adds`).
    template <bool Adds, class Take>
    void walk(std::size_t first, std::size_t last, const Take& take) const {
        std::size_t row = first;
        for (; row + kInterleaved <= last; row += kInterleaved)
            walk_together<Adds, kInterleaved>(row, take);
        for (; row < last; ++row) walk_together<Adds, 1>(row, take);
    }

  private:
    template <bool Adds, int N, class Take>
    void walk_together(std::size_t row, const Take& take) const {
        std::uint32_t at[N] = {};
        float sum[N];
        for (int k = 0; k < N; ++k) sum[k] = step_[0];
        std::uint32_t moved = 1;
        while (moved != 0) {
            moved = 0;
            for (int s = 0; s < kStepsPerTest; ++s) {
                for (int k = 0; k < N; ++k) {
                    const std::uint32_t next = steps_.step(row + k, at[k]);
                    if constexpr (Adds) sum[k] += next != at[k] ? step_[next] : 0.0f;
                    if (s == kStepsPerTest - 1) moved |= next ^ at[k];
                    at[k] = next;
                }
            }
        }
        for (int k = 0; k < N; ++k) take(row + k, at[k], sum[k]);
    }

    const Steps steps_;
    const float* step_;
};

template <class Steps, class Take>
void walk_tree(const Steps& steps, const float* step, bool at_end, std::size_t first,
               std::size_t last, const Take& take) {
    const Walker<Steps> walker(steps, step);
    if (at_end)
        walker.template walk<false>(first, last, [&](std::size_t row, std::uint32_t slot, float) {
            take(row, slot, step[slot]);
        });
    else
        walker.template walk<true>(first, last, take);
}

// Calls take(tree, row, slot, value) for all trees and rows, a block of rows at a time.
template <class Code, class Take>
void walk_forest(const ForestView& forest, const CodeMatrix<Code>& codes, Team& team,
                 const Take& take) {
    const auto ready = make_ready(forest, codes.rows, codes.stride, team);
    team.run((codes.rows + kRowsPerTask - 1) / kRowsPerTask, [&](std::size_t b) {
        const std::size_t first = b * kRowsPerTask;
        const std::size_t last = std::min(codes.rows, first + kRowsPerTask);
        for (std::size_t t = 0; t < forest.n_trees; ++t) {
            const TreeView tree(forest, t);
            const auto walk = [&](const auto& steps) {
                walk_tree(steps, tree.step, forest.at_end[t] != 0, first, last,
                          [&](std::size_t row, std::uint32_t slot, float value) {
                              take(t, row, slot, value);
                          });
            };
            if (!ready.empty())
                walk(ReadySteps<Code>{ready.data() + forest.starts[t], codes.data});
            else if (forest.set_of != nullptr)
                walk(PackedSteps<Code, true>{tree, codes.data, codes.stride});
            else
                walk(PackedSteps<Code, false>{tree, codes.data, codes.stride});
        }
    });
}

bool is_end(const Slot* slots, std::uint32_t at) { return slots[at].next == at; }

}  // namespace

bool is_sound(const ForestView& forest, std::size_t n_features) {
    for (std::size_t t = 0; t < forest.n_trees; ++t) {
        const std::int64_t start = forest.starts[t], n = forest.starts[t + 1] - start;
        if (n < 1 || n > kNextMask) return false;
        for (std::int64_t i = 0; i < n; ++i) {
            const Slot slot = forest.slots[start + i];
            if (slot.feature >= n_features) return false;
            if (slot.next == i) {
                if (slot.cut != 0xffff) return false;
                continue;
            }
            const std::int64_t next = slot.next & kNextMask;
            if (next <= i || next + 1 >= n) return false;  // forward only: every walk ends
            if (!(slot.next & kCategorical)) continue;
            if (forest.set_of == nullptr) return false;
            const std::int32_t set = forest.set_of[start + i];
            if (set < 0 || static_cast<std::size_t>(set) >= forest.n_sets) return false;
        }
    }
    return true;
}

void fold(const ForestView& forest, double lambda, float* step, std::uint8_t* at_end) {
    std::vector<std::uint8_t> reached;
    for (std::size_t t = 0; t < forest.n_trees; ++t) {
        const std::size_t start = forest.starts[t], n = forest.starts[t + 1] - start;
        const Slot* slots = forest.slots + start;
        reached.assign(n, 0);
        bool shared = false, adds = false;  // two ways to a slot; something added before the end
        for (std::uint32_t s = 0; s < n; ++s) {
            step[start + s] =
                static_cast<float>(forest.step[start + s] / (1 + lambda / forest.mass[start + s]));
            if (is_end(slots, s)) continue;
            adds = adds || step[start + s] != 0;
            std::uint8_t& seen = reached[slots[s].next & kNextMask];
            shared = shared || seen;
            seen = 1;
        }
        at_end[t] = !(shared && adds);
        if (shared) continue;
        for (std::uint32_t s = 0; s < n; ++s) {  // successors lie further on
            if (is_end(slots, s)) continue;
            const std::uint32_t next = slots[s].next & kNextMask;
            step[start + next] += step[start + s];
            step[start + next + 1] += step[start + s];
        }
    }
}

template <class Code>
void score(const ForestView& forest, const CodeMatrix<Code>& codes, Team& team, double* sums) {
    std::fill_n(sums, codes.rows, 0.0);
    walk_forest(forest, codes, team, [&](std::size_t, std::size_t row, std::uint32_t, float value) {
        sums[row] += value;
    });
}

template <class Code>
void score_each(const ForestView& forest, const CodeMatrix<Code>& codes, Team& team,
                float* values) {
    walk_forest(forest, codes, team,
                [&](std::size_t tree, std::size_t row, std::uint32_t, float value) {
                    values[tree * codes.rows + row] = value;
                });
}

template <class Code>
void apply_each(const ForestView& forest, const CodeMatrix<Code>& codes, Team& team,
                std::int32_t* slots) {
    walk_forest(forest, codes, team,
                [&](std::size_t tree, std::size_t row, std::uint32_t slot, float) {
                    slots[tree * codes.rows + row] = static_cast<std::int32_t>(slot);
                });
}

namespace {

// Adds up one walk for all lambdas at once.
template <class Code, bool HasCategories>
void walk_grid(const ForestView& forest, std::size_t tree, const CodeMatrix<Code>& codes,
               std::size_t row, const float (&lambdas)[kMaxLambdas], double* sums) {
    const PackedSteps<Code, HasCategories> steps{TreeView(forest, tree), codes.data, codes.stride};
    const float* step = forest.step + forest.starts[tree];
    const float* mass = forest.mass + forest.starts[tree];
    float total[kMaxLambdas] = {};
    std::uint32_t at = 0;
    for (std::uint32_t next; (next = steps.step(row, at)) != at; at = next)
        for (std::size_t g = 0; g < kMaxLambdas; ++g)
            total[g] += step[next] * mass[next] / (mass[next] + lambdas[g]);
    for (std::size_t g = 0; g < kMaxLambdas; ++g) sums[g] += total[g];
}

}  // namespace

template <class Code>
void score_out_of_bag(const ForestView& forest, const CodeMatrix<Code>& codes,
                      const Sampling& sampling, const std::vector<std::uint32_t>& rows,
                      const std::vector<float>& lambdas, Team& team, Watch& watch, double* sums,
                      std::int32_t* n_trees) {
    float padded[kMaxLambdas] = {};
    std::copy(lambdas.begin(), lambdas.end(), padded);
    // One bit a tree and row: drawn or not.
    const std::size_t words = (rows.size() + 63) / 64;
    std::vector<std::uint64_t> drawn(words * forest.n_trees);
    team.run(forest.n_trees, [&](std::size_t t) {
        watch.check();
        const auto counts = draw_counts(sampling, t, codes.rows);
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (counts[rows[i]] > 0) drawn[t * words + i / 64] |= std::uint64_t{1} << (i % 64);
    });
    team.run((rows.size() + kRowsPerOobTask - 1) / kRowsPerOobTask, [&](std::size_t b) {
        const std::size_t first = b * kRowsPerOobTask;
        const std::size_t last = std::min(rows.size(), first + kRowsPerOobTask);
        std::vector<double> total((last - first) * kMaxLambdas);
        std::fill(n_trees + first, n_trees + last, 0);
        for (std::size_t t = 0; t < forest.n_trees; ++t) {
            watch.check();
            for (std::size_t i = first; i < last; ++i) {
                if ((drawn[t * words + i / 64] >> (i % 64)) & 1) continue;
                ++n_trees[i];
                double* sum = total.data() + (i - first) * kMaxLambdas;
                if (forest.set_of != nullptr)
                    walk_grid<Code, true>(forest, t, codes, rows[i], padded, sum);
                else
                    walk_grid<Code, false>(forest, t, codes, rows[i], padded, sum);
            }
        }
        for (std::size_t i = first; i < last; ++i)
            std::copy_n(total.data() + (i - first) * kMaxLambdas, lambdas.size(),
                        sums + i * lambdas.size());
    });
}

#define TREERANK_FOR_CODE(Code)                                                                  \
    template void score(const ForestView&, const CodeMatrix<Code>&, Team&, double*);             \
    template void score_each(const ForestView&, const CodeMatrix<Code>&, Team&, float*);         \
    template void apply_each(const ForestView&, const CodeMatrix<Code>&, Team&, std::int32_t*);  \
    template void score_out_of_bag(const ForestView&, const CodeMatrix<Code>&, const Sampling&,  \
                                   const std::vector<std::uint32_t>&, const std::vector<float>&, \
                                   Team&, Watch&, double*, std::int32_t*);
TREERANK_FOR_CODE(std::uint8_t)
TREERANK_FOR_CODE(std::uint16_t)
#undef TREERANK_FOR_CODE

}  // namespace treerank
