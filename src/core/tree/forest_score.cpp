// Rows walked through all trees of a forest.
#include <algorithm>
#include <memory>

#include "core/tree/forest.hpp"

namespace treerank {

namespace {

// A tree is fetched from memory once for so many rows; few tasks beat good balance.
constexpr std::size_t kFewRows = 8192, kManyRows = 65536;
constexpr std::size_t kRowsPerOobTask = 512;
constexpr std::size_t kRowsTogether = 256;  // rows that a walk keeps track of
constexpr int kStepsPerTest = 4;
constexpr std::size_t kWideRow = 256;     // bytes of codes up to which a row is copied together
constexpr std::size_t kTreesPerCopy = 8;  // trees that pay for doing so

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

// Codes of a block of rows: row by row, or column by column.
template <class Code, bool ByRow>
struct CodeBlock {
    const Code* data;
    std::size_t stride;

    std::size_t place(std::size_t row) const { return ByRow ? row * stride : row; }
    std::uint16_t code(std::size_t place, std::size_t feature) const {
        return ByRow ? data[place + feature] : data[feature * stride + place];
    }
};

// Where a row goes from a slot.
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
        // Missing (code 0) wraps to the largest code when it is to go right.
        const auto shift = static_cast<std::uint16_t>((slot.next >> 30) & 1);
        return next + (static_cast<std::uint16_t>(code - shift) > slot.cut);
    }
    bool is_end(std::uint32_t at) const { return tree.slots[at].next == at; }
};

// Walks rows through one tree, all of them a step at a time: the processor works on many of
// these steps at once while they wait for memory. Every few steps the rows that have arrived
// are dropped, so that none waits for the longest path.
template <bool Adds, class Steps>
class Walker {
  public:
    explicit Walker(const Steps& steps) : steps_(steps) {}

    // Calls take(row, slot at the end, value) for rows [0, n).
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
                const bool end = steps_.is_end(at_[i]);
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

// Calls take(tree, row, slot, value) for all trees and the rows of a block, from `first` on.
template <bool HasCategories, class Block, class Take>
void walk_block(const ForestView& forest, const Block& block, std::size_t first, std::size_t n,
                const ThreadPool& pool, const Take& take) {
    for (std::size_t t = 0; t < forest.n_trees; ++t) {
        pool.check();
        const Steps<HasCategories, Block> steps{TreeView(forest, t), block};
        const auto take_row = [&](std::size_t row, std::uint32_t slot, float value) {
            take(t, first + row, slot, value);
        };
        if (forest.at_end[t] != 0)
            Walker<false, Steps<HasCategories, Block>>(steps).walk(n, take_row);
        else
            Walker<true, Steps<HasCategories, Block>>(steps).walk(n, take_row);
    }
}

template <class Block, class Take>
void walk_block(const ForestView& forest, const Block& block, std::size_t first, std::size_t n,
                const ThreadPool& pool, const Take& take) {
    if (forest.set_of != nullptr)
        walk_block<true>(forest, block, first, n, pool, take);
    else
        walk_block<false>(forest, block, first, n, pool, take);
}

// Calls take(tree, row, slot, value) for all trees and rows, a block of rows at a time. Where
// it pays, the codes of a row are laid side by side first: its path then stays in one place.
template <class Code, class Take>
void walk_forest(const ForestView& forest, const CodeMatrix<Code>& codes, ThreadPool& pool,
                 const Take& take) {
    const std::size_t p = codes.features;
    const bool by_row = p * sizeof(Code) <= kWideRow && forest.n_trees >= kTreesPerCopy;
    const std::size_t share = (codes.rows + pool.size() - 1) / pool.size();
    const std::size_t size = std::clamp(share, kFewRows, kManyRows);
    pool.run((codes.rows + size - 1) / size, [&](std::size_t b) {
        const std::size_t first = b * size, n = std::min(codes.rows - first, size);
        if (!by_row) {
            const CodeBlock<Code, false> block{codes.data + first, codes.stride};
            return walk_block(forest, block, first, n, pool, take);
        }
        const auto copy = std::make_unique_for_overwrite<Code[]>(n * p);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t f = 0; f < p; ++f) copy[i * p + f] = codes.column(f)[first + i];
        walk_block(forest, CodeBlock<Code, true>{copy.get(), p}, first, n, pool, take);
    });
}

bool is_end(const Slot* slots, std::uint32_t at) { return slots[at].next == at; }

bool is_sound_slot(const ForestView& forest, std::size_t tree, std::int64_t at,
                   std::size_t n_features) {
    const std::int64_t start = forest.starts[tree], n = forest.starts[tree + 1] - start;
    if (n < 1 || n > kNextMask) return false;
    const Slot slot = forest.slots[start + at];
    if (slot.feature >= n_features) return false;
    if (slot.next == at) return slot.cut == 0xffff;
    const std::int64_t next = slot.next & kNextMask;
    if (next <= at || next + 1 >= n) return false;  // forward only: every walk ends
    if (!(slot.next & kCategorical)) return true;
    if (forest.set_of == nullptr) return false;
    const std::int32_t set = forest.set_of[start + at];
    return set >= 0 && static_cast<std::size_t>(set) < forest.n_sets;
}

}  // namespace

bool is_sound(const ForestView& forest, std::size_t n_features) {
    for (std::size_t t = 0; t < forest.n_trees; ++t) {
        const std::int64_t n = forest.starts[t + 1] - forest.starts[t];
        for (std::int64_t i = 0; i < n; ++i)
            if (!is_sound_slot(forest, t, i, n_features)) return false;
    }
    return true;
}

