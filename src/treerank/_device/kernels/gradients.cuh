// Boosting rounds: the gradients of the scores, partitions of rows, and updates of the scores.
struct Gradient {
    i32 gradient, hessian;
};

// Rows [first, first + n) of a buffer. The host numbers histograms and replaces the numbers by
// addresses.
struct RowMove {
    i64 from, to, n, from_buffer, to_buffer;
};
struct CountedRows {
    i64 first, n, buffer;
    GradientSum* counted;
    const GradientSum* whole;  // the parent's; `rest` gets whole - counted
    GradientSum* rest;
};
struct BoostedNode {
    i64 first, n, buffer;
    const GradientSum* histogram;
    GradientSum sum;
    double lower, upper;
};
struct BoostedCut {
    double gain;
    i32 feature, cut, missing_left, categorical;
    GradientSum left;
    CategorySet set;
    u32 n_left, n_right;
};
struct ScoreStep {
    i64 first, n, buffer;
    double value;
};
struct GradientSquares {
    u64 gg, gh, hh;
};
struct NewtonLevels;

// Everything that the boosting kernels work on.
struct Boosting {
    const CODE* codes;  // row-major, `stride` codes per row
    i64 stride;
    RowBlock block;
    const i64* units;  // by row, if WIDE
    const i32* n_codes;
    const u8* categorical;
    const i8* monotonic;
    u32* rows[4];
    Gradient* gradients;
    const i32* chosen;   // features of the tree
    const i32* offsets;  // where the bins of each of them begin in a histogram; and the end
    i64 n_chosen, size;
    NewtonLevels* levels;            // buffers for the levels of a category, one per warp
    const GradientSquares* squares;  // by node; null: no category has many levels
    i64 square_shift, min_weight;
    double gradient_unit, hessian_unit, l2, independent_weight;
};

// The derivatives of a row: given, or those of the logistic loss.
struct Derivatives {
    const double* first;  // null: computed from the scores
    const double* second;
    const double* scores;
    const u8* labels;
};
DEVICE void derive(const Derivatives& given, i64 i, double& first, double& second) {
    if (given.first) {
        first = given.first[i];
        second = given.second[i];
        return;
    }
    const double share = sigmoid(given.scores[i]);
    first = share - given.labels[i];
    second = share * (1 - share);
}

DEVICE double largest_of_lanes(double value) {
    for (int step = 16; step > 0; step >>= 1) {
        const double other = __shfl_xor_sync(FULL_WARP, value, step);
        value = value < other ? other : value;
    }
    return value;
}

// Finds the largest absolute derivatives. `largest` must be 0 initially. Doubles of one sign are in
// the order of their bits.
KERNEL largest_derivatives(Derivatives given, i64 n, u64* largest) {
    double a = 0, b = 0;
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        double first, second;
        derive(given, i, first, second);
        first = fabs(first);
        second = fabs(second);
        a = a < first ? first : a;
        b = b < second ? second : b;
    }
    a = largest_of_lanes(a);
    b = largest_of_lanes(b);
    if (lane_of() == 0) {
        atomicMax(largest, (u64)__double_as_longlong(a));
        atomicMax(largest + 1, (u64)__double_as_longlong(b));
    }
}

// Maps doubles to integers in the same order, none of which is 0.
DEVICE u64 ordered(double value) {
    const u64 bits = (u64)__double_as_longlong(value);
    return bits ^ ((bits >> 63) ? ~0ull : 1ull << 63);
}

// Finds the scores that determine the largest derivatives of the logistic loss, as the core does
// (src/core/grow/round_gradients.cpp): the lowest of the positives, the highest of the negatives
// and the smallest distance from 0. The first and the last have reversed signs. `found` must be 0
// initially.
KERNEL extreme_scores(const double* scores, const u8* labels, i64 n, u64* found) {
    const double none = -__longlong_as_double(0x7ff0000000000000ll);
    double a = none, b = none, c = none;
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const double score = scores[i], near = -fabs(score);
        if (labels[i] != 0)
            a = a < -score ? -score : a;
        else
            b = b < score ? score : b;
        c = c < near ? near : c;
    }
    a = largest_of_lanes(a);
    b = largest_of_lanes(b);
    c = largest_of_lanes(c);
    if (lane_of() == 0) {
        atomicMax(found, ordered(a));
        atomicMax(found + 1, ordered(b));
        atomicMax(found + 2, ordered(c));
    }
}

DEVICE i32 rounded(double value) {
    const double shift = 6755399441055744.0;
    return (i32)((value + shift) - shift);
}

KERNEL round_derivatives(Derivatives given, i64 n, double gradient_unit, double hessian_unit,
                         Gradient* gradients) {
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        double first, second;
        derive(given, i, first, second);
        gradients[i] = {rounded(first / gradient_unit), rounded(second / hessian_unit)};
    }
}

DEVICE i64 weight_of_row(const Boosting& b, u32 row) {
#if WIDE
    return b.units[row];
#else
    return 1;
#endif
}

KERNEL number_rows(u32* rows, i64 n) {
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) rows[i] = (u32)i;
}

DEVICE bool goes_left(const BoostedCut& cut, u32 code) {
    if (cut.categorical) return contains(cut.set, code);
    return code == 0 ? cut.missing_left != 0 : (i32)code <= cut.cut;
}

