#include "core/tree/dependence.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace treerank {

namespace {

constexpr std::size_t kRowsPerBlock = 16384;
constexpr std::size_t kMaxBlocks = 64;

using GridSet = std::uint64_t;  // points of a grid, one bit each

bool goes_left(const FlatTree& tree, std::size_t at, std::uint32_t code) {
    const Slot slot = tree.slots[at];
    if (slot.next & kCategorical) return tree.category_sets[tree.target[at]].contains(code);
    return slot.sends_left(static_cast<std::uint16_t>(code));
}

// Returns, for each test on the feature, the grid points that it sends left.
std::vector<GridSet> left_places(const FlatTree& tree, const Varied& varied) {
    std::vector<GridSet> left(tree.slots.size(), 0);
    for (std::size_t at = 0; at < left.size(); ++at) {
        if (tree.slots[at].next == at || tree.slots[at].feature != varied.feature) continue;
        for (std::size_t i = 0; i < varied.codes.size(); ++i)
            left[at] |= GridSet{goes_left(tree, at, varied.codes[i])} << i;
    }
    return left;
}

GridSet all_places(const Varied& varied) { return ~GridSet{0} >> (kMaxGrid - varied.codes.size()); }

// Rows that walk together, each with all grid points in `first` x `second` at once. A test on
// another feature splits the rows; a test on a varied feature splits the grid points, and both
// parts keep all rows: they share a range, which each part only permutes.
template <class Code>
class GroupWalk {
  public:
    GroupWalk(const FlatTree& tree, const CodeMatrix<Code>& codes, const double* weights,
              const double* cell_values, const Varied& first, const Varied& second)
        : tree_(tree),
          codes_(codes),
          weights_(weights),
          cell_values_(cell_values),
          first_(first),
          second_(second),
          left_first_(left_places(tree, first)),
          left_second_(left_places(tree, second)) {}

    // Adds the sums over rows [begin, end) to `table`.
    void walk(std::size_t begin, std::size_t end, const ThreadPool& pool, double* table) const {
        std::vector<std::uint32_t> rows(end - begin), scratch(end - begin);
        std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(begin));
        std::vector<Group> stack{{0, 0, rows.size(), all_places(first_), all_places(second_)}};
        while (!stack.empty()) {
            pool.check();
            const Group group = stack.back();
            stack.pop_back();
            const Slot slot = tree_.slots[group.slot];
            if (slot.next == group.slot) {
                add(group, rows.data(), table);
            } else if (slot.feature == first_.feature) {
                const GridSet left = group.first & left_first_[group.slot];
                push(stack, group, slot, {left, group.second}, {group.first & ~left, group.second});
            } else if (slot.feature == second_.feature) {
                const GridSet left = group.second & left_second_[group.slot];
                push(stack, group, slot, {group.first, left}, {group.first, group.second & ~left});
            } else {
                const std::size_t middle =
                    group.begin + partition(group, rows.data() + group.begin, scratch.data());
                const std::uint32_t next = slot.next & kNextMask;
                if (middle > group.begin)
                    stack.push_back({next, group.begin, middle, group.first, group.second});
                if (middle < group.end)
                    stack.push_back({next + 1, middle, group.end, group.first, group.second});
            }
        }
    }

  private:
    struct Group {
        std::uint32_t slot;
        std::size_t begin, end;
        GridSet first, second;
    };
    struct Places {
        GridSet first, second;
    };

    static void push(std::vector<Group>& stack, const Group& group, Slot slot, Places left,
                     Places right) {
        const std::uint32_t next = slot.next & kNextMask;
        if (left.first != 0 && left.second != 0)
            stack.push_back({next, group.begin, group.end, left.first, left.second});
        if (right.first != 0 && right.second != 0)
            stack.push_back({next + 1, group.begin, group.end, right.first, right.second});
    }

    // Moves the rows that go left to the front and returns their number.
    std::size_t partition(const Group& group, std::uint32_t* rows, std::uint32_t* scratch) const {
        const Slot slot = tree_.slots[group.slot];
        const Code* column = codes_.column(slot.feature);
        const CategorySet* set =
            slot.next & kCategorical ? &tree_.category_sets[tree_.target[group.slot]] : nullptr;
        std::size_t left = 0, right = 0;
        for (std::size_t i = 0; i < group.end - group.begin; ++i) {
            const std::uint32_t row = rows[i];
            const std::uint16_t code = column[row];
            const bool goes_right = set != nullptr ? !set->contains(code) : !slot.sends_left(code);
            rows[left] = row;
            scratch[right] = row;
            left += !goes_right;
            right += goes_right;
        }
        std::copy_n(scratch, right, rows + left);
        return left;
    }

    void add(const Group& group, const std::uint32_t* rows, double* table) const {
        double weight = static_cast<double>(group.end - group.begin);
        if (weights_ != nullptr) {
            weight = 0;
            for (std::size_t i = group.begin; i < group.end; ++i) weight += weights_[rows[i]];
        }
        const double value = weight * cell_values_[tree_.target[group.slot]];
        for (GridSet a = group.first; a != 0; a &= a - 1) {
            double* line = table + std::countr_zero(a) * second_.codes.size();
            for (GridSet b = group.second; b != 0; b &= b - 1) line[std::countr_zero(b)] += value;
        }
    }

    const FlatTree& tree_;
    const CodeMatrix<Code>& codes_;
    const double* weights_;
    const double* cell_values_;
    const Varied& first_;
    const Varied& second_;
    const std::vector<GridSet> left_first_;
    const std::vector<GridSet> left_second_;
};

}  // namespace

template <class Code>
std::vector<double> sum_over_rows(const FlatTree& tree, const CodeMatrix<Code>& codes,
                                  const double* weights, const double* cell_values,
                                  const Varied& first, const Varied& second, ThreadPool& pool) {
    const GroupWalk<Code> group_walk(tree, codes, weights, cell_values, first, second);
    const std::size_t size = first.codes.size() * second.codes.size();
    // Blocks depend on the number of rows only and are summed in order, so the sums do not depend
    // on the threads.
    const std::size_t n_blocks = std::clamp(codes.rows / kRowsPerBlock, std::size_t{1}, kMaxBlocks);
    std::vector<double> tables(n_blocks * size, 0.0);
    pool.run(n_blocks, [&](std::size_t b) {
        group_walk.walk(b * codes.rows / n_blocks, (b + 1) * codes.rows / n_blocks, pool,
                        tables.data() + b * size);
    });
    for (std::size_t b = 1; b < n_blocks; ++b)
        for (std::size_t i = 0; i < size; ++i) tables[i] += tables[b * size + i];
    tables.resize(size);
    return tables;
}

template std::vector<double> sum_over_rows(const FlatTree&, const CodeMatrix<std::uint8_t>&,
                                           const double*, const double*, const Varied&,
                                           const Varied&, ThreadPool&);
template std::vector<double> sum_over_rows(const FlatTree&, const CodeMatrix<std::uint16_t>&,
                                           const double*, const double*, const Varied&,
                                           const Varied&, ThreadPool&);

}  // namespace treerank
