#include "core/prune/ranking_quality.hpp"

#include <algorithm>
#include <vector>

#include "core/prune/top_area.hpp"

namespace treerank {

namespace {

struct Scored {
    double score;
    std::int64_t weight[2];  // negatives, positives
};

// One entry per distinct score, lowest first.
std::vector<Scored> tie_groups(const ScoredRows& rows, std::size_t k) {
    std::vector<Scored> sorted(rows.n_rows);
    for (std::size_t i = 0; i < rows.n_rows; ++i) {
        sorted[i] = {rows.scores[i * rows.n_scores + k], {0, 0}};
        sorted[i].weight[rows.labels[i] == 1] = rows.units != nullptr ? rows.units[i] : 1;
    }
    std::sort(sorted.begin(), sorted.end(),
              [](const Scored& a, const Scored& b) { return a.score < b.score; });
    std::size_t n = 0;
    for (std::size_t i = 1; i < sorted.size(); ++i) {
        if (sorted[i].score == sorted[n].score)
            for (const int c : {0, 1}) sorted[n].weight[c] += sorted[i].weight[c];
        else
            sorted[++n] = sorted[i];
    }
    sorted.resize(std::min(sorted.size(), n + 1));
    return sorted;
}

double auc_of(const std::vector<Scored>& groups) {
    __extension__ using Whole = __int128;  // weights are below 2^52
    Whole twice_won = 0;
    std::int64_t negative = 0, positive = 0;  // of lower scores
    for (const auto& [score, weight] : groups) {
        twice_won += Whole{weight[1]} * (2 * Whole{negative} + weight[0]);
        negative += weight[0];
        positive += weight[1];
    }
    return static_cast<double>(twice_won) / 2 /
           (static_cast<double>(positive) * static_cast<double>(negative));
}

double area_at_top(const std::vector<Scored>& groups, const Focus& focus) {
    std::int64_t total[2] = {0, 0};
    for (const Scored& group : groups)
        for (const int c : {0, 1}) total[c] += group.weight[c];
    AreaAtTop area(groups.size(), total, focus);
    for (std::size_t g = 0; g < groups.size(); ++g) area.place(g, groups[g].weight);
    area.build();
    return area.value();
}

}  // namespace

void ranking_quality(const ScoredRows& rows, const Focus& focus, ThreadPool& pool,
                     double* quality) {
    pool.run(rows.n_scores, [&](std::size_t k) {
        const std::vector<Scored> groups = tie_groups(rows, k);
        quality[k] = focus.of == Focus::Of::kAll ? auc_of(groups) : area_at_top(groups, focus);
    });
}

}  // namespace treerank
