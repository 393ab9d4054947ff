// A tree expanded path by path, with the numbers that path-dependent attributions need at each
// test.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tree/attributions.hpp"

namespace treerank {

// What follows a test instead of another one: an end, or a path that is not part of this tree.
inline constexpr std::int32_t kEnd = -1, kNoPath = -2;

// A test on a path. `z` is the product of the shares of its feature's tests so far: before this
// test, and on each side of it.
struct PathTest {
    Slot slot;
    const CategorySet* set = nullptr;            // categorical tests only
    std::uint32_t feature = 0;                   // index among the features of the tree
    std::int32_t child[2] = {kNoPath, kNoPath};  // the tests that follow
    double value[2] = {0, 0};                    // at an end
    double share[2] = {0, 0};                    // of the weight that goes to each side
    double z_before = 1;
    double z[2] = {0, 0};

    bool is_twig() const { return child[0] < 0 && child[1] < 0; }

    bool goes_left(std::uint16_t code) const {
        return set != nullptr ? set->contains(code) : slot.sends_left(code);
    }
};

// What a test does to a row at each quadrature point: the numbers by which sums and gains are
// computed on each side (kOwn: if the row goes to this side; kOther: if it goes to the other). If
// the row has failed an earlier test of the feature, only the share of weight counts.
//
// Before a further test, these are factors of the path's product and the feature's part of the sum
// over the ends below. Before an end, both are multiplied by what comes after, so that they apply
// to the product directly. A test before two ends has everything in the numbers of its first side.
enum SideNumber { kOwn, kOther, kOwnGain, kOtherGain, kSideNumbers };

struct PathTree {
    std::vector<PathTest> tests;          // root first; empty: a single end
    std::vector<std::uint32_t> features;  // the features that are tested
    std::size_t depth = 0;                // tests on the longest path
    std::size_t n_points = 1;             // quadrature points, exact for all paths
    std::vector<double> points, weights;  // of the quadrature on (0, 1)
    std::vector<double> numbers;          // tests x sides x kSideNumbers x points
    double expected = 0;
};

// Returns one tree, or two if some paths test far more features than the others: the shorter paths
// then need fewer points.
std::vector<PathTree> expand_paths(const AttributedForest& forest, std::size_t tree);

// Computes the nodes and weights of Gauss-Legendre quadrature on (0, 1), which is exact up to
// degree 2 n - 1.
void gauss_legendre(std::size_t n, std::vector<double>& points, std::vector<double>& weights);

// The number of rows that are attributed together, in vectors.
inline constexpr std::size_t kRowsAbreast = 32;

// Raw pointers to a tree, because kernels call no functions that other files share.
struct PathView {
    const PathTest* tests = nullptr;
    std::size_t n_tests = 0;
    std::size_t n_features = 0;
    std::size_t depth = 0;
    std::size_t n_points = 0;
    const double* numbers = nullptr;
};

// The codes of the rows (features of the tree x kRowsAbreast), sums of the same shape, and scratch
// buffers.
struct PathBlock {
    const std::uint16_t* codes = nullptr;
    double* sums = nullptr;
    double* scratch = nullptr;      // scratch_size() numbers, aligned to a cache line
    std::uint32_t* live = nullptr;  // by feature: rows that have failed no test, one bit each
};
PathView view_of(const PathTree& tree);
std::size_t scratch_size(const PathTree& tree);

using AttributeBlock = void (*)(const PathView& tree, const PathBlock& block);
AttributeBlock attribute_block();  // for the instruction set in use

}  // namespace treerank