void bake_shrinkage(const ForestView& forest, double lambda, float* step, std::uint8_t* at_end) {
    std::vector<std::uint8_t> reached;
    for (std::size_t t = 0; t < forest.n_trees; ++t) {
        const std::size_t start = forest.starts[t], n = forest.starts[t + 1] - start;
        const Slot* slots = forest.slots + start;
        reached.assign(n, 0);
        bool shared = false, adds = false;  // two ways to a slot; something added before the end
        for (std::uint32_t s = 0; s < n; ++s) {
            step[start + s] = static_cast<float>(forest.step[start + s] /
                                                 (1 + lambda / forest.weight[start + s]));
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
void score(const ForestView& forest, const CodeMatrix<Code>& codes, ThreadPool& pool,
           double* sums) {
    std::fill_n(sums, codes.rows, 0.0);
    walk_forest(forest, codes, pool, [&](std::size_t, std::size_t row, std::uint32_t, float value) {
        sums[row] += value;
    });
}

template <class Code>
bool score_checked(const ForestView& forest, const CodeMatrix<Code>& codes, double* sums) {
    std::fill_n(sums, codes.rows, 0.0);
    for (std::size_t t = 0; t < forest.n_trees; ++t) {
        const Steps<true, CodeBlock<Code, false>> steps{TreeView(forest, t),
                                                        {codes.data, codes.stride}};
        for (std::size_t row = 0; row < codes.rows; ++row) {
            std::uint32_t at = 0;
            float sum = steps.tree.step[0];
            while (true) {
                if (!is_sound_slot(forest, t, at, codes.features)) return false;
                if (steps.is_end(at)) break;
                at = steps.step(row, at);
                sum += steps.tree.step[at];
            }
            sums[row] += forest.at_end[t] != 0 ? steps.tree.step[at] : sum;
        }
    }
    return true;
}

template <class Code>
void score_each(const ForestView& forest, const CodeMatrix<Code>& codes, ThreadPool& pool,
                float* values) {
    walk_forest(forest, codes, pool,
                [&](std::size_t tree, std::size_t row, std::uint32_t, float value) {
                    values[tree * codes.rows + row] = value;
                });
}

template <class Code>
void apply_each(const ForestView& forest, const CodeMatrix<Code>& codes, ThreadPool& pool,
                std::int32_t* slots) {
    walk_forest(forest, codes, pool,
                [&](std::size_t tree, std::size_t row, std::uint32_t slot, float) {
                    slots[tree * codes.rows + row] = static_cast<std::int32_t>(slot);
                });
}

namespace {

// Adds up one walk for all lambdas at once.
template <class Code, bool HasCategories>
void walk_grid(const ForestView& forest, std::size_t tree, const CodeMatrix<Code>& codes,
               std::size_t row, const float (&lambdas)[kMaxLambdas], double* sums) {
    const Steps<HasCategories, CodeBlock<Code, false>> steps{TreeView(forest, tree),
                                                             {codes.data, codes.stride}};
    const float* step = forest.step + forest.starts[tree];
    const float* weight = forest.weight + forest.starts[tree];
    float total[kMaxLambdas] = {};
    std::uint32_t at = 0;
    for (std::uint32_t next; (next = steps.step(row, at)) != at; at = next)
        for (std::size_t g = 0; g < kMaxLambdas; ++g)
            total[g] += step[next] * weight[next] / (weight[next] + lambdas[g]);
    for (std::size_t g = 0; g < kMaxLambdas; ++g) sums[g] += total[g];
}

}  // namespace

template <class Code>
void score_out_of_bag(const ForestView& forest, const CodeMatrix<Code>& codes,
                      const DrawnFrom& drawn_from, const std::vector<std::uint32_t>& rows,
                      const std::vector<float>& lambdas, ThreadPool& pool, ProgressMonitor& monitor,
                      double* sums, std::int32_t* n_trees) {
    float padded[kMaxLambdas] = {};
    std::copy(lambdas.begin(), lambdas.end(), padded);
    // One bit a tree and row: drawn or not.
    const std::size_t words = (rows.size() + 63) / 64;
    std::vector<std::uint64_t> drawn(words * forest.n_trees);
    pool.run(forest.n_trees, [&](std::size_t t) {
        monitor.check();
        const auto counts =
            draw_counts(drawn_from.sampling, t, drawn_from.n_all, drawn_from.first, codes.rows);
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (counts[rows[i]] > 0) drawn[t * words + i / 64] |= std::uint64_t{1} << (i % 64);
    });
    pool.run((rows.size() + kRowsPerOobTask - 1) / kRowsPerOobTask, [&](std::size_t b) {
        const std::size_t first = b * kRowsPerOobTask;
        const std::size_t last = std::min(rows.size(), first + kRowsPerOobTask);
        std::vector<double> total((last - first) * kMaxLambdas);
        std::fill(n_trees + first, n_trees + last, 0);
        for (std::size_t t = 0; t < forest.n_trees; ++t) {
            monitor.check();
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
    template void score(const ForestView&, const CodeMatrix<Code>&, ThreadPool&, double*);       \
    template bool score_checked(const ForestView&, const CodeMatrix<Code>&, double*);            \
    template void score_each(const ForestView&, const CodeMatrix<Code>&, ThreadPool&, float*);   \
    template void apply_each(const ForestView&, const CodeMatrix<Code>&, ThreadPool&,            \
                             std::int32_t*);                                                     \
    template void score_out_of_bag(const ForestView&, const CodeMatrix<Code>&, const DrawnFrom&, \
                                   const std::vector<std::uint32_t>&, const std::vector<float>&, \
                                   ThreadPool&, ProgressMonitor&, double*, std::int32_t*);
TREERANK_FOR_CODE(std::uint8_t)
TREERANK_FOR_CODE(std::uint16_t)
#undef TREERANK_FOR_CODE

}  // namespace treerank
