// The values of a tree for some rows when a set of features is known and the others are averaged
// out.
//
// Values are carried from the ends up to the root. At a test of a known feature, a row has the
// value of the side it goes to; otherwise it has the mean of both sides, weighted by their shares
// of the training weight. A slot of merged cells has one value however many paths lead to it, and
// when a feature becomes known, only the slots at and above its tests change.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tree/attributions.hpp"
#include "core/util/line_buffer.hpp"

namespace treerank {

// Rows that are processed together: their values fill a cache line.
template <class Real>
inline constexpr std::size_t kSetRows = kLineBytes / sizeof(Real);

template <class Real>
struct SetTest {
    std::uint32_t slot = 0;
    std::uint32_t next = 0;     // slot of the left side; the right side follows
    std::uint32_t feature = 0;  // index among the features of the tree
    Real share = 0;             // share of the training weight that goes left
    Real step = 0;              // added on arrival at the slot
};

// Whether a feature is known, as factors that avoid a branch.
struct SetFeature {
    float unknown = 1;        // 1 or 0
    std::uint32_t known = 0;  // 0 or all bits set
};

// Raw pointers, because kernels call no functions that other files share.
template <class Real>
struct SetView {
    const SetTest<Real>* tests = nullptr;
    const std::uint16_t* left = nullptr;  // by test: the rows that go left, one bit each
    const SetFeature* features = nullptr;
    Real* values = nullptr;  // slots x kSetRows
};

// Recomputes the values at the given tests, in this order.
template <class Real>
using UpdateValues = void (*)(const SetView<Real>& view, const std::uint32_t* tests, std::size_t n);
template <class Real>
UpdateValues<Real> update_values();  // for the instruction set in use
template <>
UpdateValues<float> update_values();
template <>
UpdateValues<double> update_values();

// Single precision is enough for estimates and takes half the time.
template <class Real, class Code>
class SetValues : private AttributedTree {
  public:
    SetValues(const AttributedForest& forest, std::size_t tree, const CodeMatrix<Code>& codes);

    const std::vector<std::uint32_t>& features() const { return features_; }
    // The number of tests to be recomputed when a feature becomes known.
    std::size_t cost(std::size_t feature) const { return above_[feature].size(); }

    // Loads n rows from `first` on. The last row is repeated to fill the block. No feature may be
    // known.
    void take(std::size_t first, std::size_t n);
    // `feature` is an index among the features of the tree.
    void set_known(std::size_t feature, bool known);
    // The value of the tree for each row, given the known features.
    const Real* values() const { return values_.data(); }
    // The same if all features are known, bit-identical to how scores are summed.
    void scores(double* values) const;
    // The same if no feature is known.
    double expected() const;

  private:
    static constexpr std::size_t kRows = kSetRows<Real>;
    void update(const std::vector<std::uint32_t>& tests) {
        update_({tests_.data(), left_.data(), state_.data(), values_.data()}, tests.data(),
                tests.size());
    }

    const CodeMatrix<Code>& codes_;
    const UpdateValues<Real> update_;
    const std::vector<std::uint32_t> features_;
    std::vector<SetTest<Real>> tests_;               // by descending slot
    std::vector<std::uint32_t> test_of_;             // by slot
    std::vector<std::vector<std::uint32_t>> above_;  // by feature: tests at or above a test of it
    std::vector<std::uint16_t> left_;
    std::vector<SetFeature> state_;
    LineBuffer<Real> values_;  // slots x rows
};

// Whether a tree is to be attributed exactly by all sets of its features, given the number of paths
// that another tree may have.
bool has_few_sets(const TreeView& tree, std::size_t max_paths);

// Adds the attributions of one tree for the rows [begin, end) to `values` and, unless it is null,
// those of pairs to `pairs`, from the values of the tree for every set of its features. Returns the
// expected value.
template <class Code>
double enumerate_sets(const AttributedForest& forest, std::size_t tree,
                      const CodeMatrix<Code>& codes, std::size_t begin, std::size_t end,
                      const ThreadPool& pool, double* values, double* pairs);

// The same as an estimate: the mean contribution of each feature over several orders in which
// features become known. The orders are drawn at random, keyed by the index of the tree, each
// together with its reverse.
template <class Code>
double sample_orders(const AttributedForest& forest, std::size_t tree,
                     const CodeMatrix<Code>& codes, std::size_t begin, std::size_t end,
                     std::size_t n_orders, const ThreadPool& pool, double* values);

}  // namespace treerank
