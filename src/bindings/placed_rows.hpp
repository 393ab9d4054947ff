// Converts rows by slot between NumPy and the core.
#pragma once

#include <utility>

#include "bindings/arrays.hpp"
#include "core/grow/slot_rows.hpp"

namespace treerank {

inline RowState placed_of(const Vector<std::uint32_t>& rows, const Vector<std::int64_t>& starts,
                          std::size_t n_rows) {
    RowState placed{to_vector(rows), to_vector(starts)};
    const auto& at = placed.starts;
    bool sound = !at.empty() && at.front() == 0 && at.back() == std::ssize(placed.rows);
    for (std::size_t s = 0; s + 1 < at.size(); ++s) sound = sound && at[s] <= at[s + 1];
    for (const Row row : placed.rows) sound = sound && row_id(row) < n_rows;
    if (!sound) throw nb::value_error("rows: slots that do not fit the shard");
    return placed;
}

inline nb::tuple from_placed(RowState&& placed) {
    return nb::make_tuple(to_numpy(std::move(placed.rows)), to_numpy(std::move(placed.starts)));
}

}  // namespace treerank
