// Scores rows by the trees that did not draw them: for several amounts of shrinkage at once, or for
// one of them feature by feature.
#include <algorithm>
#include <memory>
#include <type_traits>

#include "core/tree/forest.hpp"
#include "core/tree/forest_walk.hpp"

namespace treerank {

namespace {

using Lambdas = float[kMaxLambdas];

constexpr std::size_t kRowsPerTask = kRowsTogether;
// The number of slots whose sums are kept at a time, unless one tree has more.
constexpr std::size_t kSlotsTogether = std::size_t{1} << 19;
// A walk takes about this many steps, each as long as computing the sum of a slot in advance.
constexpr std::size_t kStepsOfWalk = 16;

// The codes of the requested rows; copied row by row if rows are short.
template <class Code>
struct AskedCodes {
    CodeMatrix<Code> codes;
    const std::vector<std::uint32_t>& rows;
    std::unique_ptr<Code[]> copy;

    AskedCodes(const CodeMatrix<Code>& given, const std::vector<std::uint32_t>& asked,
               ThreadPool& pool)
        : codes(given), rows(asked) {
        const std::size_t p = codes.features, n = rows.size();
        if (p * sizeof(Code) > kWideRow) return;
        copy = std::make_unique_for_overwrite<Code[]>(n * p);
        run_blocks(pool, n, kRowsPerTask, [&](std::size_t first, std::size_t last) {
            for (std::size_t f = 0; f < p; ++f)
                for (std::size_t i = first; i < last; ++i)
                    copy[i * p + f] = codes.column(f)[rows[i]];
        });
    }
};

// Some rows of a task, as a block to walk.
template <class Code, bool ByRow>
struct ListedBlock : CodeBlock<Code, ByRow> {
    const std::uint32_t* listed;  // indices within the task
    const std::uint32_t* rows;    // by index: the row of the table

    std::size_t place(std::size_t i) const {
        return ByRow ? listed[i] * this->stride : rows[listed[i]];
    }
};

// Sums by lambda for each row, starting at the first row of a task.
struct Sums {
    double* first;
    std::size_t n_lambdas;

