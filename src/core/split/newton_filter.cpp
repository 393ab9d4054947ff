// Selects the kernel for the instruction set in use.
#include "core/split/newton_filter.hpp"

#include "core/util/instruction_set.hpp"

#define TREERANK_ISA_HEADER "core/split/newton_kernel_isa.hpp"
#include "core/util/each_isa.hpp"

namespace treerank {

bool any_may_win(const GradientSum* by_code, std::int32_t n, const GradientSum& before,
                 const NewtonFilter& filter) {
    return TREERANK_CHOOSE(any_may_win)(by_code, n, before, filter);
}

}  // namespace treerank
