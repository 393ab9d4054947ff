// A pool of histograms that are reused: after the first nodes of a fit, no more are allocated.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace treerank {

// Not thread-safe.
template <class Count>
class HistogramPool {
  public:
    explicit HistogramPool(std::size_t size) : size_(size) {}

    // Returns a histogram whose counters are not cleared.
    Count* take() {
        if (free_.empty()) {
            all_.push_back(std::make_unique_for_overwrite<Count[]>(size_));
            free_.push_back(all_.back().get());
        }
        Count* histogram = free_.back();
        free_.pop_back();
        return histogram;
    }
    void give_back(Count* histogram) { free_.push_back(histogram); }

  private:
    std::size_t size_;
    std::vector<std::unique_ptr<Count[]>> all_;
    std::vector<Count*> free_;
};

}  // namespace treerank
