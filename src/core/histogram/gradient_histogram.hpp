// Histograms of gradients: for each feature and code, the sums of gradient, curvature and weight.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "core/data/types.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

// Sums over rows. Gradients are multiplied by the rows' integer weights, so that a row of weight
// w equals w rows.
struct GradientSum {
    std::int64_t gradient = 0;
    std::int64_t hessian = 0;
    std::int64_t weight = 0;

    GradientSum operator+(const GradientSum& other) const {
        return {gradient + other.gradient, hessian + other.hessian, weight + other.weight};
    }
    GradientSum operator-(const GradientSum& other) const {
        return {gradient - other.gradient, hessian - other.hessian, weight - other.weight};
    }
    GradientSum& operator+=(const GradientSum& other) { return *this = *this + other; }
};

// Of all rows of a node, from the sums by code of one feature.
inline GradientSum total_of(const GradientSum* by_code, std::int32_t n_codes) {
    GradientSum sum;
    for (std::int32_t code = 0; code < n_codes; ++code) sum += by_code[code];
    return sum;
}

// What one row adds for each unit of its weight.
struct RowGradient {
    std::int32_t gradient = 0;
    std::int32_t hessian = 0;
};

inline constexpr int kGradientBits = 30;  // of a row's gradient and of its curvature, at most

// The rows of a table, each with its gradient and its codes side by side: rows of a node are
// scattered, and fetching one brings all that counting it needs.
class RowRecords {
  public:
    template <class Code>
    RowRecords(const CodeMatrix<Code>& codes, ThreadPool& pool);

    std::size_t size() const { return n_; }
    RowGradient gradient(std::size_t row) const {
        RowGradient gradient;
        std::memcpy(&gradient, record(row), sizeof gradient);
        return gradient;
    }
    void set_gradient(std::size_t row, RowGradient gradient) {
        std::memcpy(record(row), &gradient, sizeof gradient);
    }
    template <class Code>
    const Code* codes(std::size_t row) const {
        return reinterpret_cast<const Code*>(record(row) + sizeof(RowGradient));
    }
    // Into the nearest cache, or while others are counted into the next one.
    void prefetch(std::size_t row) const { __builtin_prefetch(record(row)); }
    void prefetch_far(std::size_t row) const { __builtin_prefetch(record(row), 0, 2); }

  private:
    std::byte* record(std::size_t row) const { return first_ + row * stride_; }

    std::size_t n_, stride_;
    std::unique_ptr<std::byte[]> bytes_;
    std::byte* first_;  // where a line of cache begins
};

// target = parent - child, over all sums.
inline void subtract(GradientSum* target, const GradientSum* parent, const GradientSum* child,
                     std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) target[i] = parent[i] - child[i];
}

// Rows of weight 1: one vector of two words has all that a row adds, so that counting it is one
// load, one addition and one store. The first word is the gradient, with the number of rows in
// its low bits: both fit for a block of rows.
struct UnitRows {
    static constexpr int kCountBits = 16;
    static constexpr std::size_t kBlock = std::size_t{1} << (kCountBits - 1);
    struct Bin {
        typedef std::int64_t Words __attribute__((vector_size(16)));
        Words words = {};

        Bin& operator+=(const Bin& other) {
            words += other.words;
            return *this;
        }
    };

    static Bin make(const RowGradient& row, std::int64_t) {
        return {Bin::Words{(std::int64_t{row.gradient} << kCountBits) + 1, row.hessian}};
    }
    static GradientSum sum(const Bin& bin) {
        constexpr std::int64_t count = (std::int64_t{1} << kCountBits) - 1;
        return {bin.words[0] >> kCountBits, bin.words[1], bin.words[0] & count};
    }
};

struct WeightedGradientRows {
    static constexpr std::size_t kBlock = ~std::size_t{0};
    using Bin = GradientSum;

    static Bin make(const RowGradient& row, std::int64_t weight) {
        return {row.gradient * weight, row.hessian * weight, weight};
    }
    static GradientSum sum(const Bin& bin) { return bin; }
};

// A histogram to be counted, of rows[0, n), and one that follows from it.
struct HistogramJob {
    const Row* rows;
    std::size_t n;
    GradientSum* histogram;
    const GradientSum* whole = nullptr;  // of these rows and others ...
    GradientSum* rest = nullptr;         // ... which get what is left of it; null: they do not

    // Bins [first, last) of the rest, once they are counted.
    void subtract(std::size_t first, std::size_t last) const {
        if (rest == nullptr) return;
        treerank::subtract(rest + first, whole + first, histogram + first, last - first);
    }
};

// Counts the histograms of a table's nodes, in buffers of its own.
template <class Code, class Rows>
class GradientCounter {
  public:
    // `weights` may be null for rows of weight 1.
    GradientCounter(const RowRecords& records, const Features& features,
                    const std::int64_t* weights)
        : records_(records), features_(features), weights_(weights) {}

    // The features to count from now on; where the sums of each start in a histogram.
    void choose(const std::vector<std::int32_t>& chosen);
    std::size_t offset(std::int32_t feature) const { return offset_[feature]; }
    std::size_t size() const { return size_; }

    // Whole numbers: they do not depend on the pool, which may be null, nor on how the rows are
    // distributed.
    void count(const std::vector<HistogramJob>& jobs, ThreadPool* pool);

  private:
    using Bin = typename Rows::Bin;
    // Features that are counted in one pass over the rows, and their bins, which follow each other.
    struct Group {
        std::size_t feature, n_features, bin, n_bins;
    };
    // Some rows of a job and some of the features.
    struct Part {
        std::size_t job, first, n;
        Group group;
        bool is_first, is_whole;  // of the rows of the job: the first, or all
        // Whether its bins are added to those of other parts as they are, in a buffer of their own.
        bool keeps_bins() const { return !is_whole && n <= Rows::kBlock; }
    };

    std::vector<Part> parts_of(const std::vector<HistogramJob>& jobs, std::size_t n_threads);
    void count_part(const HistogramJob& job, const Part& part, std::size_t number);
    void add_parts(const std::vector<HistogramJob>& jobs, const std::vector<Part>& parts,
                   ThreadPool* pool);
    // The sums of rows in bins that are in nobody else's hands.
    void sum_rows(const Row* rows, std::size_t n, const Group& group, GradientSum* sums) const;
    // The bins of up to kBlock rows, the first of `n_ahead`.
    void fill_bins(const Row* rows, std::size_t n, std::size_t n_ahead, const Group& group,
                   Bin* bins) const;
    // `n_ahead`: rows from the first of these to the last of the part, which may be fetched.
    void count_block(const Row* rows, std::size_t n, std::size_t n_ahead, const Group& group,
                     Bin* bins) const;

    const RowRecords& records_;
    const Features& features_;
    const std::int64_t* weights_;
    std::vector<std::int32_t> chosen_;
    std::vector<std::size_t> offset_;
    std::size_t size_ = 0;
    std::vector<Group> passes_;                   // over the chosen features
    std::vector<std::vector<Bin>> bins_;          // by part: of up to kBlock rows ...
    std::vector<std::vector<GradientSum>> sums_;  // ... or of more
};

}  // namespace treerank
