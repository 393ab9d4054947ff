// Compiled once per instruction set, which TREERANK_ISA names. Everything has internal linkage.
#include <type_traits>

#include "core/tree/path_kernel_isa.hpp"

namespace treerank::TREERANK_ISA {
namespace {

#if defined(__AVX512F__)
constexpr std::size_t kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr std::size_t kVectorBytes = 32;
#else
constexpr std::size_t kVectorBytes = 16;
#endif

using Doubles = double __attribute__((vector_size(kVectorBytes)));
using Floats = float __attribute__((vector_size(kVectorBytes)));
using DoublesAt = double __attribute__((vector_size(kVectorBytes), may_alias));
using FloatsAt = float __attribute__((vector_size(kVectorBytes), may_alias));

template <class Real, class Lanes, class LanesAt>
void update(const SetView<Real>& view, const std::uint32_t* tests, std::size_t n) {
    using Bits = decltype(Lanes{} > Lanes{});
    using Bit = std::decay_t<decltype(Bits{}[0])>;
    constexpr std::size_t kLanes = kVectorBytes / sizeof(Real), kRows = kSetRows<Real>;
    Bits bit[kRows / kLanes];
    for (std::size_t r = 0; r < kRows; ++r) bit[r / kLanes][r % kLanes] = Bit{1} << r;
    for (std::size_t i = 0; i < n; ++i) {
        const SetTest<Real>& test = view.tests[tests[i]];
        const SetFeature feature = view.features[test.feature];
        const Bits left = static_cast<Bit>(view.left[tests[i]] & feature.known) - Bits{};
        const Lanes share = test.share * static_cast<Real>(feature.unknown) - Lanes{};
        const Real* sides = view.values + test.next * kRows;
        Real* here = view.values + test.slot * kRows;
        for (std::size_t v = 0; v < kRows / kLanes; ++v) {
            const Lanes to_left = (left & bit[v]) != Bits{} ? Real{1} - Lanes{} : share;
            const Lanes a = *reinterpret_cast<const LanesAt*>(sides + v * kLanes);
            const Lanes b = *reinterpret_cast<const LanesAt*>(sides + kRows + v * kLanes);
            *reinterpret_cast<LanesAt*>(here + v * kLanes) =
                test.step + (to_left * a + (Real{1} - to_left) * b);
        }
    }
}

}  // namespace

void update_singles(const SetView<float>& view, const std::uint32_t* tests, std::size_t n) {
    update<float, Floats, FloatsAt>(view, tests, n);
}

void update_doubles(const SetView<double>& view, const std::uint32_t* tests, std::size_t n) {
    update<double, Doubles, DoublesAt>(view, tests, n);
}

}  // namespace treerank::TREERANK_ISA
