// A tree written out path by path, with what the path-dependent attributions need at each test.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tree/attributions.hpp"

namespace treerank {

// What follows a test instead of another one: an end, or nothing that this tree has to do with.
inline constexpr std::int32_t kEnd = -1, kNoPath = -2;

// A test on a path. `z` is the product of the shares of the tests of its feature so far.
struct PathTest {
    Slot slot;
    const CategorySet* set = nullptr;            // of a categorical test
    std::uint32_t feature = 0;                   // number among the features of the tree
    std::int32_t child[2] = {kNoPath, kNoPath};  // tests that follow
    double value[2] = {0, 0};                    // at an end
    double share[2] = {0, 0};                    // of the weight, that goes to each side
    double z_before = 1;
    double z[2] = {0, 0};

    bool is_twig() const { return child[0] < 0 && child[1] < 0; }

    bool goes_left(std::uint16_t code) const {
        if (set != nullptr) return set->contains(code);
        const auto shift = static_cast<std::uint16_t>((slot.next & kMissingRight) != 0);
        return static_cast<std::uint16_t>(code - shift) <= slot.cut;
    }
};

// What a test does to a row, for each point of the quadrature: numbers by which sums and gains
// are computed on each side (kOwn: the side the row goes to; kOther: the other side). Where the
// row has failed an earlier test of the feature, the share of weight alone counts.
//
// Above a further test: factors of the path's product, and the feature's part of the sum over the
// ends below. Above an end: the same times what comes after, so that both multiply the product.
// A test above two ends has all in the numbers of its first side.
enum SideNumber { kOwn, kOther, kOwnGain, kOtherGain, kSideNumbers };

struct PathTree {
    std::vector<PathTest> tests;          // the root first; empty: an end alone
    std::vector<std::uint32_t> features;  // those that are tested
    std::size_t depth = 0;                // tests on the longest path
    std::size_t n_points = 1;             // of the quadrature that is exact for all paths
    std::vector<double> points, weights;  // of the quadrature on (0, 1)
    std::vector<double> numbers;          // tests x sides x kSideNumbers x points
    double expected = 0;
};

// One tree, or two where some paths test far more features than the others: then the short ones
// do with fewer points.
std::vector<PathTree> expand_paths(const AttributedForest& forest, std::size_t tree);

// Nodes and weights of Gauss-Legendre quadrature on (0, 1), exact up to degree 2 n - 1.
void gauss_legendre(std::size_t n, std::vector<double>& points, std::vector<double>& weights);

// Rows that are attributed together, side by side in vectors.
inline constexpr std::size_t kRowsAbreast = 32;

// A tree as it lies in memory: kernels call no function that other files share.
struct PathView {
    const PathTest* tests = nullptr;
    std::size_t n_tests = 0;
    std::size_t n_features = 0;
    std::size_t depth = 0;
    std::size_t n_points = 0;
    const double* numbers = nullptr;
};

// Codes of the rows (features of the tree x kRowsAbreast), sums (the same), and a scratch buffer.
struct PathBlock {
    const std::uint16_t* codes = nullptr;
    double* sums = nullptr;
    double* scratch = nullptr;      // scratch_size() numbers, at the start of a line
    std::uint32_t* live = nullptr;  // features: rows that have failed no test so far, a bit each
};
PathView view_of(const PathTree& tree);
std::size_t scratch_size(const PathTree& tree);

using AttributeBlock = void (*)(const PathView& tree, const PathBlock& block);
AttributeBlock attribute_block();  // compiled for this processor

}  // namespace treerank
