#include "core/tree/path_tree.hpp"

#include <algorithm>

namespace treerank {

namespace {

// Writes out one tree, depth first.
class Expansion : private AttributedTree {
  public:
    Expansion(const AttributedForest& forest, std::size_t tree, PathTree& paths)
        : AttributedTree(forest, tree), paths_(paths) {
        list_features(paths_.features);
        z_.assign(paths_.features.size(), 1.0);
        times_.assign(paths_.features.size(), 0);
    }

    void run() {
        const float at_root = at_end_ ? 0.0f : static_cast<float>(step_[0]);
        if (is_end(0))
            paths_.expected = value_of(0, at_root);
        else
            expand(0, at_root, 1.0, 1);
        paths_.n_points = std::max<std::size_t>((n_distinct_most_ + 1) / 2, 1);
    }

  private:
    double value_of(std::uint32_t s, float sum) const {
        return at_end_ ? step_[s] : static_cast<double>(sum);
    }

    std::int32_t expand(std::uint32_t s, float sum, double reach, std::size_t depth) {
        const auto number = static_cast<std::int32_t>(paths_.tests.size());
        PathTest test;
        test.slot = slots_[s];
        if (test.slot.next & kCategorical) test.set = sets_ + set_of_[s];
        const auto found = std::lower_bound(paths_.features.begin(), paths_.features.end(),
                                            std::uint32_t{test.slot.feature});
        const auto feature = static_cast<std::uint32_t>(found - paths_.features.begin());
        test.feature = feature;
        test.z_before = z_[feature];
        test.share[0] = share_[s];
        test.share[1] = 1.0 - share_[s];
        paths_.tests.push_back(test);
        paths_.depth = std::max(paths_.depth, depth);
        n_distinct_ += times_[feature]++ == 0;
        n_distinct_most_ = std::max(n_distinct_most_, n_distinct_);
        for (std::uint32_t side = 0; side < 2; ++side) {
            const std::uint32_t next = (test.slot.next & kNextMask) + side;
            const float total = at_end_ ? 0.0f : sum + static_cast<float>(step_[next]);
            z_[feature] = test.z_before * test.share[side];
            paths_.tests[number].z[side] = z_[feature];
            if (is_end(next)) {
                paths_.tests[number].value[side] = value_of(next, total);
                paths_.expected += reach * test.share[side] * value_of(next, total);
            } else {
                const std::int32_t child = expand(next, total, reach * test.share[side], depth + 1);
                paths_.tests[number].child[side] = child;
            }
        }
        z_[feature] = test.z_before;
        n_distinct_ -= --times_[feature] == 0;
        return number;
    }

    PathTree& paths_;
    std::vector<double> z_;             // by feature, along the path
    std::vector<std::uint32_t> times_;  // how often the path has tested a feature
    std::size_t n_distinct_ = 0, n_distinct_most_ = 0;
};

// A feature's gain is (o - z) / (t o + (1 - t) z), of its last test on the path: each test takes
// back what the one before it gave.
void write_numbers(const PathTree& paths, const PathTest& test, double* numbers) {
    const std::size_t n = paths.n_points;
    const bool is_twig = test.child[0] < 0 && test.child[1] < 0;
    for (std::size_t q = 0; q < n; ++q) {
        const double t = paths.points[q], rest = 1 - t, w = paths.weights[q];
        const double before = 1 / (t + rest * test.z_before);
        const double gain_before = (1 - test.z_before) * before;
        double number[2][kSideNumbers];
        for (std::size_t side = 0; side < 2; ++side) {
            const double z = test.z[side];
            number[side][kOwn] = (t + rest * z) * before;
            number[side][kOther] = rest * z * before;
            number[side][kOwnGain] = w * ((1 - z) / (t + rest * z) - gain_before);
            number[side][kOtherGain] = w * (-1 / rest - gain_before);
            if (test.child[side] >= 0) continue;
            number[side][kOwn] *= test.value[side];
            number[side][kOther] *= test.value[side];
            number[side][kOwnGain] *= number[side][kOwn];
            number[side][kOtherGain] *= number[side][kOther];
        }
        if (is_twig) {
            number[0][kOwn] += number[1][kOther];
            number[0][kOther] += number[1][kOwn];
            number[0][kOwnGain] += number[1][kOtherGain];
            number[0][kOtherGain] += number[1][kOwnGain];
        }
        for (std::size_t side = 0; side < 2; ++side)
            for (std::size_t k = 0; k < kSideNumbers; ++k)
                numbers[(side * kSideNumbers + k) * n + q] = number[side][k];
    }
}

}  // namespace

PathTree expand_paths(const AttributedForest& forest, std::size_t tree) {
    PathTree paths;
    Expansion(forest, tree, paths).run();
    gauss_legendre(paths.n_points, paths.points, paths.weights);
    const std::size_t size = 2 * kSideNumbers * paths.n_points;
    paths.numbers.resize(paths.tests.size() * size);
    for (std::size_t i = 0; i < paths.tests.size(); ++i)
        write_numbers(paths, paths.tests[i], paths.numbers.data() + i * size);
    return paths;
}

void gauss_legendre(std::size_t n, std::vector<double>& points, std::vector<double>& weights) {
    std::vector<double> roots;
    weights.clear();
    double x = 1;
    for (std::size_t k = 0; k < n; ++k) {
        // Newton's method from the right of all roots that are left, those found divided out.
        double slope = 1;
        x = 1;
        for (int iteration = 0; iteration < 200; ++iteration) {
            double before = 1, value = x;  // Legendre polynomials of degree j - 1 and j
            for (std::size_t j = 1; j < n; ++j) {
                const auto d = static_cast<double>(j);
                const double next = ((2 * d + 1) * x * value - d * before) / (d + 1);
                before = value;
                value = next;
            }
            const auto d = static_cast<double>(n);
            slope = x == 1.0 ? d * (d + 1) / 2 : d * (x * value - before) / (x * x - 1);
            double poles = 0;
            for (const double root : roots) poles += 1 / (x - root);
            const double move = value / (slope - value * poles);
            x -= move;
            if (move < 1e-16 && move > -1e-16) break;
        }
        roots.push_back(x);
        weights.push_back(1 / ((1 - x * x) * slope * slope));
    }
    points.clear();
    for (const double root : roots) points.push_back((1 + root) / 2);
}

}  // namespace treerank
