#include "core/tree/flat_tree.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/util/large_pages.hpp"

namespace treerank {

namespace {

constexpr std::size_t kRowsPerTask = 8192;
constexpr int kInterleaved = 12;  // independent walks in flight, to hide memory latency
constexpr int kStepsPerTest = 4;
constexpr std::size_t kTasksPerThread = 4;

constexpr std::int8_t kBothSides = 2;

// Returns, by node, the side that all leaves below it share, or kBothSides.
std::vector<std::int8_t> common_sides(const RankTree& tree) {
    std::vector<std::int8_t> side(tree.tests.size());
    for (std::size_t i = tree.tests.size(); i-- > 0;) {
        const LeafRankNode& node = tree.tests[i];
        if (node.left < 0)
            side[i] = static_cast<std::int8_t>(node.side);
        else
            side[i] = side[node.left] == side[node.right] ? side[node.left] : kBothSides;
    }
    return side;
}

// Compiles one tree, cell by cell.
class TreeCompiler {
  public:
    TreeCompiler(const RankTree& tree, std::vector<std::int32_t>* arrival)
        : tree_(tree), arrival_(arrival), entries_(tree.cells.size()) {
        const std::size_t n = tree.tests.size() + 1;
        reserve_large(flat_.slots, n);
        reserve_large(flat_.target, n);
        reserve_large(flat_.test, n);
        add_slots(1);
        flat_.category_sets = tree.category_sets;
        entries_[0].push_back(0);
        if (arrival == nullptr) {
            side_ = common_sides(tree);
        } else {
            reserve_large(*arrival, n);
            arrival->assign(1, -1);
        }
    }

    FlatTree compile(const std::uint8_t* is_split) {
        for (std::size_t c = 0; c < tree_.cells.size(); ++c) {
            if (entries_[c].empty()) continue;
            if (is_split != nullptr ? is_split[c] != 0 : tree_.cells[c].left >= 0)
                add_tests(tree_.cells[c], entries_[c]);
            else
                add_ends(c);
        }
        return std::move(flat_);
    }

  private:
    struct Pending {
        std::uint32_t slot;
        std::int32_t test;
    };

    void add_slots(std::size_t n) {
        flat_.slots.resize(flat_.slots.size() + n);
        flat_.target.resize(flat_.slots.size(), -1);
        flat_.test.resize(flat_.slots.size(), -1);
    }

    void add_ends(std::size_t cell) {
        for (const std::uint32_t slot : entries_[cell]) {
            flat_.slots[slot] = {slot, 0, 0xffff};
            flat_.target[slot] = static_cast<std::int32_t>(cell);
        }
    }

    // The side of the cell to which all leaves at or below a node lead, as far as they are merged.
    std::int32_t side_of(std::int32_t test) const {
        if (arrival_ == nullptr) return side_[test];
        return tree_.tests[test].left < 0 ? tree_.tests[test].side : kBothSides;
    }

    // Writes the tests of a cell once; all slots that lead to it become copies of the first test.
    void add_tests(const Cell& cell, const std::vector<std::uint32_t>& entries) {
        stack_.assign(1, {entries[0], cell.first_test});
        while (!stack_.empty()) {
            const Pending at = stack_.back();
            stack_.pop_back();
            const std::int32_t side = side_of(at.test);
            if (side != kBothSides) {
                entries_[side == 0 ? cell.left : cell.right].push_back(at.slot);
                continue;
            }
            const LeafRankNode& node = tree_.tests[at.test];
            const Pending left{add_test(at), node.left}, right{left.slot + 1, node.right};
            // The heavier side comes next in memory, so that most walks stay in a cache line.
            const bool left_first =
                tree_.tests[node.left].weight.total() >= tree_.tests[node.right].weight.total();
            stack_.push_back(left_first ? right : left);
            stack_.push_back(left_first ? left : right);
        }
        for (const std::uint32_t slot : entries) {
            flat_.slots[slot] = flat_.slots[entries[0]];
            flat_.target[slot] = flat_.target[entries[0]];
            flat_.test[slot] = flat_.test[entries[0]];
        }
    }

