// Walks rows through all trees of a forest.
#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "core/tree/forest.hpp"
#include "core/tree/forest_walk.hpp"

namespace treerank {

namespace {

// Rows per task. A tree is loaded from memory once per task; few tasks matter more than load
// balance.
constexpr std::size_t kFewRows = 8192, kManyRows = 65536;
constexpr std::size_t kTreesPerCopy = 8;  // number of trees from which the copy pays

// Calls take(tree, row, slot, value) for all trees and the n rows of a block, which are numbered
// from `first` on.
template <bool HasCategories, class Block, class Take>
void walk_block(const ForestView& forest, const Block& block, std::size_t first, std::size_t n,
                const ThreadPool& pool, const Take& take) {
    for (std::size_t t = 0; t < forest.n_trees; ++t) {
        pool.check();
        const Steps<HasCategories, Block> steps{TreeView(forest, t), block};
        const auto take_row = [&](std::size_t row, std::uint32_t slot, float value) {
            take(t, first + row, slot, value);
        };
        if (steps.tree.at_end)
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

// Calls take(tree, row, slot, value) for all trees and rows, one block of rows at a time. If it
// pays, the codes are first copied row by row, so that the walk of a row reads from one place.
template <class Code, class Take>
void walk_forest(const ForestView& forest, const CodeMatrix<Code>& codes, ThreadPool& pool,
                 const Take& take) {
    const std::size_t p = codes.features;
    const bool by_row = p * sizeof(Code) <= kWideRow && forest.n_trees >= kTreesPerCopy;
    const std::size_t share = (codes.rows + pool.size() - 1) / pool.size();
    const std::size_t size = std::clamp(share, kFewRows, kManyRows);
    run_blocks(pool, codes.rows, size, [&](std::size_t first, std::size_t last) {
        const std::size_t n = last - first;
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

bool is_sound_slot(const ForestView& forest, std::size_t tree, std::int64_t at,
                   std::size_t n_features) {
    const std::int64_t start = forest.starts[tree], n = forest.starts[tree + 1] - start;
    if (n < 1 || n > kNextMask) return false;
    const Slot slot = forest.slots[start + at];
    if (slot.feature >= n_features) return false;
    if (slot.next == at) return slot.cut == 0xffff;
    const std::int64_t next = slot.next & kNextMask;
    if (next <= at || next + 1 >= n) return false;  // forward only, so every walk ends
    if (!(slot.next & kCategorical)) return true;
    if (forest.set_of == nullptr) return false;
    const std::int32_t set = forest.set_of[start + at];
    return set >= 0 && static_cast<std::size_t>(set) < forest.n_sets;
}

// Returns whether only the slot at the end of a walk counts.
bool bake_tree(const TreeView& tree, double lambda, float scale, float* step) {
    std::vector<std::uint8_t> reached(tree.n_slots);
    bool shared = false, adds = false;  // a slot with two predecessors; a step before the end
    for (std::uint32_t s = 0; s < tree.n_slots; ++s) {
        const float scaled = s == 0 ? tree.step[s] : tree.step[s] * scale;
        step[s] = static_cast<float>(scaled / (1 + lambda / tree.weight[s]));
        if (tree.is_end(s)) continue;
        adds = adds || step[s] != 0;
        std::uint8_t& seen = reached[tree.slots[s].next & kNextMask];
        shared = shared || seen;
        seen = 1;
    }
    for (std::uint32_t s = 0; !shared && s < tree.n_slots; ++s) {  // successors come later
        if (tree.is_end(s)) continue;
        const std::uint32_t next = tree.slots[s].next & kNextMask;
        step[next] += step[s];
        step[next + 1] += step[s];
    }
    return !(shared && adds);
}

}  // namespace

bool is_sound(const ForestView& forest, std::size_t n_features, ThreadPool* pool) {
    std::atomic<bool> sound{true};
    run_in(pool, forest.n_trees, [&](std::size_t t) {
        const std::int64_t n = forest.starts[t + 1] - forest.starts[t];
        for (std::int64_t i = 0; i < n; ++i)
            if (!is_sound_slot(forest, t, i, n_features)) return sound.store(false);
    });
    return sound;
}

void bake_shrinkage(const ForestView& forest, double lambda, float scale, ThreadPool& pool,
                    float* step, std::uint8_t* at_end) {
    pool.run(forest.n_trees, [&](std::size_t t) {
        at_end[t] = bake_tree(TreeView(forest, t), lambda, scale, step + forest.starts[t]);
    });
}

template <class Code>
void add_scores(const ForestView& forest, const CodeMatrix<Code>& codes, ThreadPool& pool,
                double* scores) {
    walk_forest(forest, codes, pool, [&](std::size_t, std::size_t row, std::uint32_t, float value) {
        scores[row] += value;
    });
}

template <class Code>
bool add_scores_checked(const ForestView& forest, const CodeMatrix<Code>& codes, double* scores) {
    for (std::size_t t = 0; t < forest.n_trees; ++t) {
        const Steps<true, CodeBlock<Code, false>> steps{TreeView(forest, t),
                                                        {codes.data, codes.stride}};
        for (std::size_t row = 0; row < codes.rows; ++row) {
            std::uint32_t at = 0;
            float sum = steps.tree.step[0];
            while (true) {
                if (!is_sound_slot(forest, t, at, codes.features)) return false;
                if (steps.tree.is_end(at)) break;
                at = steps.step(row, at);
                sum += steps.tree.step[at];
            }
            scores[row] += steps.tree.at_end ? steps.tree.step[at] : sum;
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

#define TREERANK_FOR_CODE(Code)                                                                 \
    template void add_scores(const ForestView&, const CodeMatrix<Code>&, ThreadPool&, double*); \
    template bool add_scores_checked(const ForestView&, const CodeMatrix<Code>&, double*);      \
    template void score_each(const ForestView&, const CodeMatrix<Code>&, ThreadPool&, float*);  \
    template void apply_each(const ForestView&, const CodeMatrix<Code>&, ThreadPool&,           \
                             std::int32_t*);
TREERANK_FOR_CODE(std::uint8_t)
TREERANK_FOR_CODE(std::uint16_t)
#undef TREERANK_FOR_CODE

}  // namespace treerank
