// Counter-based random numbers: a draw is a function of its key (seed, tree, node path), never of
// earlier draws, so that threads, processes, row blocks and devices cannot change it. Shared by the
// core (core/data/random.hpp) and the GPU kernels.

// The finaliser of splitmix64: a bijection of 64-bit integers without visible structure.
constexpr u64 mix(u64 x) {
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}
constexpr u64 key_of(u64 parent, u64 branch) { return mix(parent ^ mix(branch)); }

// Returns a uniform integer below n: the high word of a 32 x 32 bit product.
constexpr u32 uniform_below(u64 random_bits, u32 n) {
    return (u32)(((random_bits >> 32) * n) >> 32);
}
