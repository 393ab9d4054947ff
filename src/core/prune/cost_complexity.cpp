#include "core/prune/cost_complexity.hpp"

#include <algorithm>
#include <queue>

namespace treerank {

namespace {

// The branch below a cell in the current subtree.
struct Branch {
    double gain = 0;
    std::int32_t leaves = 1;
    std::int32_t version = 0;

    double weakest_link() const { return gain / (leaves - 1); }
};

struct Link {
    double weakest_link;
    std::int32_t cell;
    std::int32_t version;
    // The weakest link first; on ties the cell nearer to the root, whose collapse includes the
    // others.
    bool operator<(const Link& other) const {
        if (weakest_link != other.weakest_link) return weakest_link > other.weakest_link;
        return cell > other.cell;
    }
};

}  // namespace

PruningSequence cost_complexity(const std::int32_t* left, const std::int32_t* right,
                                const double* gain, std::size_t n_cells) {
    PruningSequence sequence{{0.0}, std::vector<std::int32_t>(n_cells, 0)};
    std::vector<Branch> branches(n_cells);
    std::vector<std::int32_t> parent(n_cells, -1);
    std::priority_queue<Link> links;

    const auto refresh = [&](std::int32_t cell) {
        Branch& branch = branches[cell];
        branch.gain = gain[cell] + branches[left[cell]].gain + branches[right[cell]].gain;
        branch.leaves = branches[left[cell]].leaves + branches[right[cell]].leaves;
        ++branch.version;
        links.push({branch.weakest_link(), cell, branch.version});
    };
    for (auto cell = static_cast<std::int32_t>(n_cells) - 1; cell >= 0; --cell) {
        if (left[cell] < 0) continue;
        parent[left[cell]] = parent[right[cell]] = cell;
        refresh(cell);
    }

    std::int32_t step = 0;
    std::vector<std::int32_t> stack;
    while (!links.empty()) {
        const Link link = links.top();
        links.pop();
        const bool stale =
            branches[link.cell].version != link.version || sequence.collapsed_at[link.cell] > 0;
        if (stale) continue;
        if (step == 0 || link.weakest_link > sequence.lambdas.back()) {
            sequence.lambdas.push_back(link.weakest_link);
            ++step;
        }
        stack.assign(1, link.cell);
        while (!stack.empty()) {
            const std::int32_t cell = stack.back();
            stack.pop_back();
            if (left[cell] < 0 || sequence.collapsed_at[cell] > 0) continue;
            sequence.collapsed_at[cell] = step;
            stack.push_back(left[cell]);
            stack.push_back(right[cell]);
        }
        branches[link.cell].gain = 0;
        branches[link.cell].leaves = 1;
        for (std::int32_t up = parent[link.cell]; up >= 0; up = parent[up]) refresh(up);
    }
    return sequence;
}

namespace {

// Returns how many of the k leaves below a split are on its left in the best subtree; on ties the
// fewest.
std::size_t leaves_on_left(const std::vector<double>& left, const std::vector<double>& right,
                           std::size_t k) {
    std::size_t best = k > right.size() ? k - right.size() : 1;
    for (std::size_t i = best + 1; i < k && i <= left.size(); ++i)
        if (left[i - 1] + right[k - i - 1] > left[best - 1] + right[k - best - 1]) best = i;
    return best;
}

// Entry k - 1 is the largest gain of k leaves below a split (a max-plus convolution).
std::vector<double> gains_below(double gain, const std::vector<double>& left,
                                const std::vector<double>& right, std::size_t max_leaves) {
    const std::size_t n = std::min(left.size() + right.size(), max_leaves);
    std::vector<double> best(n, 0.0);
    for (std::size_t i = 0; i < left.size(); ++i)
        for (std::size_t j = 0; j < right.size() && i + j + 1 < n; ++j)
            best[i + j + 1] = std::max(best[i + j + 1], gain + left[i] + right[j]);
    return best;
}

}  // namespace

PenalisedSubtree penalised_subtree(const std::int32_t* left, const std::int32_t* right,
                                   const double* gain, std::size_t n_cells, const double* penalty,
                                   std::size_t n_penalties) {
    std::vector<std::vector<double>> best(n_cells, std::vector<double>{0.0});
    for (auto cell = static_cast<std::int32_t>(n_cells) - 1; cell >= 0; --cell)
        if (left[cell] >= 0)
            best[cell] = gains_below(gain[cell], best[left[cell]], best[right[cell]], n_penalties);
    PenalisedSubtree result{best[0], std::vector<std::uint8_t>(n_cells, 0)};
    std::size_t chosen = 1;
    for (std::size_t k = 2; k <= result.gain.size(); ++k)
        if (result.gain[k - 1] - penalty[k - 1] > result.gain[chosen - 1] - penalty[chosen - 1])
            chosen = k;
    std::vector<std::pair<std::int32_t, std::size_t>> stack{{0, chosen}};
    while (!stack.empty()) {
        const auto [cell, leaves] = stack.back();
        stack.pop_back();
        if (leaves == 1) continue;
        result.split[cell] = 1;
        const std::size_t k = leaves_on_left(best[left[cell]], best[right[cell]], leaves);
        stack.push_back({left[cell], k});
        stack.push_back({right[cell], leaves - k});
    }
    return result;
}

}  // namespace treerank
