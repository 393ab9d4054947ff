// The training table, and the views that the row numbers of a cell refer to.
#pragma once

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

// Rows of a node are scattered if the node has fewer than one in this many rows of its view.
inline constexpr std::size_t kScattered = 16;

// The table that the row numbers of a cell refer to. A cell much smaller than its view gets a
// compact view of its own, so that its codes are close together in memory.
template <class Code>
struct View {
    CodeMatrix<Code> codes;
    CodeMatrix<Code> by_row;                // row-major copy; may be empty
    const std::int64_t* weights = nullptr;  // units; null: rows carry repeat counts
    const std::uint8_t* classes = nullptr;  // null for two classes: rows carry label bits
    std::unique_ptr<Code[]> own_codes;
    std::vector<std::int64_t> own_weights;
    std::vector<std::uint8_t> own_classes;
    std::vector<std::uint8_t> side;  // by row: which child it goes to

    // Returns the matrix from which to read n rows. If they are few of the view's rows, each is in
    // cache lines of its own, and in the row-major copy one line serves all features.
    const CodeMatrix<Code>& codes_for(std::size_t n) const {
        return by_row.data != nullptr && n * kScattered < codes.rows ? by_row : codes;
    }
    // Copies the weights of rows[0, n) of another view, in this order.
    void copy_weights(const View& from, const Row* rows, std::size_t n) {
        if (from.weights == nullptr) return;
        own_weights.resize(n);
        for (std::size_t i = 0; i < n; ++i) own_weights[i] = from.weights[row_id(rows[i])];
        weights = own_weights.data();
    }
};

// A view of all rows of a table.
template <class Code>
View<Code> view_of(const Table<Code>& table) {
    View<Code> view;
    view.codes = table.codes;
    view.by_row = table.by_row;
    view.weights = table.weights;
    view.classes = table.n_classes > 2 ? table.labels : nullptr;
    return view;
}

inline std::int64_t units_of(Row row, const std::int64_t* weights) {
    return weights != nullptr ? weights[row_id(row)] : static_cast<std::int64_t>(row & kRepeatMask);
}

}  // namespace treerank
