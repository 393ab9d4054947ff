// An uninitialised buffer. Zero-filling many megabytes on one thread would take longer than the
// threads that fill it afterwards need for all their work.
#pragma once

#include <cstddef>
#include <memory>

#include "core/util/large_pages.hpp"

namespace treerank {

template <class T>
class Unfilled {
  public:
    using value_type = T;

    explicit Unfilled(std::size_t size = 0) : values_(new T[size]), size_(size) {
        ask_for_large_pages(values_.get(), size * sizeof(T));
    }
    T* data() { return values_.get(); }
    const T* data() const { return values_.get(); }
    std::size_t size() const { return size_; }
    T& operator[](std::size_t i) { return values_[i]; }
    const T& operator[](std::size_t i) const { return values_[i]; }

  private:
    std::unique_ptr<T[]> values_;
    std::size_t size_;
};

}  // namespace treerank
