// AUC and VUS of an ordered partition whose cells are added and removed.
//
// Both have a fixed number of places, worst first, to which weights are added and from which they
// are removed. Weights at the same place are tied.
#pragma once

#include <cstdint>
#include <vector>

namespace treerank {

// For two classes. Twice the area times the sizes of the classes is an integer,
//   sum over places of negatives * (2 * positives at better places + positives at this one),
// and so are its changes. Sums over better and worse places come from a Fenwick tree.
class AreaUnderCurve {
  public:
    AreaUnderCurve(std::size_t n_places, const std::int64_t* total);

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
    struct Pair {
        std::int64_t negative = 0;
        std::int64_t positive = 0;
    };

    void change(std::size_t place, std::int64_t negative, std::int64_t positive);

    Pair total_;
    std::int64_t positives_ = 0;  // placed positives: not all of them during a collapse
    std::vector<Pair> at_;        // by place
    std::vector<Pair> tree_;      // [i]: sum over the i & -i places up to place i - 1
    Whole area_ = 0;
};

// For any number of classes: a segment tree of products of the places' matrices S (see vus.hpp).
class VolumeUnderSurface {
  public:
    VolumeUnderSurface(std::size_t n_places, const std::int64_t* total, std::size_t n_classes);

    void place(std::size_t place, const std::int64_t* weight);
    void build();

    void add(std::size_t place, const std::int64_t* weight);
    void remove(std::size_t place, const std::int64_t* weight);
    double value() const;

  private:
    double* matrix(std::size_t node) { return matrices_.data() + node * size_; }
    void fill(std::size_t place);
    void multiply(std::size_t node);
    void update(std::size_t place);

    std::size_t n_classes_;
    std::size_t n_leaves_;  // of the segment tree: a power of two
    std::size_t size_;      // of a packed upper triangular matrix
    std::vector<double> total_;
    std::vector<std::int64_t> at_;  // places x classes
    std::vector<double> matrices_;  // by node: node i has children 2 i and 2 i + 1
};

}  // namespace treerank
