#include "core/prune.hpp"

#include <queue>

namespace treerank {

namespace {

// What hangs below a cell in the current subtree.
struct Branch {
    double gain = 0;
    std::int32_t leaves = 1;
    std::int32_t version = 0;

    double strength() const { return gain / (leaves - 1); }
};

struct Link {
    double strength;
    std::int32_t cell;
    std::int32_t version;
    // The weakest link first; on ties the one nearer the root, which takes the others with it.
    bool operator<(const Link& other) const {
        if (strength != other.strength) return strength > other.strength;
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
        links.push({branch.strength(), cell, branch.version});
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
        if (step == 0 || link.strength > sequence.lambdas.back()) {
            sequence.lambdas.push_back(link.strength);
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

}  // namespace treerank
