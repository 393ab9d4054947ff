#include "core/tree/path_tree.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace treerank {

namespace {

constexpr std::size_t kMaxPoints = 63;  // larger numbers of points share a bit

// The number of quadrature points that is exact for a path with this many features.
std::size_t points_of(std::size_t n_features) {
    return std::max<std::size_t>((n_features + 1) / 2, 1);
}

// Expands one tree, depth first: the paths to ends that need from `least` to `most` points.
class Expansion : private AttributedTree {
  public:
    Expansion(const AttributedForest& forest, std::size_t tree, std::size_t least, std::size_t most)
        : AttributedTree(forest, tree), least_(least), most_(most) {
        paths_.features = tested_features(walks_);
        z_.assign(paths_.features.size(), 1.0);
        times_.assign(paths_.features.size(), 0);
    }

    PathTree run() {
        const float at_root = walks_.at_end ? 0.0f : static_cast<float>(step_[0]);
        if (walks_.is_end(0))
            paths_.expected = value_of(0, at_root);
        else
            expand(0, at_root, 1.0, 1);
        return std::move(paths_);
    }

    // By test: a bit mask of the numbers of points that the ends below it need.
    const std::vector<std::uint64_t>& points_below() const { return points_below_; }

  private:
    double value_of(std::uint32_t s, float sum) const {
        return walks_.at_end ? step_[s] : static_cast<double>(sum);
    }

    std::int32_t expand(std::uint32_t s, float sum, double reach, std::size_t depth) {
        const std::size_t number = paths_.tests.size();
        PathTest test = test_of(s);
        const std::uint32_t feature = test.feature;
        paths_.tests.push_back(test);
        points_below_.push_back(0);
        n_distinct_ += times_[feature]++ == 0;
        for (std::uint32_t side = 0; side < 2; ++side) {
            const std::uint32_t next = (test.slot.next & kNextMask) + side;
            const float total = walks_.at_end ? 0.0f : sum + static_cast<float>(step_[next]);
            z_[feature] = test.z[side];
            if (!walks_.is_end(next)) {
                test.child[side] = expand(next, total, reach * test.share[side], depth + 1);
                if (test.child[side] >= 0)
                    points_below_[number] |=
                        points_below_[static_cast<std::size_t>(test.child[side])];
                continue;
            }
            const std::size_t n_points = points_of(n_distinct_);
            if (n_points < least_ || n_points > most_) continue;
            points_below_[number] |= std::uint64_t{1} << std::min(n_points, kMaxPoints);
            paths_.n_points = std::max(paths_.n_points, n_points);
            paths_.depth = std::max(paths_.depth, depth);
            test.child[side] = kEnd;
            test.value[side] = value_of(next, total);
            paths_.expected += reach * test.share[side] * test.value[side];
        }
        z_[feature] = test.z_before;
        n_distinct_ -= --times_[feature] == 0;
        paths_.tests[number] = test;
        if (points_below_[number] != 0) return static_cast<std::int32_t>(number);
        paths_.tests.resize(number);
        points_below_.resize(number);
        return kNoPath;
    }

    PathTest test_of(std::uint32_t s) const {
        PathTest test;
        test.slot = walks_.slots[s];
        if (test.slot.next & kCategorical) test.set = walks_.sets + walks_.set_of[s];
        const auto found = std::lower_bound(paths_.features.begin(), paths_.features.end(),
                                            std::uint32_t{test.slot.feature});
        test.feature = static_cast<std::uint32_t>(found - paths_.features.begin());
        test.z_before = z_[test.feature];
        test.share[0] = share_[s];
        test.share[1] = 1.0 - share_[s];
        for (std::size_t side = 0; side < 2; ++side)
            test.z[side] = test.z_before * test.share[side];
        return test;
    }

    const std::size_t least_, most_;
    PathTree paths_;
    std::vector<std::uint64_t> points_below_;
    std::vector<double> z_;             // by feature, along the path
    std::vector<std::uint32_t> times_;  // how often the path has tested each feature
    std::size_t n_distinct_ = 0;
};

// Chooses where to divide the ends so that the work, tests times points, is smallest: ends that
// need up to the returned number of points, and the others, which share many of their tests.
// Returns `most` if it is best not to divide them.
std::size_t choose_points(const std::vector<std::uint64_t>& points_below, std::size_t most) {
    if (most >= kMaxPoints) return most;
    const auto count = [&](std::uint64_t points) {
        return static_cast<std::size_t>(
            std::count_if(points_below.begin(), points_below.end(),
                          [&](std::uint64_t below) { return (below & points) != 0; }));
    };
    std::size_t best = most, least_work = most * points_below.size();
    for (std::size_t few = 1; few < most; ++few) {
        const std::uint64_t few_bits = (std::uint64_t{2} << few) - 1;
        const std::size_t work = few * count(few_bits) + most * count(~few_bits);
        if (work < least_work) {
            least_work = work;
            best = few;
        }
    }
    return best;
}

// A feature's gain is (o - z) / (t o + (1 - t) z) at its last test on the path: each test subtracts
// the gain of the test of the feature before it.
void write_numbers(const PathTree& paths, const PathTest& test, double* numbers) {
    const std::size_t n = paths.n_points;
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
        if (test.is_twig()) {
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

std::vector<PathTree> expand_paths(const AttributedForest& forest, std::size_t tree) {
    constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
    std::vector<PathTree> parts;
    Expansion whole(forest, tree, 0, kAny);
    parts.push_back(whole.run());
    const std::size_t most = parts[0].n_points, few = choose_points(whole.points_below(), most);
    if (few < most) {
        parts[0] = Expansion(forest, tree, 0, few).run();
        parts.push_back(Expansion(forest, tree, few + 1, kAny).run());
    }
    for (PathTree& paths : parts) {
        gauss_legendre(paths.n_points, paths.points, paths.weights);
        const std::size_t size = 2 * kSideNumbers * paths.n_points;
        paths.numbers.resize(paths.tests.size() * size);
        for (std::size_t i = 0; i < paths.tests.size(); ++i)
            write_numbers(paths, paths.tests[i], paths.numbers.data() + i * size);
    }
    return parts;
}

void gauss_legendre(std::size_t n, std::vector<double>& points, std::vector<double>& weights) {
    std::vector<double> roots;
    weights.clear();
    double x = 1;
    for (std::size_t k = 0; k < n; ++k) {
        // Newton's method from the right of all remaining roots, with the found roots divided out.
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
