#include "core/prune/vus.hpp"

#include <cmath>

namespace treerank {

namespace {

// A gain below this fraction of the VUS before the split is a rounding error.
constexpr double kRounding = 1e-13;

}  // namespace

void append_better(Chains& chains, const double* share, std::size_t n_classes) {
    // From the last class down, so that the entries that are read still have their old values.
    for (std::size_t j = n_classes; j >= 1; --j) {
        double tied = 1, sum = chains[j];
        for (std::size_t i = j; i-- > 0;) {
            tied *= share[i] / static_cast<double>(j - i);
            if (tied == 0) break;
            sum += chains[i] * tied;
        }
        chains[j] = sum;
    }
}

void append_worse(Chains& chains, const double* share, std::size_t n_classes) {
    for (std::size_t i = 0; i < n_classes; ++i) {
        double tied = 1, sum = chains[i];
        for (std::size_t j = i + 1; j <= n_classes; ++j) {
            tied *= share[j - 1] / static_cast<double>(j - i);
            if (tied == 0) break;
            sum += chains[j] * tied;
        }
        chains[i] = sum;
    }
}

std::vector<double> shares_of(const std::vector<double>& weight, const std::vector<double>& total) {
    std::vector<double> share;
    share.reserve(weight.size());
    for (std::size_t k = 0; k < weight.size(); ++k)
        if (total[k] > 0) share.push_back(weight[k] / total[k]);
    return share;
}

double vus_increase(const Chains& worse, const Chains& better, const std::vector<double>& cell,
                    const std::vector<double>& left, const std::vector<double>& total) {
    const std::size_t n_classes = cell.size();
    if (n_classes == 2) return (left[1] * cell[0] - left[0] * cell[1]) / (2 * total[0] * total[1]);
    std::vector<double> right(n_classes);
    for (std::size_t k = 0; k < n_classes; ++k) right[k] = cell[k] - left[k];
    Chains whole = worse, parts = worse;
    append_better(whole, shares_of(cell, total));
    append_better(parts, shares_of(right, total));
    append_better(parts, shares_of(left, total));
    const double before = joined(whole, better, n_classes);
    const double gain = joined(parts, better, n_classes) - before;
    return std::abs(gain) > kRounding * before ? gain : 0.0;
}

std::vector<double> vus_gains(const std::vector<std::vector<double>>& cells, std::size_t place,
                              const std::vector<std::vector<double>>& left,
                              const std::vector<double>& total) {
    Chains better = no_better_cell(shares_of(total, total).size()), worse = no_worse_cell();
    for (std::size_t i = 0; i < place; ++i) append_worse(better, shares_of(cells[i], total));
    for (std::size_t i = cells.size() - 1; i > place; --i)
        append_better(worse, shares_of(cells[i], total));
    std::vector<double> gains;
    for (const auto& part : left)
        gains.push_back(vus_increase(worse, better, cells[place], part, total));
    return gains;
}

}  // namespace treerank