    void add(std::size_t row, const float* values) const {
        double* sum = first + row * n_lambdas;
        for (std::size_t g = 0; g < n_lambdas; ++g) sum[g] += values[g];
    }
};

// Returns, for each slot, what a walk that ends there has added, for every lambda. Empty if a slot
// can be reached in several ways, which add different sums.
std::vector<float> sums_by_slot(const TreeView& tree, const Lambdas& lambdas) {
    const float *step = tree.step, *weight = tree.weight;
    std::vector<std::uint8_t> reached(tree.n_slots);
    std::vector<float> sums(tree.n_slots * kMaxLambdas);
    for (std::uint32_t s = 0; s < tree.n_slots; ++s) {  // successors come later
        if (tree.is_end(s)) continue;
        const std::uint32_t next = tree.slots[s].next & kNextMask;
        if (reached[next] || reached[next + 1]) return {};
        const float* before = sums.data() + s * kMaxLambdas;
        for (const std::uint32_t to : {next, next + 1}) {
            reached[to] = 1;
            float* after = sums.data() + to * kMaxLambdas;
            for (std::size_t g = 0; g < kMaxLambdas; ++g)
                after[g] = before[g] + step[to] * weight[to] / (weight[to] + lambdas[g]);
        }
    }
    return sums;
}

// Walks one row and adds its sums for all lambdas at once.
template <class Steps>
void walk_and_add(const Steps& steps, std::size_t row, const Lambdas& lambdas, const Sums& sums) {
    const float *step = steps.tree.step, *weight = steps.tree.weight;
    const std::size_t place = steps.block.place(row);
    float total[kMaxLambdas] = {};
    std::uint32_t at = 0;
    for (std::uint32_t next; (next = steps.step(place, at)) != at; at = next)
        for (std::size_t g = 0; g < kMaxLambdas; ++g)
            total[g] += step[next] * weight[next] / (weight[next] + lambdas[g]);
    sums.add(steps.block.listed[row], total);
}

// Adds the values of one tree for some rows.
template <bool HasCategories, class Block>
void add_tree(const TreeView& tree, const std::vector<float>& by_slot, const Block& block,
              std::size_t n, const Lambdas& lambdas, const Sums& sums) {
    const Steps<HasCategories, Block> steps{tree, block};
    if (by_slot.empty()) {
        for (std::size_t i = 0; i < n; ++i) walk_and_add(steps, i, lambdas, sums);
        return;
    }
    Walker<false, Steps<HasCategories, Block>>(steps).walk(
        n, [&](std::size_t i, std::uint32_t slot, float) {
            sums.add(block.listed[i], by_slot.data() + slot * kMaxLambdas);
        });
}

// Adds the values of one tree for some rows, crediting each step to the feature that is tested
// before it. `sums` are by feature, for each row of the task.
template <bool HasCategories, class Block>
void add_steps(const TreeView& tree, const Block& block, std::size_t n, float lambda,
               std::size_t n_features, double* sums) {
    const Steps<HasCategories, Block> steps{tree, block};
    const float *step = tree.step, *weight = tree.weight;
    for (std::size_t i = 0; i < n; ++i) {
        double* own = sums + block.listed[i] * n_features;
        const std::size_t place = block.place(i);
        std::uint32_t at = 0;
        for (std::uint32_t next; (next = steps.step(place, at)) != at; at = next)
            own[tree.slots[at].feature] += step[next] * weight[next] / (weight[next] + lambda);
    }
}

// Calls add(has_categories, block) with the `listed` rows of the task that starts at the requested
// row `first`.
template <class Code, class Add>
void with_block(const ForestView& forest, const AskedCodes<Code>& asked, std::size_t first,
                const std::vector<std::uint32_t>& listed, Add add) {
    const auto either = [&](const auto& block) {
        if (forest.set_of != nullptr)
            add(std::true_type{}, block);
        else
            add(std::false_type{}, block);
    };
    const std::size_t p = asked.codes.features;
    const std::uint32_t* rows = asked.rows.data() + first;
    if (asked.copy)
        either(ListedBlock<Code, true>{{asked.copy.get() + first * p, p}, listed.data(), rows});
    else
        either(
            ListedBlock<Code, false>{{asked.codes.data, asked.codes.stride}, listed.data(), rows});
}

// One bit per tree and row: whether the row was drawn.
class DrawnRows {
  public:
    DrawnRows(const DrawnFrom& from, std::size_t n_trees, std::size_t n_rows,
              const std::vector<std::uint32_t>& asked, ThreadPool& pool)
        : words_((asked.size() + 63) / 64), bits_(words_ * n_trees) {
        pool.run(n_trees, [&](std::size_t t) {
            pool.check();
            const auto counts =
                draw_counts(from.sampling, from.first_tree + t, from.n_all, from.first, n_rows);
            for (std::size_t i = 0; i < asked.size(); ++i)
                if (counts[asked[i]] > 0) bits_[t * words_ + i / 64] |= std::uint64_t{1} << i % 64;
        });
    }
    // Lists which of the rows [first, last) the tree did not draw, numbered from 0, and counts the
    // tree for each of them.
    void list_unseen(std::size_t tree, std::size_t first, std::size_t last,
                     std::vector<std::uint32_t>& unseen, std::int32_t* n_trees) const {
        unseen.clear();
        for (std::size_t i = first; i < last; ++i) {
            if (is_drawn(tree, i)) continue;
            unseen.push_back(static_cast<std::uint32_t>(i - first));
            ++n_trees[i];
        }
    }

  private:
    bool is_drawn(std::size_t tree, std::size_t i) const {
        return (bits_[tree * words_ + i / 64] >> (i % 64)) & 1;
    }

