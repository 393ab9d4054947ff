// A table of keyed random numbers, computed from integers, so that it is the same on every machine.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/data/binning.hpp"
#include "core/data/random.hpp"
#include "core/grow/driver.hpp"

namespace treerank {

struct RandomTable {
    static constexpr std::size_t kRows = 1500;
    static constexpr std::size_t kNumbers = 6;          // numeric columns
    static constexpr std::int32_t kLevels[] = {5, 40};  // categories, after the numbers

    std::size_t n_classes;
    std::vector<double> numbers;  // column-major; NaN is missing
    std::vector<std::vector<std::int32_t>> levels;
    std::vector<std::uint8_t> labels;
    std::vector<std::uint8_t> repeats;
    std::vector<std::int64_t> weights;
    std::vector<std::uint32_t> soft;  // rows x classes

    explicit RandomTable(std::size_t n_classes_ = 2)
        : n_classes(n_classes_),
          numbers(kRows * kNumbers),
          levels(std::size(kLevels), std::vector<std::int32_t>(kRows)),
          labels(kRows),
          repeats(kRows),
          weights(kRows),
          soft(kRows * n_classes_) {
        for (std::size_t i = 0; i < kRows; ++i) fill_row(i);
    }

    NumberMatrix<double> matrix() const {
        return {numbers.data(), kRows, kNumbers, 1, static_cast<std::ptrdiff_t>(kRows)};
    }

  private:
    // Uniform in [-1, 1), a multiple of 2^-20.
    static double uniform(std::uint64_t row, std::uint64_t what) {
        return static_cast<double>(key_of(row, what) >> 43) * 0x1p-20 - 1;
    }

    void fill_row(std::size_t i) {
        const std::uint64_t key = key_of(7, i);
        double truth = uniform(key, 100);
        for (std::size_t f = 0; f < kNumbers; ++f) {
            double value = uniform(key, f) * uniform(key, 50 + f);
            if (f == 1) value = static_cast<double>(static_cast<int>(value * 8)) / 8;  // ties, -0.0
            truth += f < 4 ? value * static_cast<double>(4 - f) : 0;
            const bool missing = f >= 2 && key_of(key, 200 + f) % 11 == 0;
            if (missing) value = std::numeric_limits<double>::quiet_NaN();
            numbers[f * kRows + i] = value;
        }
        for (std::size_t c = 0; c < levels.size(); ++c) {
            const auto level = static_cast<std::int32_t>(key_of(key, 300 + c) % kLevels[c]);
            levels[c][i] = level + 1;
            truth += level % 3 == 0 ? 0.5 : 0.0;
        }
        const double share = (truth + 2) / 5;  // position between the worst class and the best
        const double place = share * static_cast<double>(n_classes);
        const double last = static_cast<double>(n_classes - 1);
        labels[i] = static_cast<std::uint8_t>(place < 0 ? 0 : place > last ? last : place);
        repeats[i] = static_cast<std::uint8_t>(key_of(key, 400) % 4);
        weights[i] = static_cast<std::int64_t>(key_of(key, 401) % 1000);
        for (std::size_t k = 0; k < n_classes; ++k)
            soft[i * n_classes + k] = static_cast<std::uint32_t>(key_of(key, 402 + k) % 100);
        soft[i * n_classes + labels[i]] += 200;
    }
};

// The coded table, and what the grower needs to know about its features.
template <class Code>
struct CodedTable {
    const RandomTable& from;
    std::vector<std::vector<double>> thresholds;
    std::vector<Code> codes;
    Features features;

    CodedTable(const RandomTable& table, std::size_t max_bins, ThreadPool& pool) : from(table) {
        std::vector<std::uint32_t> all(RandomTable::kRows);
        for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
        thresholds = find_thresholds(table.matrix(), all, table.weights.data(), max_bins, pool);
        const std::size_t n_features = RandomTable::kNumbers + table.levels.size();
        codes.resize(n_features * RandomTable::kRows);
        encode(table.matrix(), thresholds, codes.data(), RandomTable::kRows, pool);
        for (const auto& of_column : thresholds)
            features.n_codes.push_back(static_cast<std::int32_t>(of_column.size()) + 2);
        for (std::size_t c = 0; c < table.levels.size(); ++c) {
            features.n_codes.push_back(RandomTable::kLevels[c] + 1);
            Code* column = codes.data() + (RandomTable::kNumbers + c) * RandomTable::kRows;
            for (std::size_t i = 0; i < RandomTable::kRows; ++i)
                column[i] = static_cast<Code>(table.levels[c][i]);
        }
        features.categorical.assign(n_features, 0);
        for (std::size_t f = RandomTable::kNumbers; f < n_features; ++f)
            features.categorical[f] = 1;
        features.monotonic.assign(n_features, 0);
        features.offset = offsets_of(features.n_codes);
    }

    CodeMatrix<Code> matrix() const {
        return {codes.data(), RandomTable::kRows, features.size(), RandomTable::kRows};
    }
    Table<Code> table(bool weighted) const {
        Table<Code> table;
        table.codes = matrix();
        table.features = features;
        table.labels = from.labels.data();
        table.weights = weighted ? from.weights.data() : nullptr;
        table.n_classes = from.n_classes;
        return table;
    }
};

}  // namespace treerank
