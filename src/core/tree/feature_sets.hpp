// What a tree says of some rows when a set of features is known and the others are averaged out.
//
// Values are carried from the ends up to the root. At a test of a known feature a row has the
// value of the side it goes to; else the mean of both, by the shares of training weight. A slot
// of merged cells has one value however many paths lead to it, and when a feature becomes known
// only the slots above its tests change.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tree/attributions.hpp"
#include "core/util/line_buffer.hpp"

namespace treerank {

// Rows side by side: their values fill a cache line.
template <class Real>
inline constexpr std::size_t kSetRows = kLineBytes / sizeof(Real);

template <class Real>
struct SetTest {
    std::uint32_t slot = 0;
    std::uint32_t next = 0;     // slot of the left side; the right one follows it
    std::uint32_t feature = 0;  // number among the features of the tree
    Real share = 0;             // of the training weight, that goes left
    Real step = 0;              // that arriving at the slot adds
};

// Whether a feature is known, as factors that need no branch.
struct SetFeature {
    float unknown = 1;        // 1 or 0
    std::uint32_t known = 0;  // 0 or all bits
};

// As it lies in memory: kernels call no function that other files share.
template <class Real>
struct SetView {
    const SetTest<Real>* tests = nullptr;
    const std::uint16_t* left = nullptr;  // by test: rows that go left, one bit each
    const SetFeature* features = nullptr;
    Real* values = nullptr;  // slots x kSetRows
};

// Computes the values at some tests anew, in the order given.
template <class Real>
using UpdateValues = void (*)(const SetView<Real>& view, const std::uint32_t* tests, std::size_t n);
template <class Real>
UpdateValues<Real> update_values();  // compiled for this processor
template <>
UpdateValues<float> update_values();
template <>
UpdateValues<double> update_values();

// Single precision will do for estimates, and takes half of the time.
template <class Real, class Code>
class SetValues : private AttributedTree {
  public:
    SetValues(const AttributedForest& forest, std::size_t tree, const CodeMatrix<Code>& codes);

    const std::vector<std::uint32_t>& features() const { return features_; }
    // Slots that have to be computed anew when a feature becomes known.
    std::size_t cost(std::size_t feature) const { return above_[feature].size(); }

    // Looks at n rows from `first` on, of which nothing is known; the last one fills up.
    void take(std::size_t first, std::size_t n);
    // A feature by its number among those of the tree.
    void set_known(std::size_t feature, bool known);
    // What the tree says of each row now.
    const Real* values() const { return values_.data(); }
    // The same when all is known: to the bit, as scores are added up.
    void scores(double* values) const;
    // The same when nothing is known.
    double expected() const;

  private:
    static constexpr std::size_t kRows = kSetRows<Real>;
    void update(const std::vector<std::uint32_t>& tests) {
        update_({tests_.data(), left_.data(), state_.data(), values_.data()}, tests.data(),
                tests.size());
    }

    const CodeMatrix<Code>& codes_;
    const UpdateValues<Real> update_;
    std::vector<std::uint32_t> features_;
    std::vector<SetTest<Real>> tests_;               // the last slot first
    std::vector<std::uint32_t> test_of_;             // by slot
    std::vector<std::vector<std::uint32_t>> above_;  // by feature: tests with one of it below
    std::vector<std::uint16_t> left_;
    std::vector<SetFeature> state_;
    LineBuffer<Real> values_;  // slots x rows
};

// Whether a tree is attributed exactly by all sets of its features, given the paths that one may
// have for another way.
bool has_few_sets(const ForestView& forest, std::size_t tree, std::size_t max_paths);

// Adds the attributions of one tree for the rows [begin, end) to `values`, and of pairs to `pairs`
// unless it is null, from what the tree says for every set of its features. Returns the expected
// value.
template <class Code>
double enumerate_sets(const AttributedForest& forest, std::size_t tree,
                      const CodeMatrix<Code>& codes, std::size_t begin, std::size_t end,
                      const ThreadPool& pool, double* values, double* pairs);

// The same, estimated: the mean contribution of each feature over some orders in which features
// become known, drawn at random by the number of the tree, each order together with its reverse.
template <class Code>
double sample_orders(const AttributedForest& forest, std::size_t tree,
                     const CodeMatrix<Code>& codes, std::size_t begin, std::size_t end,
                     std::size_t n_orders, const ThreadPool& pool, double* values);

}  // namespace treerank
