#include "core/data/labels.hpp"

#include <algorithm>
#include <array>

namespace treerank {

namespace {

constexpr std::size_t kNumbers = 256;

}  // namespace

template <class Value>
std::optional<NumberedLabels<Value>> number_labels(const Value* labels, std::size_t n) {
    Value least = n > 0 ? labels[0] : 0, largest = least;
    for (std::size_t i = 0; i < n; ++i) {
        least = std::min(least, labels[i]);
        largest = std::max(largest, labels[i]);
    }
    const auto above = [&](Value label) {
        return static_cast<std::uint64_t>(label) - static_cast<std::uint64_t>(least);
    };
    if (above(largest) >= kNumbers) return std::nullopt;
    NumberedLabels<Value> result{{}, Unfilled<std::uint8_t>(n)};
    std::uint8_t* number = result.number.data();
    std::array<std::uint8_t, kNumbers> occurs{}, place{};
    for (std::size_t i = 0; i < n; ++i) {
        number[i] = static_cast<std::uint8_t>(above(labels[i]));
        occurs[number[i]] = 1;
    }
    bool has_gaps = false;
    for (std::size_t v = 0; v < kNumbers; ++v) {
        if (!occurs[v]) continue;
        place[v] = static_cast<std::uint8_t>(result.distinct.size());
        has_gaps = has_gaps || place[v] != v;
        result.distinct.push_back(
            static_cast<Value>(static_cast<std::uint64_t>(least) + static_cast<std::uint64_t>(v)));
    }
    for (std::size_t i = 0; has_gaps && i < n; ++i) number[i] = place[number[i]];
    return result;
}

std::vector<std::int64_t> count_labels(const std::uint8_t* labels, std::size_t n,
                                       std::size_t n_classes) {
    // Four interleaved sets of counters, so that runs of equal labels do not form one dependency
    // chain.
    std::array<std::array<std::int64_t, kNumbers>, 4> counts{};
    for (std::size_t i = 0; i < n; ++i) ++counts[i % 4][labels[i]];
    std::vector<std::int64_t> sums(std::max(n_classes, std::size_t{1}));
    for (std::size_t k = 0; k < kNumbers; ++k) {
        const auto sum = counts[0][k] + counts[1][k] + counts[2][k] + counts[3][k];
        if (sum > 0 && k >= sums.size()) sums.resize(k + 1);
        if (k < sums.size()) sums[k] = sum;
    }
    return sums;
}

template std::optional<NumberedLabels<std::int64_t>> number_labels(const std::int64_t*,
                                                                   std::size_t);
template std::optional<NumberedLabels<std::int32_t>> number_labels(const std::int32_t*,
                                                                   std::size_t);
template std::optional<NumberedLabels<std::int8_t>> number_labels(const std::int8_t*, std::size_t);
template std::optional<NumberedLabels<std::uint8_t>> number_labels(const std::uint8_t*,
                                                                   std::size_t);

}  // namespace treerank
