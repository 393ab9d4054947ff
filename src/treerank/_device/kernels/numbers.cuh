// Numeric tables on the device: surveyed, gathered and encoded there.
struct Numbers {
    const char* data;
    i64 n_rows, n_columns;
    i64 row_bytes, column_bytes;  // strides; may be negative
    i64 item_bytes;               // 4: float, 8: double
};

DEVICE double number_at(const Numbers& x, i64 row, i64 column) {
    const char* at = x.data + row * x.row_bytes + column * x.column_bytes;
    return x.item_bytes == 4 ? (double)*(const float*)at : *(const double*)at;
}

// What was found in a column. Must be 0 initially.
struct ColumnSeen {
    u64 n_missing, n_infinite;
    u64 first_infinite;  // number of rows from it to the end
};

// Each block surveys some rows of one column.
KERNEL survey_numbers(Numbers x, ColumnSeen* seen) {
    const i64 column = blockIdx.y, step = (i64)gridDim.x * blockDim.x;
    u32 n_missing = 0, n_infinite = 0;
    u64 first = 0;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < x.n_rows; i += step) {
        const double value = number_at(x, i, column);
        n_missing += value != value;
        if (isinf(value)) {
            ++n_infinite;
            if (first == 0) first = (u64)(x.n_rows - i);
        }
    }
    if (n_missing > 0) atomicAdd(&seen[column].n_missing, (u64)n_missing);
    if (n_infinite > 0) {
        atomicAdd(&seen[column].n_infinite, (u64)n_infinite);
        atomicMax(&seen[column].first_infinite, first);
    }
}

// Gathers the given rows in their order, row-major.
KERNEL gather_numbers(Numbers x, const u32* rows, i64 n, char* out) {
    const i64 step = (i64)gridDim.x * blockDim.x, size = n * x.n_columns;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += step) {
        const char* from =
            x.data + rows[i / x.n_columns] * x.row_bytes + i % x.n_columns * x.column_bytes;
        if (x.item_bytes == 4)
            ((u32*)out)[i] = *(const u32*)from;
        else
            ((u64*)out)[i] = *(const u64*)from;
    }
}

// Encodes the numbers, column-major, like src/core/data/binning.cpp. The thresholds of a column are
// padded with infinity to a power of two; `halves` has half of that.
KERNEL encode_numbers(Numbers x, const double* thresholds, const i32* firsts, const i32* halves,
                      CODE* codes) {
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < x.n_rows; i += step) {
        for (i64 column = 0; column < x.n_columns; ++column) {
            const double value = number_at(x, i, column);
            const double* table = thresholds + firsts[column];
            u32 below = 0;
            for (u32 half = (u32)halves[column]; half > 0; half /= 2)
                below += value > table[below + half - 1] ? half : 0;
            codes[column * x.n_rows + i] = (CODE)(value != value ? 0 : below + 1);
        }
    }
}
