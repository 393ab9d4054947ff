// Class-count histograms: for each feature and code, the weight of each class.
#pragma once

#include <algorithm>
#include <vector>

#include "core/data/types.hpp"
#include "core/histogram/kernels.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

inline constexpr std::size_t kFeaturesPerPass = 4;

// Counts rows[0, n) for the given features; a feature's counters start at its
// offset. Threads own features, never parts of one sum. `pool` may be null.
template <class Code, class Count>
void count_features(const CodeMatrix<Code>& codes, const std::int64_t* weights, const Row* rows,
                    std::size_t n, const Features& features,
                    const std::vector<std::int32_t>& chosen, Count* histogram, ThreadPool* pool) {
    std::size_t passes = (chosen.size() + kFeaturesPerPass - 1) / kFeaturesPerPass;
    if (pool != nullptr) {  // the same number of passes for each thread
        const std::size_t rounds = (passes + pool->size() - 1) / pool->size();
        passes = std::min(chosen.size(), rounds * pool->size());
    }
    const auto pass = [&](std::size_t p) {
        const std::size_t first = p * chosen.size() / passes;
        const std::size_t k = (p + 1) * chosen.size() / passes - first;
        const Code* columns[kFeaturesPerPass];
        Count* histograms[kFeaturesPerPass];
        for (std::size_t j = 0; j < k; ++j) {
            const std::int32_t feature = chosen[first + j];
            columns[j] = codes.column(feature);
            histograms[j] = histogram + features.offset[feature];
            std::fill_n(histograms[j], features.n_codes[feature], Count{});
        }
        kernels<Code, Count>().count(rows, n, weights, columns, codes.step, histograms, k);
    };
    run_in(pool, passes, pass);
}

}  // namespace treerank