    // Writes a test into its slot and adds the slots of its two sides. Returns the left one.
    std::uint32_t add_test(const Pending& at) {
        const LeafRankNode& node = tree_.tests[at.test];
        const SplitCondition& condition = node.condition;
        const auto next = static_cast<std::uint32_t>(flat_.slots.size());
        if (next >= kNextMask - 2) throw std::length_error("the tree has too many tests");
        add_slots(2);
        if (arrival_ != nullptr) {
            arrival_->push_back(node.left);
            arrival_->push_back(node.right);
        }
        flat_.test[at.slot] = at.test;
        Slot& slot = flat_.slots[at.slot];
        slot = {next, static_cast<std::uint16_t>(condition.feature), 0};
        if (condition.categorical) {
            slot.next |= kCategorical;
            flat_.target[at.slot] = condition.cut;
            flat_.any_categorical = true;
        } else if (condition.missing_left) {
            slot.cut = static_cast<std::uint16_t>(condition.cut);
        } else {
            slot.next |= kMissingRight;
            slot.cut = static_cast<std::uint16_t>(condition.cut - 1);
        }
        return next;
    }

    const RankTree& tree_;
    std::vector<std::int32_t>* const arrival_;
    FlatTree flat_;
    std::vector<std::int8_t> side_;                    // by node, if leaves are merged
    std::vector<std::vector<std::uint32_t>> entries_;  // slots that lead to a cell
    std::vector<Pending> stack_;
};

}  // namespace

FlatTree compile_tree(const RankTree& tree, const std::uint8_t* is_split,
                      std::vector<std::int32_t>* arrival) {
    return TreeCompiler(tree, arrival).compile(is_split);
}

bool is_sound(const FlatTree& tree, std::size_t n_features) {
    const std::size_t n = tree.slots.size();
    if (n == 0 || tree.target.size() != n) return false;
    for (std::size_t i = 0; i < n; ++i) {
        const Slot slot = tree.slots[i];
        const std::uint32_t next = slot.next & kNextMask;
        const bool categorical = slot.next & kCategorical;
        if (slot.feature >= n_features && n > 1) return false;
        if (slot.next == i) {
            if (slot.cut != 0xffff || tree.target[i] < 0) return false;
            continue;
        }
        if (next <= i || next + 1 >= n) return false;  // forward only, so every walk ends
        if (categorical && (tree.target[i] < 0 ||
                            static_cast<std::size_t>(tree.target[i]) >= tree.category_sets.size()))
            return false;
    }
    return true;
}

namespace {

// A slot prepared for one table: unpacked, with the offset of its column.
struct ReadySlot {
    std::uint32_t next;
    std::uint16_t cut;
    std::uint16_t shift;
    std::size_t column;
};

template <class Code>
std::vector<ReadySlot> make_ready(const FlatTree& tree, const CodeMatrix<Code>& codes) {
    std::vector<ReadySlot> ready;
    ready.reserve(tree.slots.size());
    for (const Slot slot : tree.slots)
        ready.push_back({slot.next & kNextMask, slot.cut,
                         static_cast<std::uint16_t>((slot.next & kMissingRight) != 0),
                         slot.feature * codes.stride});
    return ready;
}

template <class Code, bool HasCategories>
class Walker {
  public:
    Walker(const FlatTree& tree, const CodeMatrix<Code>& codes)
        : tree_(tree), codes_(codes.data), slots_(make_ready(tree, codes)) {}

    // Finds the cells of n rows; row_of(i) is the index of the i-th.
    template <class RowOf>
    void walk(const RowOf& row_of, std::size_t n, std::int32_t* cells) const {
        std::size_t i = 0;
        for (; i + kInterleaved <= n; i += kInterleaved) {
            std::size_t rows[kInterleaved];
            for (int k = 0; k < kInterleaved; ++k) rows[k] = row_of(i + k);
            walk_together(rows, cells + i);
        }
        for (; i < n; ++i) {
            std::uint32_t at = 0, before = 1;
            while (at != before) {
                before = at;
                at = step(row_of(i), at);
            }
            cells[i] = tree_.target[at];
        }
    }

  private:
    std::uint32_t step(std::size_t row, std::uint32_t at) const {
        const ReadySlot& slot = slots_[at];
        const std::uint16_t code = codes_[slot.column + row];
        if constexpr (HasCategories) {
            if (tree_.slots[at].next & kCategorical)
                return slot.next + !tree_.category_sets[tree_.target[at]].contains(code);
        }
        // If missing values go right, code 0 wraps around to the largest code.
        return slot.next + (static_cast<std::uint16_t>(code - slot.shift) > slot.cut);
    }

