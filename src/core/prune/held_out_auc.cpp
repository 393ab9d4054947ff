#include "core/prune/held_out_auc.hpp"

#include <algorithm>
#include <vector>

namespace treerank {

namespace {

struct Scored {
    double score;
    std::int64_t positive, negative;  // units
};

double auc_of(std::vector<Scored>& rows) {
    __extension__ using Whole = __int128;  // weights are below 2^52
    std::sort(rows.begin(), rows.end(),
              [](const Scored& a, const Scored& b) { return a.score < b.score; });
    Whole twice_won = 0;
    std::int64_t positive = 0, negative = 0;  // of smaller scores
    for (std::size_t first = 0, last = 0; first < rows.size(); first = last) {
        std::int64_t here_positive = 0, here_negative = 0;
        for (; last < rows.size() && rows[last].score == rows[first].score; ++last) {
            here_positive += rows[last].positive;
            here_negative += rows[last].negative;
        }
        twice_won += Whole{here_positive} * (2 * Whole{negative} + here_negative);
        positive += here_positive;
        negative += here_negative;
    }
    return static_cast<double>(twice_won) / 2 /
           (static_cast<double>(positive) * static_cast<double>(negative));
}

}  // namespace

void held_out_auc(const ScoredRows& rows, ThreadPool& pool, double* auc) {
    pool.run(rows.n_scores, [&](std::size_t k) {
        std::vector<Scored> sorted(rows.n_rows);
        for (std::size_t i = 0; i < rows.n_rows; ++i) {
            const std::int64_t units = rows.units != nullptr ? rows.units[i] : 1;
            const bool positive = rows.labels[i] == 1;
            sorted[i] = {rows.scores[i * rows.n_scores + k], positive ? units : 0,
                         positive ? 0 : units};
        }
        auc[k] = auc_of(sorted);
    });
}

}  // namespace treerank
