#include "core/histogram/gradient_histogram.hpp"

#include <algorithm>
#include <numeric>

#include "core/util/large_pages.hpp"
#include "core/util/line_buffer.hpp"
#include "core/util/stable_order.hpp"

namespace treerank {

namespace {

constexpr std::size_t kFeaturesPerPass = 8;
constexpr std::size_t kRowsPerBlock = 1024;  // stay in the cache for all features
constexpr std::size_t kRowsAhead = 64;       // prefetch distance while gathering
constexpr std::size_t kRowsPerTask = 8192;
// Rows are gathered once for each group of features, and a histogram is cleared and added up for
// each part of the rows. So features are divided rather than rows if a part would have fewer rows
// than this, but into groups that fill a pass.
constexpr std::size_t kRowsPerPart = 16384;
constexpr std::size_t kCodesPerPart = 8192;  // the fewest that are worth a part of their own
constexpr std::size_t kPartsPerThread = 2;

struct Division {
    std::size_t n_groups, n_blocks;  // of features; of rows
};

// Divides n rows of p features into about `n_parts` parts, or fewer if they are not worth it.
Division divide(std::size_t n, std::size_t p, std::size_t n_parts) {
    const std::size_t one = 1, worth = std::max(one, n * p / kCodesPerPart);
    const std::size_t wanted = std::clamp(n_parts, one, worth);
    const std::size_t most = std::min(wanted, std::max(one, p / kFeaturesPerPass));
    const std::size_t n_groups = std::clamp(kRowsPerPart * wanted / std::max(one, n), one, most);
    return {n_groups, (wanted + n_groups / 2) / n_groups};
}

// A block of the rows to be counted, and how many rows there are from its first row on.
struct RowBlock {
    const Row* rows;
    std::size_t n, n_ahead;

