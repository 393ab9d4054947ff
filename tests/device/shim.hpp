// The parts of CUDA that the kernels use, emulated in C++: one block at a time, with a fiber per
// thread that yields at barriers and where lanes of a warp exchange values.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using std::isinf;

#define __global__
#define __device__
#define __noinline__
#define __launch_bounds__(threads, blocks)
#define __shared__ static
#define DYNAMIC_SHARED(name) u64* name = reinterpret_cast<u64*>(emulation::shared.data())

struct Dim {
    unsigned x = 1, y = 1;
};
struct uint2 {
    unsigned x, y;
};
struct uint4 {
    unsigned x, y, z, w;
};
inline Dim blockIdx, blockDim, gridDim, threadIdx;

namespace emulation {

inline std::vector<std::uint64_t> shared;

// A fiber starts on a stack of its own by swapcontext. From then on, and for all later blocks, it
// is left and resumed by jumps, which make no system call.
struct Fiber {
    ucontext_t context;
    jmp_buf place;
    std::vector<char> stack;
    bool ended = true;
    unsigned block_rounds = 0, warp_rounds = 0;
};
inline std::deque<Fiber> fibers;
inline ucontext_t scheduler;
inline jmp_buf scheduler_place;
inline unsigned current = 0;
inline void (*body)() = nullptr;

inline void give_way() {
    if (_setjmp(fibers[current].place) == 0) _longjmp(scheduler_place, 1);
}

inline void run_fiber() {
    for (;;) {
        body();
        fibers[current].ended = true;
        give_way();
    }
}

// Where fibers meet. No fiber returns to an earlier round, so what was found once remains true: all
// fibers have reached the round `met`, and those before `next` have reached the round after it.
struct Barrier {
    unsigned met, next;
};
inline Barrier block_barrier, warp_barriers[64];

// Waits until all fibers in [first, last) that have not ended have reached the same round.
inline void wait(Barrier& barrier, unsigned Fiber::* rounds, unsigned first, unsigned last) {
    const unsigned mine = ++(fibers[current].*rounds);
    while (barrier.met < mine) {
        unsigned& i = barrier.next;
        while (i < last && (fibers[i].ended || fibers[i].*rounds >= mine)) ++i;
        if (i == last) {
            barrier = {mine, first};
            return;
        }
        give_way();
    }
}

inline void sync_warp() {
    const unsigned first = current & ~31u;
    const auto n = static_cast<unsigned>(blockDim.x);
    wait(warp_barriers[current >> 5], &Fiber::warp_rounds, first, first + 32 < n ? first + 32 : n);
}

inline std::uint64_t exchanged[64][32];
template <class T>
T exchange(T value, unsigned source) {
    static_assert(sizeof(T) <= 8);
    const unsigned warp = current >> 5, lane = current & 31;
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    exchanged[warp][lane] = bits;
    sync_warp();
    bits = exchanged[warp][source & 31];
    sync_warp();
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

inline void begin_fiber() {
    Fiber& fiber = fibers.emplace_back();
    fiber.stack.resize(64 * 1024);
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.size();
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, run_fiber, 0);
}

inline void run_block(unsigned n) {
    static volatile unsigned n_begun = 0, left, at;  // volatile: jumps do not restore registers
    while (fibers.size() < n) begin_fiber();
    for (unsigned i = 0; i < n; ++i) {
        fibers[i].ended = false;
        fibers[i].block_rounds = fibers[i].warp_rounds = 0;
    }
    block_barrier = {0, 0};
    for (unsigned warp = 0; warp < 64; ++warp) warp_barriers[warp] = {0, 32 * warp};
    for (left = n; left > 0;) {
        for (at = 0; at < n; at = at + 1) {
            if (fibers[at].ended) continue;
            current = threadIdx.x = at;
            if (_setjmp(scheduler_place) == 0) {
                if (at < n_begun) _longjmp(fibers[at].place, 1);
                n_begun = at + 1;
                swapcontext(&scheduler, &fibers[at].context);
            }
            left = left - fibers[at].ended;
        }
    }
}

template <class... A, std::size_t... I>
void call(void (*kernel)(A...), void** arguments, std::index_sequence<I...>) {
    kernel(*static_cast<std::remove_cv_t<std::remove_reference_t<A>>*>(arguments[I])...);
}

template <class... A>
void launch(void (*kernel)(A...), unsigned x, unsigned y, unsigned block, std::size_t shared_bytes,
            void** arguments) {
    gridDim = {x, y};
    blockDim = {block, 1};
    static void (*run)(A...);
    static void** given;
    run = kernel;
    given = arguments;
    body = [] { call(run, given, std::index_sequence_for<A...>{}); };
    for (blockIdx.y = 0; blockIdx.y < y; ++blockIdx.y)
        for (blockIdx.x = 0; blockIdx.x < x; ++blockIdx.x) {
            shared.assign(shared_bytes / 8 + 1, 0xababababababababULL);  // no defined contents
            run_block(block);
        }
}

}  // namespace emulation

inline void __syncthreads() {
    emulation::wait(emulation::block_barrier, &emulation::Fiber::block_rounds, 0,
                    static_cast<unsigned>(blockDim.x));
}
inline void __syncwarp() { emulation::sync_warp(); }
template <class T>
T __shfl_sync(unsigned, T value, int source) {
    return emulation::exchange(value, static_cast<unsigned>(source));
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
    return emulation::exchange(value, (emulation::current & 31) ^ static_cast<unsigned>(mask));
}
template <class T>
T __shfl_up_sync(unsigned, T value, unsigned step) {
    const unsigned lane = emulation::current & 31;
    return emulation::exchange(value, lane >= step ? lane - step : lane);
}
inline unsigned __ballot_sync(unsigned, bool vote) {
    const unsigned warp = emulation::current >> 5, lane = emulation::current & 31;
    emulation::exchanged[warp][lane] = vote;
    emulation::sync_warp();
    unsigned votes = 0;
    for (unsigned i = 0; i < 32; ++i) votes |= emulation::exchanged[warp][i] ? 1u << i : 0u;
    emulation::sync_warp();
    return votes;
}
inline bool __any_sync(unsigned mask, bool vote) { return __ballot_sync(mask, vote) != 0; }
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline int __clz(int bits) { return bits == 0 ? 32 : __builtin_clz(static_cast<unsigned>(bits)); }
template <class T>
T atomicAdd(T* at, T value) {
    const T before = *at;
    *at = before + value;
    return before;
}
template <class T>
T atomicMax(T* at, T value) {
    const T before = *at;
    if (before < value) *at = value;
    return before;
}
inline long long __double_as_longlong(double value) {
    long long bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}
inline double __longlong_as_double(long long bits) {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
