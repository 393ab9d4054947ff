#include "core/tree/attributions.hpp"

#include <algorithm>

#include "core/tree/feature_sets.hpp"
#include "core/tree/path_tree.hpp"
#include "core/util/line_buffer.hpp"

namespace treerank {

namespace {

constexpr std::size_t kMaxRowsPerTask = 8192;  // paths are expanded once for all of them

// Copies the codes of a block of rows in the features of a tree, feature by feature. The last row
// is repeated to fill the block.
template <class Code>
void copy_codes(const CodeMatrix<Code>& codes, const std::vector<std::uint32_t>& features,
                std::size_t first, std::size_t n, std::vector<std::uint16_t>& block) {
    block.resize(features.size() * kRowsAbreast);
    for (std::size_t f = 0; f < features.size(); ++f) {
        const Code* column = codes.column(features[f]) + first;
        for (std::size_t r = 0; r < kRowsAbreast; ++r)
            block[f * kRowsAbreast + r] = column[std::min(r, n - 1)];
    }
}

// Adds the attributions of one tree for the rows [begin, end).
template <class Code>
void add_paths(const PathTree& tree, const CodeMatrix<Code>& codes, std::size_t begin,
               std::size_t end, double* values) {
    const AttributeBlock attribute = attribute_block();
    const PathView view = view_of(tree);
    LineBuffer<double> scratch(scratch_size(tree)), sums(tree.features.size() * kRowsAbreast);
    std::vector<std::uint32_t> live(tree.features.size());
    std::vector<std::uint16_t> block;
    for (std::size_t first = begin; first < end; first += kRowsAbreast) {
        const std::size_t n = std::min(kRowsAbreast, end - first);
        copy_codes(codes, tree.features, first, n, block);
        std::fill_n(sums.data(), live.size() * kRowsAbreast, 0.0);
        attribute(view, {block.data(), sums.data(), scratch.data(), live.data()});
        for (std::size_t r = 0; r < n; ++r)
            for (std::size_t f = 0; f < tree.features.size(); ++f)
                values[(first + r) * codes.features + tree.features[f]] +=
                    sums.data()[f * kRowsAbreast + r];
    }
}

// Computes the interactions of the features of one path for one row: at an end, each pair of
// features that the path has tested gets half of the integral over the product of the others.
template <class Code>
class PairWalk {
  public:
    PairWalk(const PathTree& tree, const CodeMatrix<Code>& codes)
        : tree_(tree),
          codes_(codes),
          n_(tree.n_points),
          z_(tree.features.size(), 1.0),
          passes_(tree.features.size(), 1),
          times_(tree.features.size(), 0) {}

    void walk(std::size_t row, double* pairs) {
        row_ = row;
        pairs_ = pairs;
        if (!tree_.tests.empty()) visit(0);
    }

  private:
    void visit(std::size_t number) {
        const PathTest& test = tree_.tests[number];
        const std::uint32_t f = test.feature;
        const bool left = test.goes_left(codes_.column(tree_.features[f])[row_]);
        const bool passes = passes_[f];
        if (times_[f]++ == 0) path_.push_back(f);
        for (std::size_t side = 0; side < 2; ++side) {
            z_[f] = test.z[side];
            passes_[f] = passes && left == (side == 0);
            if (test.child[side] == kEnd)
                add(test.value[side]);
            else if (test.child[side] >= 0)
                visit(static_cast<std::size_t>(test.child[side]));
        }
        z_[f] = test.z_before;
        passes_[f] = passes;
        if (--times_[f] == 0) path_.pop_back();
    }

    void add(double value) {
        const std::size_t m = path_.size(), p = codes_.features;
        product_.assign(n_, value);
        gain_.resize(m * n_);
        for (std::size_t i = 0; i < m; ++i) {
            const double z = z_[path_[i]], o = passes_[path_[i]] ? 1.0 : 0.0;
            for (std::size_t q = 0; q < n_; ++q) {
                const double t = tree_.points[q], passing = t * o + (1 - t) * z;
                product_[q] *= passing;
                gain_[i * n_ + q] = passing > 0 ? (o - z) / passing : 0.0;
            }
        }
        for (std::size_t q = 0; q < n_; ++q) product_[q] *= tree_.weights[q] / 2;
        for (std::size_t i = 0; i < m; ++i)
            for (std::size_t j = 0; j < i; ++j) {
                double sum = 0;
                for (std::size_t q = 0; q < n_; ++q)
                    sum += product_[q] * gain_[i * n_ + q] * gain_[j * n_ + q];
                const std::size_t a = tree_.features[path_[i]], b = tree_.features[path_[j]];
                pairs_[a * p + b] += sum;
                pairs_[b * p + a] += sum;
            }
    }