    // The row i places after the first row of the block, or the last row if there are fewer.
    std::uint32_t ahead(std::size_t i) const { return row_id(rows[std::min(i, n_ahead - 1)]); }
};

// Independent histograms keep several chains of load, add and store in flight. `bins` begins with
// the bins of the first feature; the bins of the others follow. With `Fetch`, the rows of the next
// block are prefetched meanwhile.
template <std::size_t K, bool Fetch, class Code, class Bin>
void count_rows(const RowRecords& records, const std::int32_t* features, const RowBlock& block,
                const Bin* gathered, const std::size_t* offset, Bin* bins) {
    std::size_t feature[K];
    Bin* own[K];
    for (std::size_t k = 0; k < K; ++k) {
        feature[k] = static_cast<std::size_t>(features[k]);
        own[k] = bins + (offset[features[k]] - offset[features[0]]);
    }
    for (std::size_t i = 0; i < block.n; ++i) {
        if constexpr (Fetch) records.prefetch_far(block.ahead(i + block.n));
        const Code* codes = records.codes<Code>(row_id(block.rows[i]));
        const Bin one = gathered[i];
        for (std::size_t k = 0; k < K; ++k) own[k][codes[feature[k]]] += one;
    }
}

template <bool Fetch, class Code, std::size_t K = kFeaturesPerPass, class Bin>
void count_some(const RowRecords& records, const std::int32_t* features, std::size_t k,
                const RowBlock& block, const Bin* gathered, const std::size_t* offset, Bin* bins) {
    if (k == K) return count_rows<K, Fetch, Code>(records, features, block, gathered, offset, bins);
    if constexpr (K > 1)
        count_some<Fetch, Code, K - 1>(records, features, k, block, gathered, offset, bins);
}

}  // namespace

template <class Code>
RowRecords::RowRecords(const CodeMatrix<Code>& codes, ThreadPool& pool) : n_(codes.rows) {
    constexpr std::size_t of_gradient = sizeof(RowGradient);
    const std::size_t of_codes = (codes.features * sizeof(Code) + 7) / 8 * 8;
    const bool apart = pool.size() > 1;
    gradient_stride_ = apart ? of_gradient : of_gradient + of_codes;
    code_stride_ = apart ? of_codes : of_gradient + of_codes;
    const std::size_t first_code =
        apart ? (n_ * of_gradient + kLineBytes - 1) / kLineBytes * kLineBytes : of_gradient;
    const std::size_t n_bytes = first_code + n_ * code_stride_;
    bytes_ = std::make_unique_for_overwrite<std::byte[]>(n_bytes + kLineBytes);
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.get());
    gradients_ =
        bytes_.get() + (kLineBytes - address % kLineBytes) % kLineBytes;  // aligned to a cache line
    codes_ = gradients_ + first_code;
    ask_for_large_pages(gradients_, n_bytes);
    run_blocks(pool, n_, kRowsPerTask, [&](std::size_t first, std::size_t last) {
        for (std::size_t f = 0; f < codes.features; ++f) {
            const Code* column = codes.column(f);
            for (std::size_t row = first; row < last; ++row)
                std::memcpy(codes_ + row * code_stride_ + f * sizeof(Code),
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
auto GradientCounter<Code, Rows>::group_of(std::size_t first, std::size_t last) const -> Group {
    const std::size_t bin = offset_[chosen_[first]];
    const std::size_t end = last < chosen_.size() ? offset_[chosen_[last]] : size_;
    return {first, last - first, bin, end - bin};
}

template <class Code, class Rows>
void GradientCounter<Code, Rows>::count_block(const Row* rows, std::size_t n, std::size_t n_ahead,
                                              const Group& group, Bin* bins) const {
    const RowBlock block{rows, n, n_ahead};
    Bin gathered[kRowsPerBlock];
    for (std::size_t i = 0; i < n; ++i) {
        records_.prefetch(block.ahead(i + kRowsAhead));
        const std::size_t row = row_id(rows[i]);
        gathered[i] = Rows::make(records_.gradient(row), weights_ != nullptr ? weights_[row] : 1);
    }
    const std::size_t n_passes = (group.n_features + kFeaturesPerPass - 1) / kFeaturesPerPass;
    for (std::size_t pass = 0; pass < n_passes; ++pass) {
        const std::size_t first = pass * group.n_features / n_passes;
        const std::size_t last = (pass + 1) * group.n_features / n_passes;
        const std::int32_t* features = chosen_.data() + group.feature + first;
        const auto& count = pass == 0 ? count_some<true, Code, kFeaturesPerPass, Bin>
                                      : count_some<false, Code, kFeaturesPerPass, Bin>;
        count(records_, features, last - first, block, gathered, offset_.data(),
              bins + (offset_[features[0]] - group.bin));
    }
}

template <class Code, class Rows>
void GradientCounter<Code, Rows>::fill_bins(const Row* rows, std::size_t n, std::size_t n_ahead,
                                            const Group& group, Bin* bins) const {
    std::fill_n(bins, group.n_bins, Bin{});
    for (std::size_t at = 0; at < n; at += kRowsPerBlock)
        count_block(rows + at, std::min(kRowsPerBlock, n - at), n_ahead - at, group, bins);
}

template <class Code, class Rows>
void GradientCounter<Code, Rows>::sum_rows(const Row* rows, std::size_t n, const Group& group,
                                           GradientSum* sums) const {
    // Thread-local, so that the bins stay in the cache of the core.
    thread_local std::vector<Bin> bins;
    if (bins.size() < group.n_bins) bins.resize(group.n_bins);
    if (n == 0) std::fill_n(sums, group.n_bins, GradientSum{});
    for (std::size_t first = 0; first < n;) {
        const std::size_t last = first + std::min(Rows::kBlock, n - first);
        fill_bins(rows + first, last - first, n - first, group, bins.data());
        if (first == 0)
            for (std::size_t b = 0; b < group.n_bins; ++b) sums[b] = Rows::sum(bins[b]);
        else
            for (std::size_t b = 0; b < group.n_bins; ++b) sums[b] += Rows::sum(bins[b]);
        first = last;
    }
}

// One thread counts job after job. With several threads, rows are distributed as long as each part
// has enough of them to be worth a histogram; below that, features are distributed as well.
template <class Code, class Rows>
void GradientCounter<Code, Rows>::divide_jobs(std::size_t n_threads) {
    std::size_t total = 0;
    for (const HistogramJob& job : jobs_) total += job.n;
    const std::size_t p = chosen_.size(), n_parts = n_threads > 1 ? n_threads * kPartsPerThread : 1;
    parts_.clear();
    first_part_.assign(1, 0);
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
        const std::size_t n = jobs_[j].n;
        const auto [n_groups, n_blocks] =
            divide(n, p, total > 0 ? (n * n_parts + total / 2) / total : 1);
        for (std::size_t b = 0; b < n_blocks; ++b) {
            const std::size_t first = b * n / n_blocks, last = (b + 1) * n / n_blocks;
            for (std::size_t g = 0; g < n_groups; ++g)
                parts_.push_back({j, first, last - first,
                                  group_of(g * p / n_groups, (g + 1) * p / n_groups),
                                  n_blocks == 1});
        }
        first_part_.push_back(parts_.size());
    }
    if (bins_.size() < parts_.size()) bins_.resize(parts_.size());
    if (sums_.size() < parts_.size()) sums_.resize(parts_.size());
}

template <class Code, class Rows>
void GradientCounter<Code, Rows>::count(std::vector<HistogramJob> jobs, ThreadPool* pool) {
    jobs_ = std::move(jobs);
    divide_jobs(pool != nullptr ? pool->size() : 1);
    if (jobs_.size() == 1)
        return run_with_affinity(pool, parts_.size(), [&](std::size_t i) { count_part(i); });
    // Start with the largest parts, so that no thread is left with a large one at the end.
    const auto order = stable_order(parts_.size(), [&](std::size_t a, std::size_t b) {
        return parts_[a].work() > parts_[b].work();
    });
    run_in(pool, parts_.size(), [&](std::size_t i) { count_part(order[i]); });
}

template <class Code, class Rows>
void GradientCounter<Code, Rows>::count_part(std::size_t number) {
    const Part& part = parts_[number];
    const Group& group = part.group;
    const Row* rows = jobs_[part.job].rows + part.first;
    if (part.is_whole) {
        if (!is_wide()) sum_rows(rows, part.n, group, jobs_[part.job].histogram + group.bin);
        return;
    }
    if (part.keeps_bins()) {
        if (bins_[number].size() < group.n_bins) bins_[number].resize(group.n_bins);
        return fill_bins(rows, part.n, part.n, group, bins_[number].data());
    }
    if (sums_[number].size() < group.n_bins) sums_[number].resize(group.n_bins);
    sum_rows(rows, part.n, group, sums_[number].data());
}

template <class Code, class Rows>
void GradientCounter<Code, Rows>::add_parts(std::size_t job, std::size_t first,
                                            std::size_t last) const {
    GradientSum* histogram = jobs_[job].histogram;
    std::fill(histogram + first, histogram + last, GradientSum{});
    for (std::size_t i = first_part_[job]; i < first_part_[job + 1]; ++i) {
        const Group& group = parts_[i].group;
        if (first < group.bin || first >= group.bin + group.n_bins) continue;
        if (parts_[i].keeps_bins())
            for (std::size_t b = first; b < last; ++b)
                histogram[b] += Rows::sum(bins_[i][b - group.bin]);
        else
            for (std::size_t b = first; b < last; ++b) histogram[b] += sums_[i][b - group.bin];
    }
}

template <class Code, class Rows>
void GradientCounter<Code, Rows>::complete(std::size_t job, std::size_t first,
                                           std::size_t last) const {
    const auto& [rows, n_rows, histogram, whole, rest] = jobs_[job];
    const Group group = group_of(first, last);
    if (!parts_[first_part_[job]].is_whole) {
        for (std::size_t f = first; f < last; ++f) {
            const Group feature = group_of(f, f + 1);
            add_parts(job, feature.bin, feature.bin + feature.n_bins);
        }
    } else if (is_wide()) {
        sum_rows(rows, n_rows, group, histogram + group.bin);
    }
    if (rest != nullptr)
        subtract(rest + group.bin, whole + group.bin, histogram + group.bin, group.n_bins);
}

template class GradientCounter<std::uint8_t, UnitRows>;
template class GradientCounter<std::uint8_t, WeightedGradientRows>;
template class GradientCounter<std::uint16_t, UnitRows>;
template class GradientCounter<std::uint16_t, WeightedGradientRows>;

}  // namespace treerank
