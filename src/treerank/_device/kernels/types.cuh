// The types of tables, trees and nodes in the kernels. CODE is the type of a code; WIDE says
// whether rows carry fixed-point weights instead of small integers. PLAIN: no categories, no
// monotone constraints, no random cuts, and the Gini criterion. Most fits are plain, and code for
// anything else would take registers that the search needs.
//
// The same text is compiled for a device and, with a shim in place of CUDA, as C++ for the tests.
// Everything that determines a model is an integer, or a double computed as in the core: no fused
// multiply-add, the same order of operations, the same ties.
typedef unsigned char u8;
typedef signed char i8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int i32;
typedef unsigned long long u64;
typedef long long i64;

#define DEVICE static __device__ inline
#define ALWAYS_INLINE DEVICE
// Code that few fits need is called instead of inlined, so that the common paths keep their
// registers.
#define SELDOM static __device__ __noinline__
#define KERNEL extern "C" __global__ void
#define BOUNDS(threads, blocks) __launch_bounds__(threads, blocks)
#ifndef DYNAMIC_SHARED
#define DYNAMIC_SHARED(name) extern __shared__ __align__(16) u64 name[]
#endif
#define FULL_WARP 0xffffffffu

// A row: 27 bits of row number, 1 bit of label, 4 bits of repeat count.
#define ROW_SHIFT 5
#define LABEL_BIT 16u
#define REPEAT_MASK 15u
#define MAX_LEVELS 256  // codes of a category

#if WIDE
typedef i64 Units;
typedef u64 Atom;
#else
typedef u32 Units;
typedef u32 Atom;
#endif
struct Count {
    Units negative, positive;
};

// Counters in shared memory. Small integers take half a word each, negatives in the lower half:
// twice as many features fit, and one addition counts both classes. So a block may count no more
// than MOST_PACKED units.
#define MOST_PACKED 65535
#if WIDE
typedef Count BlockCount;
#else
struct BlockCount {
    u32 both;
};
DEVICE Count count_of(BlockCount count) { return {count.both & 0xffff, count.both >> 16}; }
DEVICE bool is_empty(BlockCount count) { return count.both == 0; }
DEVICE BlockCount plus(BlockCount a, BlockCount b) { return {a.both + b.both}; }
DEVICE BlockCount less(BlockCount a, BlockCount b) { return {a.both - b.both}; }
DEVICE void add_units(BlockCount* counter, i32 label, Units units) {
    atomicAdd(&counter->both, units << (16 * label));
}
#endif
DEVICE Count count_of(Count count) { return count; }
DEVICE bool is_empty(Count count) { return (count.negative | count.positive) == 0; }
DEVICE Count plus(Count a, Count b) {
    return {a.negative + b.negative, a.positive + b.positive};
}
DEVICE Count less(Count a, Count b) {
    return {a.negative - b.negative, a.positive - b.positive};
}
DEVICE void add_units(Count* counter, i32 label, Units units) {
    atomicAdd((Atom*)counter + label, (Atom)units);
}

struct ClassWeight {
    double negative, positive;
};
DEVICE u64 bits_of(double x) { return (u64)__double_as_longlong(x); }
DEVICE double double_of(u64 bits) { return __longlong_as_double((i64)bits); }
DEVICE double total_of(ClassWeight weight) { return weight.negative + weight.positive; }
DEVICE ClassWeight less(ClassWeight a, ClassWeight b) {
    return {a.negative - b.negative, a.positive - b.positive};
}
DEVICE ClassWeight plus(ClassWeight a, ClassWeight b) {
    return {a.negative + b.negative, a.positive + b.positive};
}
DEVICE ClassWeight weight_of(Count count) {
    return {(double)count.negative, (double)count.positive};
}

struct GradientSum {
    i64 gradient, hessian, weight;

    GradientSum operator+(const GradientSum& other) const {
        return {gradient + other.gradient, hessian + other.hessian, weight + other.weight};
    }
    GradientSum operator-(const GradientSum& other) const {
        return {gradient - other.gradient, hessian - other.hessian, weight - other.weight};
    }
};

// A LeafRank tree during growth: the weight of its cell, and the features that it may use.
struct Trial {
    double cell_negative, cell_positive;
    i64 tree;
    i64 first_feature, n_features;  // a range of the list for all trials
    i64 random_cuts;
};

// A node that may be split: rows [first, last) of one of the two buffers.
struct Node {
    u32 first, last;
    i32 trial, depth, record, attempt, buffer, unused;
    u64 key;
    double negative, positive, lower, upper;
};

// The outcome for a node: its test and the weight of its left child. Children that may not be split
// have no record (-1), and a node without a test is a leaf.
struct Record {
    i32 feature, cut, left, right;
    double negative, positive;
};
#define IS_CATEGORICAL (1 << 30)
#define IS_MISSING_LEFT (1 << 29)
#define FEATURE_MASK (IS_MISSING_LEFT - 1)

struct CategorySet {
    u64 words[MAX_LEVELS / 64];
};

// Rows [first, last) of a table whose codes are available: all rows, or one block of a table that
// is processed in blocks. Codes are addressed as if those of all rows were there.
struct RowBlock {
    u32 first, last;
};
DEVICE bool is_in(RowBlock block, u32 id) { return id - block.first < block.last - block.first; }

struct TreeRecords {
    i64 first, capacity;  // a range of all records
};

enum Counter { N_MID, N_LARGE, N_TINY, N_SETS, N_LOST, N_COUNTERS = 16 };

// Everything that the growth kernels work on.
struct Growth {
    const CODE* codes;  // row-major, `stride` codes per row
    i64 stride;
    RowBlock block;
    const i64* units;  // by row, if WIDE
    const i32* n_codes;
    const u8* categorical;
    const i8* monotonic;
    i64 n_features, max_codes;
    u32* rows[2];
    const Trial* trials;
    const u16* trial_features;
    const TreeRecords* trees;
    u32* n_records;  // by tree
    Record* records;
    CategorySet* sets;
    i64 set_capacity;
    u32* counters;
    Node* next_mid;
    Node* next_large;
    Node* tiny;
    i64 tiny_rows, mid_rows;  // a node with at most this many rows is tiny, or mid-sized
    u16* draws;               // two lists of features per warp
    char* levels;             // buffers for the levels of a category, one per warp
    Count* wide_histograms;   // one feature per block, if it does not fit in shared memory
    i64 criterion, max_depth, max_features;
    double min_weight_leaf, min_weight_split, independent_weight;
};

DEVICE u32 lane_of() { return threadIdx.x & 31; }
DEVICE u32 warp_of() { return threadIdx.x >> 5; }
DEVICE u32 warp_number() { return blockIdx.x * (blockDim.x >> 5) + warp_of(); }

// The buffer in which a warp draws features: two lists, in shared memory if they are short.
#define SHARED_FEATURES 128
DEVICE u16* lists_of(const Growth& g, u16* shared) {
    return g.n_features <= SHARED_FEATURES ? shared
                                           : g.draws + (i64)warp_number() * 2 * g.n_features;
}

DEVICE Units units_of(const Growth& g, u32 row) {
#if WIDE
    return g.units[row >> ROW_SHIFT] * (i64)(row & REPEAT_MASK);
#else
    return row & REPEAT_MASK;
#endif
}
DEVICE const CODE* codes_of(const Growth& g, u32 row) {
    return g.codes + (i64)(row >> ROW_SHIFT) * g.stride;
}
