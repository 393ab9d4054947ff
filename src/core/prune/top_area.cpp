#include "core/prune/top_area.hpp"

#include <algorithm>
#include <bit>

namespace treerank {

AreaAtTop::AreaAtTop(std::size_t n_places, const std::int64_t* total, const Focus& focus)
    : focus_(focus),
      total_{total[0], total[1]},
      n_leaves_(std::bit_ceil(n_places)),
      nodes_(2 * n_leaves_) {}

void AreaAtTop::place(std::size_t place, const std::int64_t* weight) {
    Range& at = nodes_[n_leaves_ + place];
    for (const int k : {0, 1}) at.weight[k] += weight[k];
    at.area = static_cast<Whole>(at.weight[0]) * at.weight[1];
}

void AreaAtTop::build() {
    for (std::size_t node = n_leaves_; node-- > 1;) join(node);
}

void AreaAtTop::change(std::size_t place, std::int64_t negative, std::int64_t positive) {
    if (negative == 0 && positive == 0) return;
    const std::int64_t weight[] = {negative, positive};
    this->place(place, weight);
    for (std::size_t node = (n_leaves_ + place) / 2; node >= 1; node /= 2) join(node);
}

void AreaAtTop::join(std::size_t node) {
    const Range& worse = nodes_[2 * node];
    const Range& better = nodes_[2 * node + 1];
    Range& both = nodes_[node];
    for (const int k : {0, 1}) both.weight[k] = worse.weight[k] + better.weight[k];
    both.area =
        worse.area + better.area + static_cast<Whole>(2 * better.weight[1]) * worse.weight[0];
}

// Descends from the root, skipping all ranges that lie entirely within the share.
AreaAtTop::Point AreaAtTop::point_at(double share) const {
    const double end = share * focus_.counted(total_);
    std::int64_t negative = 0, positive = 0;
    Whole area = 0;
    double counted = 0;
    std::size_t node = 1;
    while (node < n_leaves_) {
        const Range& better = nodes_[2 * node + 1];
        if (counted + focus_.counted(better.weight) > end) {
            node = 2 * node + 1;
            continue;
        }
        area += better.area + static_cast<Whole>(2 * positive) * better.weight[0];
        negative += better.weight[0];
        positive += better.weight[1];
        counted += focus_.counted(better.weight);
        node = 2 * node;
    }
    const Range& last = nodes_[node];
    const double size = focus_.counted(last.weight);
    const double part = size > 0 ? std::clamp((end - counted) / size, 0.0, 1.0) : 0.0;
    const double x = part * static_cast<double>(last.weight[0]);
    const double y = part * static_cast<double>(last.weight[1]);
    const auto n = static_cast<double>(total_[0]), p = static_cast<double>(total_[1]);
    const double sum = static_cast<double>(area) + x * (2 * static_cast<double>(positive) + y);
    return {(static_cast<double>(negative) + x) / n, (static_cast<double>(positive) + y) / p,
            sum / (2 * n * p)};
}

double AreaAtTop::value() const {
    const Point end = point_at(focus_.high);
    if (focus_.of == Focus::Of::kRows)
        return end.true_positive * (1 - end.false_positive) + end.area;
    return (end.area - point_at(focus_.low).area) / (focus_.high - focus_.low);
}

}  // namespace treerank
