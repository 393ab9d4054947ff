// Declares the filter of cuts for one instruction set, named by TREERANK_ISA.
#include "core/split/newton_filter.hpp"

#ifndef TREERANK_ISA
#define TREERANK_ISA base
#endif

namespace treerank::TREERANK_ISA {
bool any_may_win(const GradientSum* by_code, std::int32_t n, const GradientSum& before,
                 const NewtonFilter& filter);
}  // namespace treerank::TREERANK_ISA
