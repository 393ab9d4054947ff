// Gradient histograms: integers, counted in shared memory by groups of features.
#define COUNT_WARPS 24

// A counter in shared memory. For a block of at most 2^16 rows of weight 1, halves of 16 bits are
// summed in 32 bits each; a bias makes the numbers non-negative first.
#define GRADIENT_BIAS (1 << 30)
#if WIDE
struct SharedSum {
    u64 gradient, hessian, weight;
};
#else
struct SharedSum {
    u32 gradient_low, gradient_high, hessian_low, hessian_high, weight;
};
#endif

DEVICE void add_to_shared(SharedSum* sum, Gradient row, i64 weight) {
#if WIDE
    atomicAdd(&sum->gradient, (u64)(row.gradient * weight));
    atomicAdd(&sum->hessian, (u64)(row.hessian * weight));
    atomicAdd(&sum->weight, (u64)weight);
#else
    const u32 gradient = (u32)(row.gradient + GRADIENT_BIAS);
    const u32 hessian = (u32)(row.hessian + GRADIENT_BIAS);
    atomicAdd(&sum->gradient_low, gradient & 0xffffu);
    atomicAdd(&sum->gradient_high, gradient >> 16);
    atomicAdd(&sum->hessian_low, hessian & 0xffffu);
    atomicAdd(&sum->hessian_high, hessian >> 16);
    atomicAdd(&sum->weight, 1u);
#endif
}

DEVICE GradientSum from_shared(const SharedSum& sum) {
#if WIDE
    return {(i64)sum.gradient, (i64)sum.hessian, (i64)sum.weight};
#else
    const i64 bias = (i64)sum.weight * GRADIENT_BIAS;
    return {(i64)sum.gradient_low + ((i64)sum.gradient_high << 16) - bias,
            (i64)sum.hessian_low + ((i64)sum.hessian_high << 16) - bias, (i64)sum.weight};
#endif
}

DEVICE void add_to_global(GradientSum* sum, GradientSum more) {
    atomicAdd((u64*)&sum->gradient, (u64)more.gradient);
    atomicAdd((u64*)&sum->hessian, (u64)more.hessian);
    atomicAdd((u64*)&sum->weight, (u64)more.weight);
}

// Features that are counted together: a range of the 16-byte chunks of a row's codes and, for each
// code in it, where the bins of its feature begin within the group (-1: not in the group).
struct FeatureGroup {
    i32 first_chunk, n_chunks, first_start, first_bin, n_bins;
};
#define CHUNK_CODES (16 / (i32)sizeof(CODE))
#define MAX_STARTS 512

DEVICE uint4 load_chunk(const CODE* codes, i32 n_words) {
    const u32* words = (const u32*)codes;
    if (n_words == 4) return *(const uint4*)words;
    uint4 chunk = {words[0], 0, 0, 0};
    if (n_words > 1) chunk.y = words[1];
    if (n_words > 2) chunk.z = words[2];
    return chunk;
}

// Adds a row to the bins of the codes in one word.
DEVICE void count_word(u32 word, const i32* starts, SharedSum* counters, GradientSum* target,
                       Gradient gradient, i64 weight) {
    for (u32 k = 0; k < 4 / sizeof(CODE); ++k) {
        const i32 start = starts[k];
        const u32 code = (word >> (8 * sizeof(CODE) * k)) & (CODE)~(CODE)0;
        if (start < 0) continue;
        if (counters)
            add_to_shared(counters + start + code, gradient, weight);
        else
            add_to_global(target + start + code,
                          {gradient.gradient * weight, gradient.hessian * weight, weight});
    }
}

// Each block counts a range of a job's rows for one group of features. Counters are in shared
// memory if they fit, otherwise in the histogram itself. Histograms must be 0 initially.
// `row_words`: 4-byte words per row.
KERNEL BOUNDS(COUNT_WARPS * 32, 2) count_gradients(
    Boosting b, const CountedRows* jobs, const uint2* ranges, i32 rows_per_block,
    const FeatureGroup* groups, const i32* all_starts, i32 is_shared, i32 row_words) {
    DYNAMIC_SHARED(shared_words);
    __shared__ i32 starts[MAX_STARTS];
    const uint2 range = ranges[blockIdx.x];
    const CountedRows job = jobs[range.x];
    const FeatureGroup group = groups[blockIdx.y];
    for (i32 i = (i32)threadIdx.x; i < group.n_chunks * CHUNK_CODES; i += (i32)blockDim.x)
        starts[i] = all_starts[group.first_start + i];
    SharedSum* counters = is_shared ? (SharedSum*)shared_words : 0;
    if (is_shared) {
        u32* words = (u32*)shared_words;
        const i32 n_words = group.n_bins * (i32)(sizeof(SharedSum) / 4);
        for (i32 i = (i32)threadIdx.x; i < n_words; i += (i32)blockDim.x) words[i] = 0;
    }
    __syncthreads();
    const u32* rows = b.rows[job.buffer];
    const i64 last = job.first + job.n;
    const i64 end = (i64)range.y + rows_per_block < last ? (i64)range.y + rows_per_block : last;
    GradientSum* target = job.counted + group.first_bin;
    for (i64 i = (i64)range.y + threadIdx.x; i < end; i += blockDim.x) {
        const u32 row = rows[i];
        if (!is_in(b.block, row)) continue;
        const Gradient gradient = b.gradients[row];
        const CODE* codes = b.codes + (i64)row * b.stride + group.first_chunk * CHUNK_CODES;
        const i64 weight = weight_of_row(b, row);
        for (i32 c = 0; c < group.n_chunks; ++c) {
            const i32 left = row_words - 4 * (group.first_chunk + c);
            const uint4 chunk = load_chunk(codes + c * CHUNK_CODES, left < 4 ? left : 4);
            const i32* of_chunk = starts + c * CHUNK_CODES;
            const i32 step = CHUNK_CODES / 4;
            count_word(chunk.x, of_chunk, counters, target, gradient, weight);
            count_word(chunk.y, of_chunk + step, counters, target, gradient, weight);
            count_word(chunk.z, of_chunk + 2 * step, counters, target, gradient, weight);
            count_word(chunk.w, of_chunk + 3 * step, counters, target, gradient, weight);
        }
    }
    if (!is_shared) return;
    __syncthreads();
    for (i32 i = (i32)threadIdx.x; i < group.n_bins; i += (i32)blockDim.x)
        if (counters[i].weight != 0) add_to_global(target + i, from_shared(counters[i]));
}

// Each block clears some of the bins of one job.
KERNEL clear_gradients(Boosting b, const CountedRows* jobs) {
    const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < b.size) jobs[blockIdx.y].counted[i] = {0, 0, 0};
}

// rest = whole - counted. Each block handles some of the bins of one job.
KERNEL subtract_gradients(Boosting b, const CountedRows* jobs) {
    const CountedRows job = jobs[blockIdx.y];
    if (!job.rest) return;
    const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= b.size) return;
    const GradientSum whole = job.whole[i], counted = job.counted[i];
    job.rest[i] = {whole.gradient - counted.gradient, whole.hessian - counted.hessian,
                   whole.weight - counted.weight};
}
