// The logistic function, bit-identical on every processor and device: it uses only sums, products
// and divisions, which all of them round alike, whereas the exponential functions of libraries
// sometimes differ in the last bit. Shared by the core (core/util/sigmoid.hpp), where loops over it
// are compiled for several instruction sets, and the GPU kernels.

// exp(x) for -708 <= x <= 0, computed as 2^k exp(r) with |r| <= log(2) / 2, by its series. Within 2
// units in the last place.
ALWAYS_INLINE double exp_below_zero(double x) {
    const double shift = 0x1.8p52;  // adding it rounds a number to an integer
    const double log2_e = 0x1.71547652b82fep+0;
    const double ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;
    const double shifted = x * log2_e + shift;
    const double k = shifted - shift;
    const double r = (x - k * ln2_high) - k * ln2_low;
    double series = 1.0 / 6227020800;
    series = series * r + 1.0 / 479001600;
    series = series * r + 1.0 / 39916800;
    series = series * r + 1.0 / 3628800;
    series = series * r + 1.0 / 362880;
    series = series * r + 1.0 / 40320;
    series = series * r + 1.0 / 5040;
    series = series * r + 1.0 / 720;
    series = series * r + 1.0 / 120;
    series = series * r + 1.0 / 24;
    series = series * r + 1.0 / 6;
    series = series * r + 0.5;
    series = series * r + 1;
    series = series * r + 1;
    // The low bits of `shifted` are k: they are moved to the exponent.
    return series * double_of((bits_of(shifted) << 52) + (1023ull << 52));
}

// 1 / (1 + exp(-x)). Branch-free, so that loops over it are vectorised.
ALWAYS_INLINE double sigmoid(double x) {
    const double size = fabs(x);
    const double e = exp_below_zero(-(size < 708 ? size : 708));
    // Below 0 this is exp(x) / (1 + exp(x)): `below` has all bits set there, otherwise none.
    const u64 below = u64{0} - (bits_of(x) >> 63);
    return double_of((bits_of(e) & below) | (bits_of(1.0) & ~below)) / (1 + e);
}
