#include "core/histogram/gradient_histogram.hpp"

namespace treerank {

namespace {

constexpr std::size_t kFeaturesPerPass = 8;
constexpr std::size_t kRowsPerBlock = 1024;  // they stay in the cache for all features
constexpr std::size_t kRowsAhead = 64;       // that are fetched while others are gathered
constexpr std::size_t kLine = 64;            // bytes of a line of cache
constexpr std::size_t kRowsPerTask = 8192;
constexpr std::size_t kRowsPerPart = 4096;  // the least that is worth a histogram of its own
constexpr std::size_t kPartsPerThread = 2;
constexpr std::size_t kBinsPerTask = 1024;

// Independent histograms keep several chains of load, addition and store in flight.
template <std::size_t K, class Code, class Bin>
void count_rows(const RowRecords& records, const std::int32_t* features, const Row* rows,
                std::size_t n, const Bin* gathered, const std::size_t* offset, Bin* bins) {
    std::size_t feature[K];
    Bin* own[K];
    for (std::size_t k = 0; k < K; ++k) {
        feature[k] = static_cast<std::size_t>(features[k]);
        own[k] = bins + offset[features[k]];
    }
    for (std::size_t i = 0; i < n; ++i) {
        const Code* codes = records.codes<Code>(row_id(rows[i]));
        const Bin one = gathered[i];
        for (std::size_t k = 0; k < K; ++k) own[k][codes[feature[k]]] += one;
    }
}

template <class Code, std::size_t K = kFeaturesPerPass, class Bin>
void count_some(const RowRecords& records, const std::int32_t* features, std::size_t k,
                const Row* rows, std::size_t n, const Bin* gathered, const std::size_t* offset,
                Bin* bins) {
    if (k == K) return count_rows<K, Code>(records, features, rows, n, gathered, offset, bins);
    if constexpr (K > 1)
        count_some<Code, K - 1>(records, features, k, rows, n, gathered, offset, bins);
}

}  // namespace

template <class Code>
RowRecords::RowRecords(const CodeMatrix<Code>& codes, ThreadPool& pool)
    : n_(codes.rows),
      stride_((sizeof(RowGradient) + codes.features * sizeof(Code) + 7) / 8 * 8),
      bytes_(std::make_unique_for_overwrite<std::byte[]>(n_ * stride_ + kLine)) {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.get());
    first_ = bytes_.get() + (kLine - address % kLine) % kLine;
    pool.run((n_ + kRowsPerTask - 1) / kRowsPerTask, [&](std::size_t task) {
        const std::size_t last = std::min(n_, (task + 1) * kRowsPerTask);
        for (std::size_t f = 0; f < codes.features; ++f) {
            const Code* column = codes.column(f);
            for (std::size_t row = task * kRowsPerTask; row < last; ++row)
                std::memcpy(record(row) + sizeof(RowGradient) + f * sizeof(Code),
                            column + row * codes.step, sizeof(Code));
        }
    });
}

template RowRecords::RowRecords(const CodeMatrix<std::uint8_t>&, ThreadPool&);
template RowRecords::RowRecords(const CodeMatrix<std::uint16_t>&, ThreadPool&);

template <class Code, class Rows>
void GradientCounter<Code, Rows>::choose(const std::vector<std::int32_t>& chosen) {
    chosen_ = chosen;
    offset_.assign(features_.size(), 0);
    size_ = 0;
    for (const std::int32_t feature : chosen_) {
        offset_[feature] = size_;
        size_ += static_cast<std::size_t>(features_.n_codes[feature]);
    }
}

template <class Code, class Rows>
void GradientCounter<Code, Rows>::count_block(const Row* rows, std::size_t n, std::size_t n_ahead,
                                              Bin* bins) const {
    Bin gathered[kRowsPerBlock];
    for (std::size_t i = 0; i < n; ++i) {
        records_.prefetch(row_id(rows[std::min(i + kRowsAhead, n_ahead - 1)]));
        const std::size_t row = row_id(rows[i]);
        gathered[i] = Rows::make(records_.gradient(row), weights_ != nullptr ? weights_[row] : 1);
    }
    const std::size_t p = chosen_.size(), passes = (p + kFeaturesPerPass - 1) / kFeaturesPerPass;
    for (std::size_t pass = 0; pass < passes; ++pass) {
        const std::size_t first = pass * p / passes, k = (pass + 1) * p / passes - first;
        count_some<Code>(records_, chosen_.data() + first, k, rows, n, gathered, offset_.data(),
                         bins);
    }
}

