// Gradient histograms: for each feature and code, the sums of gradient, hessian and weight.
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

// Sums over rows. Gradients and hessians are multiplied by the rows' integer weights, so that a row
// of weight w equals w rows.
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

// The sum over all rows of a node, from the sums by code of one feature.
inline GradientSum total_of(const GradientSum* by_code, std::int32_t n_codes) {
    GradientSum sum;
    for (std::int32_t code = 0; code < n_codes; ++code) sum += by_code[code];
    return sum;
}

// The number of sums in a histogram of the chosen features, one feature after another.
inline std::size_t n_sums(const std::vector<std::int32_t>& n_codes,
                          const std::vector<std::int32_t>& chosen) {
    std::size_t size = 0;
    for (const std::int32_t feature : chosen) size += n_codes[feature];
    return size;
}

// What a row adds per unit of its weight.
struct RowGradient {
    std::int32_t gradient = 0;
    std::int32_t hessian = 0;
};

inline constexpr int kGradientBits = 30;  // maximum for the gradient and the hessian of a row

// The rows of a table, for counting: the gradient and the codes of each row. The rows of a node are
// scattered, so one thread has each gradient in front of the codes of its row, and one fetch brings
// both. Several threads have the gradients apart from the codes: they change in every round, and
// all that shares a cache line with them has to be fetched anew by every other core.
class RowRecords {
  public:
    template <class Code>
    RowRecords(const CodeMatrix<Code>& codes, ThreadPool& pool);

    std::size_t size() const { return n_; }
    RowGradient gradient(std::size_t row) const {
        RowGradient gradient;
        std::memcpy(&gradient, gradients_ + row * gradient_stride_, sizeof gradient);
        return gradient;
    }
    void set_gradient(std::size_t row, RowGradient gradient) {
        std::memcpy(gradients_ + row * gradient_stride_, &gradient, sizeof gradient);
    }
    template <class Code>
    const Code* codes(std::size_t row) const {
        return reinterpret_cast<const Code*>(codes_ + row * code_stride_);
    }
    // Prefetches a row into the nearest cache; or its codes into the next level, while other rows
    // are counted.
    void prefetch(std::size_t row) const {
        __builtin_prefetch(gradients_ + row * gradient_stride_);
        __builtin_prefetch(codes_ + row * code_stride_);
    }
    void prefetch_far(std::size_t row) const {
        __builtin_prefetch(codes_ + row * code_stride_, 0, 2);
    }

  private:
    std::size_t n_, gradient_stride_, code_stride_;
    std::unique_ptr<std::byte[]> bytes_;
    std::byte *gradients_, *codes_;  // within `bytes_`
};

// target = parent - child, for all n sums.
inline void subtract(GradientSum* target, const GradientSum* parent, const GradientSum* child,
                     std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) target[i] = parent[i] - child[i];
}

// Rows of weight 1. A vector of two words holds everything that a row adds, so that counting a row
// is one load, one addition and one store. The first word is the gradient, with the number of rows
// in its low bits; both fit for a block of at most kBlock rows.
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

// A histogram to be counted over rows[0, n), and optionally the sibling's, which follows by
// subtraction.
struct HistogramJob {
    const Row* rows;
    std::size_t n;
    GradientSum* histogram;
    const GradientSum* whole = nullptr;  // the parent's histogram
    GradientSum* rest = nullptr;         // gets whole - histogram; null: not needed
};

// Counts the histograms of a table's nodes, in buffers that are reused.
template <class Code, class Rows>
class GradientCounter {
  public:
    // `weights` may be null if all rows have weight 1.
    GradientCounter(const RowRecords& records, const Features& features,
                    const std::int64_t* weights)
        : records_(records), features_(features), weights_(weights) {}

    // Sets the features to count from now on. offset() is where the sums of a feature start in a
    // histogram.
    void choose(const std::vector<std::int32_t>& chosen);
    std::size_t offset(std::int32_t feature) const { return offset_[feature]; }
    std::size_t size() const { return size_; }

    // Counts the rows of all jobs. Their histograms are then completed a few features at a time, so
    // that whoever searches features completes them first: threads need not wait for each other in
    // between. If histograms are too large for the cache, rows are not counted before either, so
    // that features are searched while their sums are still in the cache. Sums are integers, so
    // they depend neither on the pool, which may be null, nor on how the rows are distributed.
    void count(std::vector<HistogramJob> jobs, ThreadPool* pool);
    // Computes the sums of the features chosen[first, last) in the histograms of a job.
    void complete(std::size_t job, std::size_t first, std::size_t last) const;
    // The number of features that are best completed together.
    std::size_t n_completed_together() const { return is_wide() ? kFewFeatures : chosen_.size(); }
    // The jobs to be completed, and a note that all of them have been.
    const std::vector<HistogramJob>& jobs() const { return jobs_; }
    void finish() { jobs_.clear(); }

  private:
    using Bin = typename Rows::Bin;
    // Features that are counted together, and their bins, which are contiguous.
    struct Group {
        std::size_t feature, n_features, bin, n_bins;
    };
    // A part of a job: some of its rows, for some of the features.
    struct Part {
        std::size_t job, first, n;
        Group group;
        bool is_whole;  // has all rows of the job
        std::size_t work() const { return n * group.n_features; }
        // Whether its bins are kept in a buffer of their own and converted when the parts are
        // summed.
        bool keeps_bins() const { return !is_whole && n <= Rows::kBlock; }
    };

    static constexpr std::size_t kFewFeatures = 16;
    static constexpr std::size_t kBinsInCache = std::size_t{1} << 15;
    bool is_wide() const { return size_ > kBinsInCache; }

    // The features chosen_[first, last).
    Group group_of(std::size_t first, std::size_t last) const;
    void divide_jobs(std::size_t n_threads);
    void count_part(std::size_t number);
    // Adds up the parts of a job for bins [first, last) of its histogram.
    void add_parts(std::size_t job, std::size_t first, std::size_t last) const;
    // Sums rows in thread-local bins.
    void sum_rows(const Row* rows, std::size_t n, const Group& group, GradientSum* sums) const;
    // Counts up to kBlock rows into bins; `n_ahead` as for count_block().
    void fill_bins(const Row* rows, std::size_t n, std::size_t n_ahead, const Group& group,
                   Bin* bins) const;
    // `n_ahead`: the number of rows from the first of these to the last of the part; all may be
    // prefetched.
    void count_block(const Row* rows, std::size_t n, std::size_t n_ahead, const Group& group,
                     Bin* bins) const;

    const RowRecords& records_;
    const Features& features_;
    const std::int64_t* weights_;
    std::vector<std::int32_t> chosen_;
    std::vector<std::size_t> offset_;
    std::size_t size_ = 0;
    std::vector<HistogramJob> jobs_;
    std::vector<Part> parts_;                     // job by job
    std::vector<std::size_t> first_part_;         // by job, and the number of all parts
    std::vector<std::vector<Bin>> bins_;          // by part: for up to kBlock rows
    std::vector<std::vector<GradientSum>> sums_;  // by part: for more rows
};

}  // namespace treerank
