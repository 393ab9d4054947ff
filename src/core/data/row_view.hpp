// The training table, and the views that the row numbers of a cell refer to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/data/types.hpp"

namespace treerank {

// The training table as the grower sees it.
template <class Code>
struct Table {
    CodeMatrix<Code> codes;
    CodeMatrix<Code> by_row;  // row-major copy, for forests; may be empty
    Features features;
    const std::uint8_t* labels = nullptr;   // class numbers, worst class first
    const std::int64_t* weights = nullptr;  // units; null: weights are repeat counts
    std::size_t n_classes = 2;
    // Soft labels: the units of each row in each class (rows x classes), all of which must add up
    // to less than 2^32. Null: a row belongs to one class. Not combined with `weights`.
    const std::uint32_t* soft = nullptr;
};

// Rows with their classes and weights. Weights are repeat counts, units, or neither (every row
// counts once). With `folds`, only the rows of fold number `fold` have weight.
struct WeightedRows {
    const std::uint8_t* labels = nullptr;
    std::size_t n_classes = 2;
    const std::uint8_t* repeats = nullptr;
    const std::int64_t* units = nullptr;
    const std::int32_t* folds = nullptr;
    std::int32_t fold = 0;

    std::int64_t weight(std::size_t row) const {
        if (folds != nullptr && folds[row] != fold) return 0;
        return repeats != nullptr ? repeats[row] : units != nullptr ? units[row] : 1;
    }
};

// Larger tables of codes do not fit in a core's own cache.
inline constexpr std::size_t kCacheBytes = 512 * 1024;

// Rows of a node are scattered if the node has fewer than one in this many rows of its view.
inline constexpr std::size_t kScattered = 16;

// The table that the row numbers of a cell refer to. A cell much smaller than its view gets a
// compact view of its own, so that its codes are close together in memory.
template <class Code>
struct View {
    CodeMatrix<Code> codes;
    CodeMatrix<Code> by_row;  // row-major copy; may be empty
    // Units; null: rows carry repeat counts. With soft labels, a PackedCount: the units of a row in
    // both classes of a pair.
    const std::int64_t* weights = nullptr;
    bool has_soft_weights = false;
    const std::uint8_t* classes = nullptr;  // null for two classes: rows carry label bits
    const std::uint32_t* soft = nullptr;    // rows x classes, for soft labels of more than two
    std::unique_ptr<Code[]> own_codes;
    std::vector<std::int64_t> own_weights;
    std::vector<std::uint8_t> own_classes;
    std::vector<std::uint32_t> own_soft;
    std::vector<std::uint8_t> side;  // by row: which child it goes to

    // Returns the matrix from which to read n rows. If they are few of the view's rows, each is in
    // cache lines of its own, and in the row-major copy one line serves all features.
    const CodeMatrix<Code>& codes_for(std::size_t n) const {
        return by_row.data != nullptr && n * kScattered < codes.rows ? by_row : codes;
    }
    // Copies the weights of rows[0, n) of another view, in this order.
    void copy_weights(const View& from, const Row* rows, std::size_t n) {
        if (from.weights == nullptr) return;
        has_soft_weights = from.has_soft_weights;
        own_weights.resize(n);
        for (std::size_t i = 0; i < n; ++i) own_weights[i] = from.weights[row_id(rows[i])];
        weights = own_weights.data();
    }
    // Copies what tells the classes of the rows apart, if there are more than two.
    void copy_classes(const View& from, const Row* rows, std::size_t n, std::size_t n_classes) {
        if (from.classes != nullptr) {
            own_classes.resize(n);
            for (std::size_t i = 0; i < n; ++i) own_classes[i] = from.classes[row_id(rows[i])];
            classes = own_classes.data();
        }
        if (from.soft != nullptr) {
            own_soft.resize(n * n_classes);
            for (std::size_t i = 0; i < n; ++i)
                std::copy_n(from.soft + row_id(rows[i]) * n_classes, n_classes,
                            own_soft.data() + i * n_classes);
            soft = own_soft.data();
        }
    }
};

// Soft labels of a row in a pair of classes, as a weight of a view.
inline std::int64_t soft_weight(std::uint32_t worse, std::uint32_t better) {
    return static_cast<std::int64_t>(PackedCount{better} << 32 | worse);
}

// A view of all rows of a table.
template <class Code>
View<Code> view_of(const Table<Code>& table) {
    View<Code> view;
    view.codes = table.codes;
    view.by_row = table.by_row;
    view.weights = table.weights;
    if (table.n_classes > 2) {
        view.classes = table.labels;
        view.soft = table.soft;
    } else if (table.soft != nullptr) {
        view.own_weights.resize(table.codes.rows);
        for (std::size_t i = 0; i < table.codes.rows; ++i)
            view.own_weights[i] = soft_weight(table.soft[2 * i], table.soft[2 * i + 1]);
        view.weights = view.own_weights.data();
        view.has_soft_weights = true;
    }
    return view;
}

// The units of a row that belongs to one class.
inline std::int64_t units_of(Row row, const std::int64_t* weights) {
    return weights != nullptr ? weights[row_id(row)] : static_cast<std::int64_t>(row & kRepeatMask);
}

// The units of a row in both classes of a pair.
template <class Code>
WideCount pair_units(Row row, const View<Code>& view) {
    if (view.has_soft_weights) return widened(static_cast<PackedCount>(view.weights[row_id(row)]));
    const std::int64_t units = units_of(row, view.weights);
    return (row & kLabelBit) != 0 ? WideCount{0, units} : WideCount{units, 0};
}

// Sums the units of rows [first, last) by class.
template <class Code>
std::vector<double> class_weights(const Row* first, const Row* last, const View<Code>& view,
                                  std::size_t n_classes) {
    std::int64_t units[kMaxClasses] = {};
    if (view.soft != nullptr) {
        for (const Row* row = first; row < last; ++row)
            for (std::size_t k = 0; k < n_classes; ++k)
                units[k] += view.soft[row_id(*row) * n_classes + k];
    } else if (view.classes != nullptr) {
        for (const Row* row = first; row < last; ++row)
            units[view.classes[row_id(*row)]] += units_of(*row, view.weights);
    } else {
        WideCount pair;
        for (const Row* row = first; row < last; ++row) pair += pair_units(*row, view);
        units[0] = pair.negative;
        units[1] = pair.positive;
    }
    return {units, units + n_classes};
}

}  // namespace treerank