// Partitions the rows of nodes that have a cut, from their buffer into the next: left rows from the
// front, right rows from the end. The order within each side does not matter.
#define PARTITION_ROWS 8
#define PART_WARPS 8
KERNEL partition_boosted(Boosting b, const BoostedNode* nodes, BoostedCut* cuts, const uint2* ranges,
                    i32 rows_per_block) {
    __shared__ u32 lefts[PART_WARPS];
    __shared__ u32 rights[PART_WARPS];
    const uint2 range = ranges[blockIdx.x];
    const BoostedNode node = nodes[range.x];
    const BoostedCut cut = cuts[range.x];
    if (cut.feature < 0) return;
    const u32* from = b.rows[node.buffer];
    u32* to = b.rows[node.buffer < 2 ? 2 : 5 - node.buffer];
    const i64 last = node.first + node.n;
    const i64 end = (i64)range.y + rows_per_block < last ? (i64)range.y + rows_per_block : last;
    const u32 warp = warp_of(), lane = lane_of(), below = (1u << lane) - 1;
    for (i64 tile = range.y; tile < end; tile += (i64)blockDim.x * PARTITION_ROWS) {
        u32 row[PARTITION_ROWS], left_lanes[PARTITION_ROWS], right_lanes[PARTITION_ROWS];
        u32 n_left = 0, n_right = 0;
        for (int j = 0; j < PARTITION_ROWS; ++j) {
            const i64 i = tile + (i64)(warp * PARTITION_ROWS + j) * 32 + lane;
            row[j] = i < end ? from[i] : 0;
            const bool is_row = i < end && is_in(b.block, row[j]);
            const bool left = is_row && goes_left(cut, b.codes[(i64)row[j] * b.stride + cut.feature]);
            left_lanes[j] = __ballot_sync(FULL_WARP, left);
            right_lanes[j] = __ballot_sync(FULL_WARP, is_row && !left);
            n_left += __popc(left_lanes[j]);
            n_right += __popc(right_lanes[j]);
        }
        if (lane == 0) {
            lefts[warp] = n_left;
            rights[warp] = n_right;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            u32 all_left = 0, all_right = 0;
            for (int w = 0; w < PART_WARPS; ++w) {
                all_left += lefts[w];
                all_right += rights[w];
            }
            u32 at_left = atomicAdd(&cuts[range.x].n_left, all_left);
            u32 at_right = atomicAdd(&cuts[range.x].n_right, all_right);
            for (int w = 0; w < PART_WARPS; ++w) {
                const u32 some_left = lefts[w], some_right = rights[w];
                lefts[w] = at_left;
                rights[w] = at_right;
                at_left += some_left;
                at_right += some_right;
            }
        }
        __syncthreads();
        u32* left_to = to + node.first + lefts[warp];
        u32* right_to = to + last - 1 - (i64)rights[warp];
        for (int j = 0; j < PARTITION_ROWS; ++j) {
            if ((left_lanes[j] >> lane) & 1) left_to[__popc(left_lanes[j] & below)] = row[j];
            if ((right_lanes[j] >> lane) & 1) *(right_to - __popc(right_lanes[j] & below)) = row[j];
            left_to += __popc(left_lanes[j]);
            right_to -= __popc(right_lanes[j]);
        }
        __syncthreads();
    }
}

KERNEL move_rows(Boosting b, const RowMove* moves, const uint2* ranges, i32 rows_per_block) {
    const uint2 range = ranges[blockIdx.x];
    const RowMove move = moves[range.x];
    const u32* from = b.rows[move.from_buffer];
    u32* to = b.rows[move.to_buffer] + move.to - move.from;
    const i64 last = move.from + move.n;
    const i64 end = (i64)range.y + rows_per_block < last ? (i64)range.y + rows_per_block : last;
    for (i64 i = (i64)range.y + threadIdx.x; i < end; i += blockDim.x) to[i] = from[i];
}

KERNEL add_steps(Boosting b, const ScoreStep* steps, const uint2* ranges, i32 rows_per_block,
                 double* scores) {
    const uint2 range = ranges[blockIdx.x];
    const ScoreStep step = steps[range.x];
    const u32* rows = b.rows[step.buffer];
    const i64 last = step.first + step.n;
    const i64 end = (i64)range.y + rows_per_block < last ? (i64)range.y + rows_per_block : last;
    for (i64 i = (i64)range.y + threadIdx.x; i < end; i += blockDim.x)
        scores[rows[i]] += step.value;
}

// Sums the squared gradients of each node's rows, as src/core/grow/gradient_squares.hpp does.
KERNEL square_gradients(Boosting b, const BoostedNode* nodes, const uint2* ranges,
                        i32 rows_per_block, GradientSquares* squares) {
    const uint2 range = ranges[blockIdx.x];
    const BoostedNode& node = nodes[range.x];
    const u32* rows = b.rows[node.buffer];
    const i64 last = node.first + node.n;
    const i64 end = (i64)range.y + rows_per_block < last ? (i64)range.y + rows_per_block : last;
    const i64 half = (1ll << b.square_shift) >> 1;
    i64 gg = 0, gh = 0, hh = 0;
    for (i64 i = (i64)range.y + threadIdx.x; i < end; i += blockDim.x) {
        const Gradient row = b.gradients[rows[i]];
        const i64 weight = weight_of_row(b, rows[i]);
        const i64 g = (row.gradient + half) >> b.square_shift;
        const i64 h = (row.hessian + half) >> b.square_shift;
        gg += weight * g * g;
        gh += weight * g * h;
        hh += weight * h * h;
    }
    GradientSquares* sum = squares + range.x;
    atomicAdd(&sum->gg, (u64)gg);
    atomicAdd(&sum->gh, (u64)gh);
    atomicAdd(&sum->hh, (u64)hh);
}
