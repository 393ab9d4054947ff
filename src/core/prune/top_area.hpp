// Local and partial AUC of an ordered partition whose cells are added and removed, as in
// area_path.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/types.hpp"

namespace treerank {

// A segment tree over the places has the number of ordered pairs within each range of places, so
// that the area from the top to any place takes O(log places) time. All sums are integers; the
// place that straddles the end of what counts is divided by interpolation.
class AreaAtTop {
  public:
    AreaAtTop(std::size_t n_places, const std::int64_t* total, const Focus& focus);

    // First place() all leaves of the whole tree, then call build() once.
    void place(std::size_t place, const std::int64_t* weight);
    void build();

    void add(std::size_t place, const std::int64_t* weight) { change(place, weight[0], weight[1]); }
    void remove(std::size_t place, const std::int64_t* weight) {
        change(place, -weight[0], -weight[1]);
    }
    double value() const;

  private:
    __extension__ using Whole = __int128;  // weights are below 2^52
    struct Range {
        std::int64_t weight[2] = {0, 0};  // negatives, positives
        Whole area = 0;                   // twice the ordered pairs, ties counting half
    };
    // A point of the ROC curve and the area to the left of it.
    struct Point {
        double false_positive, true_positive, area;
    };

    void change(std::size_t place, std::int64_t negative, std::int64_t positive);
    void join(std::size_t node);
    Point point_at(double share) const;

    Focus focus_;
    std::int64_t total_[2];
    std::size_t n_leaves_;      // of the segment tree: a power of two
    std::vector<Range> nodes_;  // node i has children 2 i (worse) and 2 i + 1 (better)
};

}  // namespace treerank