    std::size_t words_;
    std::vector<std::uint64_t> bits_;
};

}  // namespace

template <class Code>
void score_out_of_bag(const ForestView& forest, const CodeMatrix<Code>& codes,
                      const DrawnFrom& drawn_from, const std::vector<std::uint32_t>& rows,
                      const std::vector<float>& lambdas, ThreadPool& pool, double* sums,
                      std::int32_t* n_trees) {
    Lambdas padded = {};
    std::copy(lambdas.begin(), lambdas.end(), padded);
    const DrawnRows draws(drawn_from, forest.n_trees, codes.rows, rows, pool);
    const AskedCodes<Code> asked(codes, rows, pool);
    std::fill_n(sums, rows.size() * lambdas.size(), 0.0);
    std::fill_n(n_trees, rows.size(), 0);
    for (std::size_t first = 0, last = 0; first < forest.n_trees; first = last) {
        const auto fits = [&](std::size_t tree) {
            return static_cast<std::size_t>(forest.starts[tree + 1] - forest.starts[first]) <=
                   kSlotsTogether;
        };
        for (last = first + 1; last < forest.n_trees && fits(last);) ++last;
        std::vector<std::vector<float>> by_slot(last - first);
        pool.run(last - first, [&](std::size_t t) {
            const TreeView tree(forest, first + t);
            if (tree.n_slots <= kStepsOfWalk * rows.size()) by_slot[t] = sums_by_slot(tree, padded);
        });
        run_blocks(pool, rows.size(), kRowsPerTask, [&](std::size_t start, std::size_t end) {
            const Sums own{sums + start * lambdas.size(), lambdas.size()};
            std::vector<std::uint32_t> unseen;
            for (std::size_t t = first; t < last; ++t) {
                pool.check();
                draws.list_unseen(t, start, end, unseen, n_trees);
                with_block(forest, asked, start, unseen, [&](auto categories, const auto& block) {
                    add_tree<categories.value>(TreeView(forest, t), by_slot[t - first], block,
                                               unseen.size(), padded, own);
                });
            }
        });
    }
}

template <class Code>
void score_out_of_bag_by_feature(const ForestView& forest, const CodeMatrix<Code>& codes,
                                 const DrawnFrom& drawn_from,
                                 const std::vector<std::uint32_t>& rows, float lambda,
                                 ThreadPool& pool, double* sums, std::int32_t* n_trees) {
    const DrawnRows draws(drawn_from, forest.n_trees, codes.rows, rows, pool);
    const AskedCodes<Code> asked(codes, rows, pool);
    const std::size_t p = codes.features;
    std::fill_n(sums, rows.size() * p, 0.0);
    std::fill_n(n_trees, rows.size(), 0);
    run_blocks(pool, rows.size(), kRowsPerTask, [&](std::size_t start, std::size_t end) {
        std::vector<std::uint32_t> unseen;
        for (std::size_t t = 0; t < forest.n_trees; ++t) {
            pool.check();
            draws.list_unseen(t, start, end, unseen, n_trees);
            with_block(forest, asked, start, unseen, [&](auto categories, const auto& block) {
                add_steps<categories.value>(TreeView(forest, t), block, unseen.size(), lambda, p,
                                            sums + start * p);
            });
        }
    });
}

template void score_out_of_bag(const ForestView&, const CodeMatrix<std::uint8_t>&, const DrawnFrom&,
                               const std::vector<std::uint32_t>&, const std::vector<float>&,
                               ThreadPool&, double*, std::int32_t*);
template void score_out_of_bag(const ForestView&, const CodeMatrix<std::uint16_t>&,
                               const DrawnFrom&, const std::vector<std::uint32_t>&,
                               const std::vector<float>&, ThreadPool&, double*, std::int32_t*);
template void score_out_of_bag_by_feature(const ForestView&, const CodeMatrix<std::uint8_t>&,
                                          const DrawnFrom&, const std::vector<std::uint32_t>&,
                                          float, ThreadPool&, double*, std::int32_t*);
template void score_out_of_bag_by_feature(const ForestView&, const CodeMatrix<std::uint16_t>&,
                                          const DrawnFrom&, const std::vector<std::uint32_t>&,
                                          float, ThreadPool&, double*, std::int32_t*);

}  // namespace treerank