    void walk_together(const std::size_t* rows, std::int32_t* cells) const {
        std::uint32_t at[kInterleaved] = {};
        std::uint32_t moved = 1;
        while (moved != 0) {
            for (int s = 0; s < kStepsPerTest - 1; ++s)
                for (int k = 0; k < kInterleaved; ++k) at[k] = step(rows[k], at[k]);
            moved = 0;
            for (int k = 0; k < kInterleaved; ++k) {
                const std::uint32_t next = step(rows[k], at[k]);
                moved |= next ^ at[k];
                at[k] = next;
            }
        }
        for (int k = 0; k < kInterleaved; ++k) cells[k] = tree_.target[at[k]];
    }

    const FlatTree& tree_;
    const Code* codes_;
    const std::vector<ReadySlot> slots_;
};

template <bool HasCategories, class Code>
void walk_all(const FlatTree& tree, const CodeMatrix<Code>& codes, ThreadPool& pool,
              std::int32_t* cells) {
    const Walker<Code, HasCategories> walker(tree, codes);
    run_blocks(pool, codes.rows, kRowsPerTask, [&](std::size_t first, std::size_t last) {
        walker.walk([=](std::size_t i) { return first + i; }, last - first, cells + first);
    });
}

// Each task has counters of its own. They are integers, so they add up to the same sums in any
// order.
template <bool HasCategories, class Code>
std::vector<std::int64_t> weigh_leaves(const FlatTree& tree, const CodeMatrix<Code>& codes,
                                       const WeightedRows& rows, std::size_t n_cells,
                                       ThreadPool& pool) {
    const Walker<Code, HasCategories> walker(tree, codes);
    const std::size_t n_tasks = std::min((codes.rows + kRowsPerTask - 1) / kRowsPerTask,
                                         pool.size() == 1 ? 1 : kTasksPerThread * pool.size());
    std::vector<std::vector<std::int64_t>> weights(n_tasks);
    pool.run(n_tasks, [&](std::size_t t) {
        weights[t].resize(n_cells * rows.n_classes);
        std::vector<std::uint32_t> chosen(kRowsPerTask);
        std::vector<std::int32_t> cells(kRowsPerTask);
        const std::size_t last = (t + 1) * codes.rows / n_tasks;
        for (std::size_t first = t * codes.rows / n_tasks; first < last; first += kRowsPerTask) {
            pool.check();
            std::size_t n = 0;  // branch-free: which rows are chosen is unpredictable
            for (std::size_t row = first; row < std::min(first + kRowsPerTask, last); ++row) {
                chosen[n] = static_cast<std::uint32_t>(row);
                n += rows.weight(row) > 0;
            }
            walker.walk([&](std::size_t i) { return chosen[i]; }, n, cells.data());
            for (std::size_t i = 0; i < n; ++i)
                weights[t][cells[i] * rows.n_classes + rows.labels[chosen[i]]] +=
                    rows.weight(chosen[i]);
        }
    });
    std::vector<std::int64_t> sum(n_cells * rows.n_classes);
    for (const auto& part : weights)
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
    return sum;
}

}  // namespace

template <class Code>
void apply(const FlatTree& tree, const CodeMatrix<Code>& codes, ThreadPool& pool,
           std::int32_t* cells) {
    if (tree.any_categorical)
        walk_all<true>(tree, codes, pool, cells);
    else
        walk_all<false>(tree, codes, pool, cells);
}

template <class Code>
std::vector<std::int64_t> leaf_weights(const FlatTree& tree, const CodeMatrix<Code>& codes,
                                       const WeightedRows& rows, std::size_t n_cells,
                                       ThreadPool& pool) {
    return tree.any_categorical ? weigh_leaves<true>(tree, codes, rows, n_cells, pool)
                                : weigh_leaves<false>(tree, codes, rows, n_cells, pool);
}

template std::vector<std::int64_t> leaf_weights(const FlatTree&, const CodeMatrix<std::uint8_t>&,
                                                const WeightedRows&, std::size_t, ThreadPool&);
template std::vector<std::int64_t> leaf_weights(const FlatTree&, const CodeMatrix<std::uint16_t>&,
                                                const WeightedRows&, std::size_t, ThreadPool&);
template void apply(const FlatTree&, const CodeMatrix<std::uint8_t>&, ThreadPool&, std::int32_t*);
template void apply(const FlatTree&, const CodeMatrix<std::uint16_t>&, ThreadPool&, std::int32_t*);

}  // namespace treerank
