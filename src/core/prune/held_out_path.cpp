#include "core/prune/held_out_path.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/prune/area_path.hpp"
#include "core/prune/top_area.hpp"

namespace treerank {

namespace {

// What is shared by all ways to score the cells of a tree.
struct Collapses {
    std::vector<std::int32_t> cells;   // inner cells in order of collapse
    std::vector<std::size_t> up_to;    // by step: how many of them have collapsed
    std::vector<std::int64_t> weight;  // cells x classes, in fixed point
};

// Converts the weights to integers. The weights of inner cells are the sums of their leaves, in
// integers too.
std::vector<std::int64_t> whole_weights(const HeldOutTree& tree) {
    const std::size_t k = tree.n_classes;
    const double total = std::accumulate(tree.weight, tree.weight + k, 0.0);
    int exponent = 0;
    std::frexp(total, &exponent);  // total < 2^exponent
    std::vector<std::int64_t> whole(tree.n_cells * k, 0);
    for (std::size_t cell = tree.n_cells; cell-- > 0;) {
        std::int64_t* at = whole.data() + cell * k;
        for (std::size_t c = 0; c < k; ++c) {
            if (tree.left[cell] < 0)
                at[c] = std::llrint(std::ldexp(tree.weight[cell * k + c], 52 - exponent));
            else
                at[c] = whole[tree.left[cell] * k + c] + whole[tree.right[cell] * k + c];
        }
    }
    return whole;
}

Collapses list_collapses(const HeldOutTree& tree) {
    Collapses collapses;
    for (std::size_t cell = tree.n_cells; cell-- > 0;)
        if (tree.left[cell] >= 0) collapses.cells.push_back(static_cast<std::int32_t>(cell));
    // Within a step, from the last cell to the first: children before their parents.
    std::sort(collapses.cells.begin(), collapses.cells.end(), [&](std::int32_t a, std::int32_t b) {
        if (tree.collapsed_at[a] != tree.collapsed_at[b])
            return tree.collapsed_at[a] < tree.collapsed_at[b];
        return a > b;
    });
    collapses.up_to.assign(tree.n_steps, 0);
    for (const std::int32_t cell : collapses.cells) ++collapses.up_to[tree.collapsed_at[cell]];
    std::partial_sum(collapses.up_to.begin(), collapses.up_to.end(), collapses.up_to.begin());
    collapses.weight = whole_weights(tree);
    return collapses;
}

// Returns the places of the cells by increasing value; cells of equal value share a place.
std::vector<std::uint32_t> places_of(const double* value, std::size_t n_cells,
                                     std::size_t& n_places) {
    std::vector<std::uint32_t> order(n_cells), place(n_cells);
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return value[a] < value[b]; });
    n_places = 0;
    for (std::size_t i = 0; i < n_cells; ++i) {
        if (i > 0 && value[order[i]] != value[order[i - 1]]) ++n_places;
        place[order[i]] = static_cast<std::uint32_t>(n_places);
    }
    ++n_places;
    return place;
}

// `make(n, total)` returns the area for n places.
template <class Make>
void follow_area(const HeldOutTree& tree, const Collapses& collapses, const double* value,
                 const Make& make, double* result) {
    std::size_t n_places = 0;
    const std::vector<std::uint32_t> place = places_of(value, tree.n_cells, n_places);
    const auto weight = [&](std::int32_t cell) {
        return collapses.weight.data() + cell * tree.n_classes;
    };
    auto area = make(n_places, weight(0));
    for (std::size_t cell = 0; cell < tree.n_cells; ++cell)
        if (tree.left[cell] < 0) area.place(place[cell], weight(static_cast<std::int32_t>(cell)));
    area.build();
    std::size_t done = 0;
    for (std::size_t step = 0; step < tree.n_steps; ++step) {
        for (; done < collapses.up_to[step]; ++done) {
            const std::int32_t cell = collapses.cells[done];
            const std::int32_t left = tree.left[cell], right = tree.right[cell];
            area.remove(place[left], weight(left));
            area.remove(place[right], weight(right));
            area.add(place[cell], weight(cell));
        }
        result[step] = area.value();
    }
}

// Returns the sum of squared errors over the rows of one cell.
double squared_error(const HeldOutTree& tree, std::int32_t cell, const double* share) {
    const double* weight = tree.weight + cell * tree.n_classes;
    double total = 0, sum = 0, above = 0;
    for (std::size_t k = 0; k < tree.n_classes; ++k) total += weight[k];
    for (std::size_t k = tree.n_classes - 1; k >= 1; --k) {
        above += weight[k];
        const double p = share[cell * (tree.n_classes - 1) + k - 1];
        sum += (total - above) * (p * p) + above * ((1 - p) * (1 - p));
    }
    return sum;
}

// Starts from the root, whose score is the same for any shrinkage.
void follow_brier(const HeldOutTree& tree, const Collapses& collapses, const double* share,
                  double* result) {
    double sum = squared_error(tree, 0, share);
    std::size_t left = collapses.cells.size();
    for (std::size_t step = tree.n_steps; step-- > 0;) {
        for (; left > collapses.up_to[step]; --left) {
            const std::int32_t cell = collapses.cells[left - 1];
            sum += squared_error(tree, tree.left[cell], share) +
                   squared_error(tree, tree.right[cell], share) - squared_error(tree, cell, share);
        }
        result[step] = sum;
    }
}

}  // namespace

std::vector<PathWorth> held_out_paths(const std::vector<HeldOutTree>& trees,
                                      const std::vector<CellScores>& scores, const Focus& focus,
                                      ThreadPool& pool) {
    std::vector<PathWorth> worth(trees.size());
    std::vector<Collapses> collapses(trees.size());
    pool.run(trees.size(), [&](std::size_t t) {
        collapses[t] = list_collapses(trees[t]);
        worth[t].auc.resize(scores[t].n_ways * trees[t].n_steps);
        if (scores[t].share != nullptr) worth[t].brier.resize(worth[t].auc.size());
    });
    std::vector<std::pair<std::size_t, std::size_t>> tasks;  // tree, way
    for (std::size_t t = 0; t < trees.size(); ++t)
        for (std::size_t way = 0; way < scores[t].n_ways; ++way) tasks.emplace_back(t, way);
    pool.run(tasks.size(), [&](std::size_t task) {
        const std::size_t t = tasks[task].first, way = tasks[task].second;
        const HeldOutTree& tree = trees[t];
        const double* value = scores[t].value + way * tree.n_cells;
        double* auc = worth[t].auc.data() + way * tree.n_steps;
        const auto follow = [&](const auto& make) {
            follow_area(tree, collapses[t], value, make, auc);
        };
        if (tree.n_classes > 2)
            follow([&](std::size_t n, const std::int64_t* total) {
                return VolumeUnderSurface(n, total, tree.n_classes);
            });
        else if (focus.of == Focus::Of::kAll)
            follow(
                [](std::size_t n, const std::int64_t* total) { return AreaUnderCurve(n, total); });
        else
            follow([&](std::size_t n, const std::int64_t* total) {
                return AreaAtTop(n, total, focus);
            });
        if (scores[t].share == nullptr) return;
        const double* share = scores[t].share + way * tree.n_cells * (tree.n_classes - 1);
        follow_brier(tree, collapses[t], share, worth[t].brier.data() + way * tree.n_steps);
    });
    return worth;
}

}  // namespace treerank