    const PathTree& tree_;
    const CodeMatrix<Code>& codes_;
    const std::size_t n_;
    std::size_t row_ = 0;
    double* pairs_ = nullptr;
    std::vector<double> z_;
    std::vector<std::uint8_t> passes_;
    std::vector<std::uint32_t> times_, path_;
    std::vector<double> product_, gain_;
};

double count_paths(const TreeView& tree) {
    std::vector<double> ways(tree.n_slots, 1.0);
    for (std::size_t s = tree.n_slots; s-- > 0;)
        if (!tree.is_end(s)) {
            const std::size_t next = tree.slots[s].next & kNextMask;
            ways[s] = ways[next] + ways[next + 1];
        }
    return ways[0];
}

// The method by which a tree is attributed: by its paths, by all sets of its features, or by
// sampled orders.
enum class Way { kPaths, kSets, kOrders };

Way way_of(const TreeView& tree, std::size_t max_paths) {
    if (longest_path(tree) <= kMaxTestsOfPath &&
        count_paths(tree) <= static_cast<double>(max_paths))
        return Way::kPaths;
    return has_few_sets(tree, max_paths) ? Way::kSets : Way::kOrders;
}

// Adds the attributions of one tree for the rows [begin, end); `pairs` may be null. Returns the
// expected value.
template <class Code>
double add_tree(const AttributedForest& forest, std::size_t t, Way way,
                const CodeMatrix<Code>& codes, std::size_t begin, std::size_t end,
                const AttributionOptions& options, const ThreadPool& pool, double* features,
                double* pairs) {
    if (way == Way::kOrders)
        return sample_orders(forest, t, codes, begin, end, options.n_orders, pool, features);
    if (way == Way::kSets)
        return enumerate_sets(forest, t, codes, begin, end, pool, features, pairs);
    double expected = 0;
    for (const PathTree& tree : expand_paths(forest, t)) {
        expected += tree.expected;
        add_paths(tree, codes, begin, end, features);
        if (pairs == nullptr) continue;
        const std::size_t size = codes.features * codes.features;
        PairWalk<Code> walk(tree, codes);
        for (std::size_t row = begin; row < end; ++row) walk.walk(row, pairs + row * size);
    }
    return expected;
}

}  // namespace

std::vector<std::uint32_t> tested_features(const TreeView& tree) {
    std::vector<std::uint32_t> features;
    for (std::size_t s = 0; s < tree.n_slots; ++s)
        if (!tree.is_end(s)) features.push_back(tree.slots[s].feature);
    std::sort(features.begin(), features.end());
    features.erase(std::unique(features.begin(), features.end()), features.end());
    return features;
}

std::size_t longest_path(const TreeView& tree) {
    std::vector<std::size_t> depth(tree.n_slots, 0);
    for (std::size_t s = tree.n_slots; s-- > 0;)
        if (!tree.is_end(s)) {
            const std::size_t next = tree.slots[s].next & kNextMask;
            depth[s] = 1 + std::max(depth[next], depth[next + 1]);
        }
    return depth[0];
}

void fill_diagonals(std::size_t begin, std::size_t end, std::size_t p, const double* features,
                    double* pairs) {
    for (std::size_t row = begin; row < end; ++row)
        for (std::size_t i = 0; i < p; ++i) {
            double* line = pairs + (row * p + i) * p;
            double rest = features[row * p + i];
            for (std::size_t j = 0; j < p; ++j)
                if (j != i) rest -= line[j];
            line[i] = rest;
        }
}

std::vector<double> estimated_paths(const ForestView& forest, std::size_t max_paths) {
    std::vector<double> counts;
    for (std::size_t t = 0; t < forest.n_trees; ++t) {
        const TreeView tree(forest, t);
        if (way_of(tree, max_paths) == Way::kOrders) counts.push_back(count_paths(tree));
    }
    return counts;
}

template <class Code>
Attributions attribute_paths(const AttributedForest& forest, const CodeMatrix<Code>& codes,
                             const AttributionOptions& options, ThreadPool& pool) {
    const std::size_t n = codes.rows, p = codes.features;
    Attributions found;
    std::vector<Way> ways;
    for (std::size_t t = 0; t < forest.walks.n_trees; ++t) {
        ways.push_back(way_of(TreeView(forest.walks, t), options.max_paths));
        found.exact = found.exact && ways[t] != Way::kOrders;
    }
    std::vector<double> features(n * p, 0.0);
    if (options.interactions) found.values.assign(n * p * p, 0.0);
    double* pairs = options.interactions ? found.values.data() : nullptr;
    // Rows are divided evenly among the threads; the sums of a row do not depend on how.
    const std::size_t rounds =
        (n + kMaxRowsPerTask * pool.size() - 1) / (kMaxRowsPerTask * pool.size());
    const std::size_t n_tasks = std::max<std::size_t>(rounds * pool.size(), 1);
    std::vector<double> expected(n_tasks, 0.0);
    pool.run(n_tasks, [&](std::size_t task) {
        const std::size_t begin = task * n / n_tasks, end = (task + 1) * n / n_tasks;
        if (begin == end && task > 0) return;
        for (std::size_t t = 0; t < ways.size(); ++t) {
            pool.check();
            expected[task] += add_tree(forest, t, ways[t], codes, begin, end, options, pool,
                                       features.data(), pairs);
        }
        if (options.interactions) fill_diagonals(begin, end, p, features.data(), pairs);
    });
    found.expected = expected[0];
    if (!options.interactions) found.values = std::move(features);
    return found;
}

template Attributions attribute_paths(const AttributedForest&, const CodeMatrix<std::uint8_t>&,
                                      const AttributionOptions&, ThreadPool&);
template Attributions attribute_paths(const AttributedForest&, const CodeMatrix<std::uint16_t>&,
                                      const AttributionOptions&, ThreadPool&);

}  // namespace treerank
