#include "core/grow/level_growth.hpp"

#include <algorithm>
#include <utility>

#include "core/util/check.hpp"

namespace treerank {

LevelGrowth::LevelGrowth(Features features, const TreeRankOptions& options, Weights total,
                         std::uint64_t key, double gathered_weight, std::size_t histogram_bytes,
                         bool gathers_cells)
    : features_(std::move(features)),
      options_(options),
      gathers_cells_(gathers_cells),
      n_classes_(total.size()),
      root_(root_cell(std::move(total), key, options.focus)),
      frontier_(features_, options_.leafrank, gathered_weight, histogram_bytes) {
    level_.push_back({&root_});
}

void LevelGrowth::resume(const RankTree& tree, std::int32_t depth,
                         const std::vector<std::int32_t>& gathered) {
    grown_.clear();
    gathered_cells_.clear();
    root_ = root_cell({tree.cell_weight.begin(), tree.cell_weight.begin() + tree.n_classes},
                      root_.key, options_.focus);
    from_preorder(tree, options_.focus, root_, grown_);
    level_.clear();
    level_before_.clear();
    for (Growing* cell : leaves_of(root_)) {
        if (std::find(gathered.begin(), gathered.end(), cell->number) != gathered.end())
            gathered_cells_.push_back(cell);
        else if (cell->cell.depth == depth)
            level_.push_back({cell});
    }
    depth_ = depth;
}

RankTree LevelGrowth::take_tree() {
    check(done(), "take_tree: the tree is still growing");
    return to_preorder(root_, n_classes_);
}

double LevelGrowth::open_weight() const {
    double weight = 0;
    for (const OpenSplit& open : level_) weight += open.cell->weight();
    return weight;
}

void LevelGrowth::start_level() {
    frontier_.clear();
    trials_.clear();
    preorder(root_);
    std::erase_if(level_, [&](const OpenSplit& open) {
        // With two classes, the splits below a cell depend on nothing outside of it.
        const bool gathered = gathers_cells_ && n_classes_ == 2 &&
                              frontier_.is_small(open.cell->weight()) &&
                              may_split(*open.cell, options_);
        if (gathered) gathered_cells_.push_back(open.cell);
        return gathered;
    });
    for (std::size_t place = 0; place < level_.size(); ++place) {
        const Growing& cell = *level_[place].cell;
        if (!may_split(cell, options_)) continue;
        const CellTrials trials = trials_of(level_[place], features_, options_);
        for (const auto& [pair, key] : trials.pairs) {
            trials_.push_back({place, pair});
            frontier_.add_tree({cell.number, pair.first, pair.second},
                               {cell.class_weight[pair.first], cell.class_weight[pair.second]}, key,
                               trials.features);
        }
    }
    frontier_.start();
}

std::vector<std::int32_t> LevelGrowth::open_cells() const {
    std::vector<std::int32_t> numbers;
    for (const OpenSplit& open : level_) numbers.push_back(open.cell->number);
    return numbers;
}

GrownTrials LevelGrowth::last_splits() const {
    GrownTrials splits;
    for (std::size_t place = 0; place < level_before_.size(); ++place) {
        const Growing& cell = *level_before_[place];
        if (cell.left != nullptr)
            splits.add(static_cast<std::int32_t>(place), cell.tests, cell.category_sets);
    }
    return splits;
}

GrownTrials LevelGrowth::grown_trials() {
    GrownTrials grown;
    for (std::size_t t = 0; t < trials_.size(); ++t) {
        LeafRankTree& tree = frontier_.tree(t);
        if (!tree.grows_best_first()) tree.number_depth_first();
        grown.add(level_[trials_[t].place].cell->number, tree.nodes, tree.category_sets);
    }
    return grown;
}

void LevelGrowth::finish_level(std::span<const std::int64_t> weights) {
    std::size_t n_wanted = 0;
    for (std::size_t t = 0; t < trials_.size() && n_classes_ > 2; ++t)
        n_wanted += frontier_.tree(t).nodes.size() * n_classes_;
    check(weights.size() == n_wanted, "finish_level: a weight for each node and class expected");
    for (std::size_t t = 0; t < trials_.size(); ++t) {
        LeafRankTree& tree = frontier_.tree(t);
        const auto own = weights.first(n_classes_ > 2 ? tree.nodes.size() * n_classes_ : 0);
        weights = weights.subspan(own.size());
        add_candidate(level_[trials_[t].place], trials_[t].pair, tree, {own.begin(), own.end()},
                      options_.min_weight_leaf);
    }
    level_before_.clear();
    for (const OpenSplit& open : level_) level_before_.push_back(open.cell);
    descend(
        root_, level_, options_, [](const OpenSplit&) {},
        [&](const std::vector<OpenSplit>& cells) {
            std::vector<std::pair<OpenSplit, OpenSplit>> children;
            for (const OpenSplit& open : cells)
                children.push_back(open_children(open, options_.focus, grown_));
            return children;
        });
    ++depth_;
}

std::vector<GatheredCell> LevelGrowth::gathered_cells() {
    preorder(root_);
    std::vector<GatheredCell> cells;
    for (const Growing* cell : gathered_cells_)
        cells.push_back({cell->number, cell->cell.depth, cell->key});
    return cells;
}

void LevelGrowth::graft_cell(std::size_t gathered, const RankTree& grown) {
    check(gathered < gathered_cells_.size() && !grown.cells.empty(), "graft_cell: no such cell");
    from_preorder(grown, options_.focus, *gathered_cells_[gathered], grown_);
}

}  // namespace treerank