template <class Code, class Rows>
void GradientCounter<Code, Rows>::count_part(const Row* rows, std::size_t n, Bin* bins,
                                             GradientSum* histogram) const {
    for (std::size_t first = 0; first < n;) {
        const std::size_t last = first + std::min(Rows::kBlock, n - first);
        std::fill_n(bins, size_, Bin{});
        for (std::size_t at = first; at < last; at += kRowsPerBlock)
            count_block(rows + at, std::min(kRowsPerBlock, last - at), n - at, bins);
        if (first == 0)
            for (std::size_t b = 0; b < size_; ++b) histogram[b] = Rows::sum(bins[b]);
        else
            for (std::size_t b = 0; b < size_; ++b) histogram[b] += Rows::sum(bins[b]);
        first = last;
    }
}

template <class Code, class Rows>
auto GradientCounter<Code, Rows>::parts_of(const std::vector<HistogramJob>& jobs,
                                           std::size_t n_threads) -> std::vector<Part> {
    std::size_t total = 0;
    for (const HistogramJob& job : jobs) total += job.n;
    const std::size_t size =
        n_threads > 1 ? std::max(kRowsPerPart, total / (n_threads * kPartsPerThread)) : total + 1;
    std::vector<Part> parts;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const std::size_t n = jobs[j].n, k = std::max<std::size_t>(1, n / size);
        for (std::size_t i = 0; i < k; ++i)
            parts.push_back({j, i * n / k, (i + 1) * n / k - i * n / k, i == 0});
    }
    if (bins_.size() < parts.size()) bins_.resize(parts.size());
    if (sums_.size() < parts.size()) sums_.resize(parts.size());
    return parts;
}

template <class Code, class Rows>
void GradientCounter<Code, Rows>::count(const std::vector<HistogramJob>& jobs, ThreadPool* pool) {
    const std::vector<Part> parts = parts_of(jobs, pool != nullptr ? pool->size() : 1);
    run_in(pool, parts.size(), [&](std::size_t i) {
        const auto [j, first, n, is_first] = parts[i];
        // By a thread alone one after another: the same bins, still in its cache.
        std::vector<Bin>& bins = bins_[pool != nullptr ? i : 0];
        if (bins.size() < size_) bins.resize(size_);
        if (!is_first && sums_[i].size() < size_) sums_[i].resize(size_);
        GradientSum* histogram = is_first ? jobs[j].histogram : sums_[i].data();
        if (n == 0) std::fill_n(histogram, size_, GradientSum{});
        count_part(jobs[j].rows + first, n, bins.data(), histogram);
        if (pool == nullptr && jobs[j].rest != nullptr)
            subtract(jobs[j].rest, jobs[j].whole, jobs[j].histogram, size_);
    });
    if (pool == nullptr) return;
    const std::size_t n_tasks = (size_ + kBinsPerTask - 1) / kBinsPerTask;
    pool->run(jobs.size() * n_tasks, [&](std::size_t task) {
        const HistogramJob& job = jobs[task / n_tasks];
        const std::size_t from = task % n_tasks * kBinsPerTask;
        const std::size_t last = std::min(size_, from + kBinsPerTask);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if (parts[i].job != task / n_tasks || parts[i].is_first) continue;
            for (std::size_t b = from; b < last; ++b) job.histogram[b] += sums_[i][b];
        }
        if (job.rest != nullptr)
            subtract(job.rest + from, job.whole + from, job.histogram + from, last - from);
    });
}

template class GradientCounter<std::uint8_t, UnitRows>;
template class GradientCounter<std::uint8_t, WeightedGradientRows>;
template class GradientCounter<std::uint16_t, UnitRows>;
template class GradientCounter<std::uint16_t, WeightedGradientRows>;

}  // namespace treerank
