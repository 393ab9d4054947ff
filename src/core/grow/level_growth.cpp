#include "core/grow/level_growth.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/data/random.hpp"

namespace treerank {

namespace {

void check(bool sound, const char* what) {
    if (!sound) throw std::invalid_argument(what);
}

// Numbers nodes as depth-first growth does: children when their parent is split, the left
// branch before the right. On ties the number decides.
void number_depth_first(LeafRankTree& tree) {
    std::vector<std::int32_t> visited, number(tree.nodes.size(), 0), stack{0};
    std::int32_t next = 1;
    while (!stack.empty()) {
        const std::int32_t old = stack.back();
        stack.pop_back();
        visited.push_back(old);
        const LeafRankNode& node = tree.nodes[old];
        if (node.left < 0) continue;
        stack.push_back(node.right);
        stack.push_back(node.left);
        number[node.left] = next++;
        number[node.right] = next++;
    }
    tree.renumber(visited, number);
}

}  // namespace

LevelGrowth::LevelGrowth(Features features, const TreeRankOptions& options, Weights total,
                         std::uint64_t key, double gathered_weight, std::size_t histogram_bytes,
                         bool gathers_cells)
    : features_(std::move(features)),
      options_(options),
      gathered_weight_(gathered_weight),
      histogram_bytes_(histogram_bytes),
      gathers_cells_(gathers_cells),
      n_classes_(total.size()),
      split_search_(features_, options_.leafrank, nullptr),
      key_(key) {
    Growing& root = grown_.emplace_back();
    root.class_weight = std::move(total);
    selector_.emplace(root, options_);
    level_.push_back({&root, key, {}, {}});
}

double LevelGrowth::open_weight() const {
    double weight = 0;
    for (const OpenSplit& open : level_) weight += open.cell->weight();
    return weight;
}

RankTree LevelGrowth::tree() { return to_preorder(grown_.front(), n_classes_, false); }

RankTree LevelGrowth::take_tree() {
    check(done(), "take_tree: the tree still grows");
    return to_preorder(grown_.front(), n_classes_);
}

// ---- Trials ----

void LevelGrowth::start_level() {
    trials_.clear();
    roots_.clear();
    gathered_roots_.clear();
    gathered_nodes_.clear();
    frontier_.clear();
    number_cells(grown_.front());
    std::vector<OpenSplit> large;
    for (OpenSplit& open : level_) {
        // Two classes: what a cell is split into depends on nothing outside of it.
        const bool gathered = gathers_cells_ && n_classes_ == 2 && is_few(open.cell->weight()) &&
                              may_split(*open.cell, options_);
        (gathered ? gathered_cells_ : large).push_back(std::move(open));
    }
    level_ = std::move(large);
    for (std::size_t place = 0; place < level_.size(); ++place) {
        if (!may_split(*level_[place].cell, options_)) continue;
        const CellTrials trials = trials_of(level_[place], features_.size(), options_);
        for (const auto& [pair, key] : trials.pairs) open_trial(place, pair, key, trials.features);
    }
    want_all();
}

void LevelGrowth::open_trial(std::size_t place, ClassPair pair, std::uint64_t key,
                             const std::vector<std::int32_t>& features) {
    const Growing& cell = *level_[place].cell;
    trials_.push_back(
        {place, pair, key, features, LeafRankTree(features_, options_.leafrank), {}, 1});
    LeafRankTree& tree = trials_.back().tree;
    tree.reset({cell.class_weight[pair.first], cell.class_weight[pair.second]});
    const OpenNode root{0, 0, key};
    if (!tree.may_split(root)) return;
    const TrialRoot at{cell.number, pair.first, pair.second};
    if (is_few(tree.nodes[0].weight.total())) {
        gathered_roots_.push_back(at);
        gather_node(trials_.size() - 1, root);
    } else {
        roots_.push_back(at);
        frontier_.push_back({trials_.size() - 1, root, {}, {}, -1, false, {}});
    }
}

// Best-first growth weighs all nodes of a cell against each other, and the mean of a cell
// wants all of its rows: then only whole trials are gathered.
bool LevelGrowth::may_gather(const OpenNode& open) const {
    return open.node == 0 ||
           (options_.leafrank.max_leaf_nodes < 0 && !features_.missing_by_cell_mean());
}

void LevelGrowth::gather_node(std::size_t trial, const OpenNode& open) {
    const LeafRankTree& tree = trials_[trial].tree;
    gathered_nodes_.push_back({static_cast<std::int32_t>(trial), open.node, open.depth, 0, open.key,
                               open.lower, open.upper, tree.nodes[open.node].weight,
                               tree.nodes[0].weight});
}

std::vector<std::int32_t> LevelGrowth::trial_features(std::size_t trial) const {
    check(trial < trials_.size(), "trial_features: no such trial");
    return trials_[trial].features;
}

// ---- Rounds ----

// Where the larger child can be had by subtraction only the smaller one is counted.
void LevelGrowth::want_all() {
    wanted_.clear();
    n_given_ = 0;
    const std::size_t bytes = features_.histogram_size() * sizeof(WideCount);
    keeps_histograms_ = frontier_.size() * bytes <= histogram_bytes_;
    for (std::size_t slot = 0; slot < frontier_.size(); ++slot) {
        Waiting& waiting = frontier_[slot];
        if (!keeps_histograms_) waiting.parent.reset();
        if (!waiting.searched && waiting.parent == nullptr)
            wanted_.push_back(static_cast<std::int32_t>(slot));
    }
}

void LevelGrowth::give(const WideCount* histograms, std::size_t n) {
    check(n_given_ + n <= wanted_.size(), "give: more histograms than were wanted");
    const std::size_t size = features_.histogram_size();
    for (std::size_t i = 0; i < n; ++i) {
        Waiting& waiting = frontier_[wanted_[n_given_++]];
        const WideCount* histogram = histograms + i * size;
        if (keeps_histograms_)
            waiting.histogram =
                std::make_shared<std::vector<WideCount>>(histogram, histogram + size);
        search(waiting, histogram);
    }
}

void LevelGrowth::search_by_subtraction() {
    for (Waiting& waiting : frontier_) {
        if (waiting.searched) continue;
        const std::vector<WideCount>& sibling = *frontier_[waiting.sibling].histogram;
        waiting.histogram = std::make_shared<std::vector<WideCount>>(*waiting.parent);
        for (std::size_t i = 0; i < sibling.size(); ++i) (*waiting.histogram)[i] -= sibling[i];
        waiting.parent.reset();
        search(waiting, waiting.histogram->data());
    }
}

void LevelGrowth::search(Waiting& waiting, const WideCount* histogram) {
    Trial& trial = trials_[waiting.trial];
    if (features_.missing_by_cell_mean() && waiting.open.node == 0)
        trial.cell_histogram.assign(histogram, histogram + features_.histogram_size());
    split_search_.enter(no_rows_, nullptr, 0, trial.cell_histogram.data());
    const SearchedNode<WideCount> node{nullptr, 0, histogram, waiting.open.key,
                                       trial.tree.search_of(waiting.open)};
    waiting.split = trial.tree.best_split(
        trial.features, waiting.open.key, draws_, [&](const std::vector<std::int32_t>& features) {
            return split_search_.best_of(node, features.data(), features.size());
        });
    if (waiting.split.gain > 0 && features_.missing_by_cell_mean())
        split_search_.follow_imputed_code(waiting.split);
    waiting.searched = true;
}

// Depth first: every node that gains something. Best first: the best node of each trial, as
// long as it may have more leaves; the others wait.
std::vector<std::uint8_t> LevelGrowth::nodes_to_split() {
    std::vector<std::uint8_t> chosen(frontier_.size());
    if (options_.leafrank.max_leaf_nodes < 0) {
        for (std::size_t i = 0; i < chosen.size(); ++i) chosen[i] = frontier_[i].split.gain > 0;
        return chosen;
    }
    std::vector<std::int32_t> best(trials_.size(), -1);
    for (std::size_t i = 0; i < frontier_.size(); ++i) {
        const Waiting& waiting = frontier_[i];
        const Trial& trial = trials_[waiting.trial];
        if (waiting.split.gain <= 0 || trial.n_leaves >= options_.leafrank.max_leaf_nodes) continue;
        std::int32_t& at = best[waiting.trial];
        if (at >= 0) {
            const double mine = trial.tree.priority(waiting.open, waiting.split);
            const double theirs = trial.tree.priority(frontier_[at].open, frontier_[at].split);
            if (mine < theirs || (mine == theirs && waiting.open.node > frontier_[at].open.node))
                continue;
        }
        at = static_cast<std::int32_t>(i);
    }
    for (const std::int32_t at : best) {
        if (at < 0) continue;
        chosen[at] = 1;
        ++trials_[frontier_[at].trial].n_leaves;
    }
    return chosen;
}

void LevelGrowth::split_node(Waiting& waiting, Step& step, std::vector<Waiting>& next) {
    LeafRankTree& tree = trials_[waiting.trial].tree;
    step.condition = waiting.split.condition;
    if (step.condition.categorical) {
        step.condition.cut = static_cast<std::int32_t>(step_sets_.size());
        step_sets_.push_back(waiting.split.set);
    }
    const auto [left, right] = tree.split(waiting.open, waiting.split);
    std::int32_t slots[2] = {-1, -1};
    const auto decide = [&](const OpenNode& open, std::int32_t& slot) {
        if (!tree.may_split(open)) {
            tree.note_value(open);
            return Step::kGone;
        }
        if (is_few(tree.nodes[open.node].weight.total()) && may_gather(open)) {
            gather_node(waiting.trial, open);
            return Step::kGathered;
        }
        slot = static_cast<std::int32_t>(next.size());
        next.push_back({waiting.trial, open, {}, {}, -1, false, {}});
        return Step::kKept;
    };
    step.left = decide(left, slots[0]);
    step.right = decide(right, slots[1]);
    if (slots[0] < 0 || slots[1] < 0 || waiting.histogram == nullptr) return;
    const bool left_smaller =
        tree.nodes[left.node].weight.total() <= tree.nodes[right.node].weight.total();
    Waiting& large = next[slots[left_smaller ? 1 : 0]];
    large.parent = waiting.histogram;
    large.sibling = slots[left_smaller ? 0 : 1];
}

void LevelGrowth::advance() {
    check(n_given_ == wanted_.size(), "advance: histograms are still wanted");
    search_by_subtraction();
    const std::vector<std::uint8_t> chosen = nodes_to_split();
    std::vector<Waiting> next;
    steps_.assign(frontier_.size(), Step{});
    step_sets_.clear();
    const bool best_first = options_.leafrank.max_leaf_nodes >= 0;
    for (std::size_t slot = 0; slot < frontier_.size(); ++slot) {
        Waiting& waiting = frontier_[slot];
        const Trial& trial = trials_[waiting.trial];
        if (chosen[slot]) {
            split_node(waiting, steps_[slot], next);
        } else if (best_first && waiting.split.gain > 0 &&
                   trial.n_leaves < options_.leafrank.max_leaf_nodes) {
            steps_[slot].condition.feature = Step::kStay;
            next.push_back(std::move(waiting));
        } else {
            trials_[waiting.trial].tree.note_value(waiting.open);
            steps_[slot].condition.feature = Step::kDrop;
        }
    }
    frontier_ = std::move(next);
    want_all();
}

// ---- The end of a level ----

std::size_t LevelGrowth::n_trial_nodes() const {
    std::size_t n = 0;
    for (const Trial& trial : trials_) n += trial.tree.nodes.size();
    return n;
}

LevelGrowth::GrownTrials LevelGrowth::grown_trials() {
    GrownTrials grown;
    grown.starts.push_back(0);
    for (Trial& trial : trials_) {
        if (!trial.tree.grows_best_first()) number_depth_first(trial.tree);
        grown.cells.push_back(level_[trial.place].cell->number);
        const auto first = std::ssize(grown.nodes), first_set = std::ssize(grown.category_sets);
        for (const LeafRankNode& node : trial.tree.nodes)
            grown.nodes.push_back(shifted(node, first, first_set));
        grown.category_sets.insert(grown.category_sets.end(), trial.tree.category_sets.begin(),
                                   trial.tree.category_sets.end());
        grown.starts.push_back(static_cast<std::int32_t>(grown.nodes.size()));
    }
    return grown;
}

void LevelGrowth::finish_level(const std::int64_t* weights) {
    for (Trial& trial : trials_) {
        const std::size_t n = trial.tree.nodes.size();
        Weights test_weight;
        if (n_classes_ > 2) {
            check(weights != nullptr, "finish_level: weights of all classes are wanted");
            test_weight.assign(weights, weights + n * n_classes_);
            weights += n * n_classes_;
        }
        if (n < 3) continue;  // nothing to tell the classes apart
        if (n_classes_ > 2) add_up(trial.tree.nodes, n_classes_, test_weight);
        OpenSplit& open = level_[trial.place];
        if (auto candidate = make_candidate(trial.pair, trial.tree, open.cell->class_weight,
                                            std::move(test_weight), options_.min_weight_leaf))
            open.candidates.push_back(std::move(*candidate));
    }
    selector_->choose(pointers_to(level_));
    std::vector<OpenSplit> next;
    for (const OpenSplit& open : level_) {
        if (open.left.empty()) continue;
        auto [better, worse] = open_children(open, options_.focus, grown_);
        next.push_back(std::move(better));
        next.push_back(std::move(worse));
    }
    selector_->update();
    level_ = std::move(next);
    ++depth_;
}

// ---- What comes from elsewhere: the tree so far, and subtrees whose rows were gathered ----

void LevelGrowth::resume(const RankTree& tree, std::int32_t depth,
                         const std::vector<std::int32_t>& gathered) {
    grown_.clear();
    level_.clear();
    gathered_cells_.clear();
    from_preorder(tree, 0, grown_.emplace_back(), grown_);
    std::vector<OpenSplit> stack{{&grown_.front(), key_, {}, {}}};
    while (!stack.empty()) {  // preorder: the level comes out best first
        const OpenSplit open = std::move(stack.back());
        stack.pop_back();
        const Growing& cell = *open.cell;
        if (cell.left != nullptr) {
            stack.push_back({cell.right, key_of(open.key, kRightBranch), {}, {}});
            stack.push_back({cell.left, key_of(open.key, kLeftBranch), {}, {}});
        } else if (std::find(gathered.begin(), gathered.end(), cell.number) != gathered.end()) {
            gathered_cells_.push_back(open);
        } else if (cell.cell.depth == depth) {
            level_.push_back(open);
        }
    }
    selector_.emplace(grown_.front(), options_);
    selector_->update();
    depth_ = depth;
}

// Puts a subtree that was grown elsewhere in the place of a node.
void LevelGrowth::graft_node(const GatheredNode& at, const std::vector<LeafRankNode>& nodes,
                             const std::vector<CategorySet>& sets,
                             const std::vector<double>& values) {
    check(at.trial >= 0 && at.trial < std::ssize(trials_), "graft_node: no such trial");
    LeafRankTree& tree = trials_[at.trial].tree;
    check(at.node >= 0 && at.node < std::ssize(tree.nodes) && !nodes.empty(),
          "graft_node: no such node");
    check(fit_together(nodes, 0, std::ssize(nodes), features_.size(), sets.size()),
          "graft_node: nodes that do not fit together");
    const auto first = std::ssize(tree.nodes) - 1, first_set = std::ssize(tree.category_sets);
    tree.nodes.resize(tree.nodes.size() + nodes.size() - 1);
    if (!values.empty()) tree.values.resize(tree.nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const std::size_t to = i == 0 ? at.node : first + i;
        tree.nodes[to] = shifted(nodes[i], first, first_set);
        if (!values.empty()) tree.values[to] = values[i];
    }
    tree.category_sets.insert(tree.category_sets.end(), sets.begin(), sets.end());
}

void LevelGrowth::graft_splits(const SplitRecords& splits) {
    const DepthFirst order(splits, gathered_nodes_.size());
    for (std::size_t i = 0; i < gathered_nodes_.size(); ++i) {
        const GatheredNode& at = gathered_nodes_[i];
        check(at.node == 0, "graft_splits: whole trials expected");
        replay_splits({at.node, at.depth, at.key, at.lower, at.upper}, order.tests_of(i), splits,
                      features_, trials_[static_cast<std::size_t>(at.trial)].tree);
    }
    gathered_nodes_.clear();
}

std::vector<GatheredCell> LevelGrowth::gathered_cells() {
    number_cells(grown_.front());
    std::vector<GatheredCell> cells;
    for (const OpenSplit& open : gathered_cells_)
        cells.push_back({open.cell->number, open.cell->cell.depth, open.key});
    return cells;
}

void LevelGrowth::graft_cell(std::size_t gathered, const RankTree& grown) {
    check(gathered < gathered_cells_.size() && !grown.cells.empty(), "graft_cell: no such cell");
    from_preorder(grown, 0, *gathered_cells_[gathered].cell, grown_);
}

}  // namespace treerank
