// A buffer that starts at a cache line boundary, so that no vector load crosses two lines.
#pragma once

#include <cstdint>
#include <vector>

namespace treerank {

inline constexpr std::size_t kLineBytes = 64;

template <class Real>
class LineBuffer {
  public:
    explicit LineBuffer(std::size_t size) : values_(size + kLineBytes / sizeof(Real)) {
        const auto past = reinterpret_cast<std::uintptr_t>(values_.data()) % kLineBytes;
        first_ = (kLineBytes - past) % kLineBytes / sizeof(Real);
    }
    Real* data() { return values_.data() + first_; }
    const Real* data() const { return values_.data() + first_; }

  private:
    std::vector<Real> values_;
    std::size_t first_;
};

}  // namespace treerank
