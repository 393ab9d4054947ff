#include "core/tournament.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <optional>

#include "core/cells.hpp"
#include "core/leafrank_prune.hpp"
#include "core/partition.hpp"
#include "core/podium.hpp"
#include "core/random.hpp"

namespace treerank {

namespace {

template <class Code, class Count>
struct OpenCell {
    Growing* cell = nullptr;
    std::shared_ptr<View<Code>> view;
    std::size_t first = 0;
    std::size_t last = 0;
    std::uint64_t key = 0;
    std::shared_ptr<Count[]> histograms;  // one a class, where they pay
    std::vector<Candidate> candidates;
    const Candidate* winner = nullptr;

    std::size_t size() const { return last - first; }
};

// The histogram of a pair from those of its classes, which count in the negatives' place.
void pair_up(const PackedCount* worse, const PackedCount* better, PackedCount* pair,
             std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) pair[i] = worse[i] + (better[i] << 32);
}
void pair_up(const WideCount* worse, const WideCount* better, WideCount* pair, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) pair[i] = {worse[i].negative, better[i].negative};
}

// Finds the candidates of cells and parts their rows; one a thread.
template <class Code, class Count>
class CellSplitter {
  public:
    using Open = OpenCell<Code, Count>;

    CellSplitter(const Table<Code>& table, const TreeRankOptions& options, RowBuffers& buffers,
                 Watch& watch, Team* team)
        : table_(table),
          options_(options),
          buffers_(buffers),
          watch_(watch),
          leafrank_(table.features, options.leafrank, watch, team) {
        if (options.leafrank.pruning)
            pruner_.emplace(table.features, options.leafrank, watch, team);
    }

    std::deque<Growing> grown;  // a deque keeps addresses

    void find_candidates(Open& open) {
        if (!may_split(*open.cell, options_)) return;
        watch_.check();
        Row* rows = buffers_.rows.data() + open.first;
        if (auto view = compact_view(*open.view, rows, open.size(), team_for(open)))
            open.view = std::move(view);
        const auto features =
            draw_cell_features(table_.features.size(), options_.max_features, key_of(open.key, 2));
        if (shares_histograms(open.size()) && !open.histograms) {
            open.histograms = new_histograms(table_.n_classes);
            count_by_class(open, features, open.histograms.get());
        }
        std::uint64_t number = 3;  // the branch of a cell's key where its first pair starts
        for (const auto& [worse, better] : pairs_of(open.cell->class_mass, options_.tournament))
            try_pair(open, worse, better, features, key_of(open.key, number++));
    }

    // Children of a cell whose winner is known, the better one first.
    std::pair<Open, Open> part(Open& open) {
        const Candidate& winner = *open.winner;
        Growing& cell = *open.cell;
        route(open, winner.tests, winner.category_sets);
        std::vector<std::uint8_t> side_of(winner.tests.size());
        for (std::size_t i = 0; i < side_of.size(); ++i) side_of[i] = winner.tests[i].side == 1;
        const std::size_t n_left = part_by_side(
            leaves_, side_of, work(open), open.view->side.data(), buffers_.rows.data() + open.first,
            open.size(), scratch(open), team_for(open));
        Masses right(winner.left.size());
        for (std::size_t k = 0; k < right.size(); ++k)
            right[k] = cell.class_mass[k] - winner.left[k];
        cell.left = child(cell, winner.left);
        cell.right = child(cell, std::move(right));
        const std::size_t middle = open.first + n_left;
        Open better{cell.left, open.view, open.first, middle, key_of(open.key, 0), {}, {}};
        Open worse{cell.right, open.view, middle, open.last, key_of(open.key, 1), {}, {}};
        if (open.histograms) hand_down(open, better, worse);
        return {std::move(better), std::move(worse)};
    }

  private:
    Row* work(const Open& open) { return buffers_.work.get() + open.first; }
    Row* scratch(const Open& open) { return buffers_.scratch.get() + open.first; }
    Team* team_for(const Open& open) const { return leafrank_.team_for(open.size()); }

    Growing* child(const Growing& parent, Masses mass) {
        Growing& cell = grown.emplace_back();
        if (mass.size() == 2) cell.mass = {mass[0], mass[1]};
        cell.class_mass = std::move(mass);
        cell.cell.depth = parent.cell.depth + 1;
        return &cell;
    }

    // Histograms of the classes may take as much memory as the codes of the cell, not more.
    bool shares_histograms(std::size_t n) const {
        return leafrank_.uses_all_features() && options_.max_features < 0 &&
               n * table_.features.size() * sizeof(Code) >=
                   table_.n_classes * table_.features.histogram_size() * sizeof(Count);
    }
    std::shared_ptr<Count[]> new_histograms(std::size_t n) const {
        return std::shared_ptr<Count[]>(new Count[n * table_.features.histogram_size()]);
    }

    // Copies the rows of one class or two to `to`, with the label bit set for the better one.
    std::size_t select(const Open& open, std::int32_t worse, std::int32_t better, Row* to) const {
        const Row* rows = buffers_.rows.data() + open.first;
        const std::uint8_t* classes = open.view->classes;
        std::size_t n = 0;
        for (std::size_t i = 0; i < open.size(); ++i) {
            const Row row = rows[i];
            const std::int32_t own = classes[row_id(row)];
            to[n] = (row & ~kLabelBit) | (own == better ? kLabelBit : 0);
            n += own == worse || own == better;
        }
        return n;
    }

    void count_by_class(const Open& open, const std::vector<std::int32_t>& features,
                        Count* histograms) {
        for (std::size_t k = 0; k < table_.n_classes; ++k) {
            const std::size_t n = select(open, static_cast<std::int32_t>(k), -1, work(open));
            leafrank_.count(*open.view, work(open), n, features,
                            histograms + k * table_.features.histogram_size());
        }
    }

    // Counts the smaller child and subtracts it from the cell, class by class.
    void hand_down(Open& open, Open& better, Open& worse) {
        Open& small = better.size() <= worse.size() ? better : worse;
        Open& large = better.size() <= worse.size() ? worse : better;
        if (!may_split(*large.cell, options_) || !shares_histograms(large.size())) return;
        std::vector<std::int32_t> all(table_.features.size());
        for (std::size_t f = 0; f < all.size(); ++f) all[f] = static_cast<std::int32_t>(f);
        small.histograms = new_histograms(table_.n_classes);
        count_by_class(small, all, small.histograms.get());
        large.histograms = std::move(open.histograms);
        kernels<Code, Count>().subtract(large.histograms.get(), large.histograms.get(),
                                        small.histograms.get(),
                                        table_.n_classes * table_.features.histogram_size());
        if (!may_split(*small.cell, options_) || !shares_histograms(small.size()))
            small.histograms.reset();
    }

    void try_pair(Open& open, std::int32_t worse, std::int32_t better,
                  const std::vector<std::int32_t>& features, std::uint64_t key) {
        const Masses& mass = open.cell->class_mass;
        const ClassMass pair{mass[worse], mass[better]};
        const std::size_t n = select(open, worse, better, work(open));
        std::shared_ptr<Count[]> root;
        if (open.histograms) {
            const std::size_t size = table_.features.histogram_size();
            root = new_histograms(1);
            pair_up(open.histograms.get() + worse * size, open.histograms.get() + better * size,
                    root.get(), size);
        }
        if (pruner_) unpermuted_.assign(work(open), work(open) + n);
        leafrank_.grow(*open.view, work(open), n, scratch(open), pair, features, key, root.get());
        if (pruner_)
            pruner_->prune(leafrank_, {*open.view, unpermuted_.data(), n, pair, features, key},
                           scratch(open));
        if (leafrank_.nodes.size() < 3) return;  // nothing to tell them apart
        route(open, leafrank_.nodes, leafrank_.category_sets);
        if (auto candidate =
                make_candidate({worse, better}, leafrank_, mass,
                               masses_by_test(open, leafrank_.nodes), options_.min_mass_leaf))
            open.candidates.push_back(std::move(*candidate));
    }

    // Parts a copy of the cell's rows, of all classes, into the leaves of a LeafRank tree.
    void route(const Open& open, const std::vector<LeafRankNode>& nodes,
               const std::vector<CategorySet>& sets) {
        Row* rows = work(open);
        std::copy_n(buffers_.rows.data() + open.first, open.size(), rows);
        leaves_.clear();
        std::vector<LeafRows> stack{{0, 0, open.size()}};
        while (!stack.empty()) {
            const LeafRows next = stack.back();
            stack.pop_back();
            const LeafRankNode& node = nodes[next.node];
            if (node.left < 0) {
                leaves_.push_back(next);
                continue;
            }
            const std::size_t n = next.last - next.first;
            const std::size_t middle =
                next.first + part_by_test<Code, Count>(
                                 node.test,
                                 node.test.categorical ? sets[node.test.cut] : CategorySet{},
                                 open.view->codes_for(n), rows + next.first, n,
                                 scratch(open) + next.first, leafrank_.team_for(n));
            stack.push_back({node.left, next.first, middle});
            stack.push_back({node.right, middle, next.last});
        }
    }

    // Masses of all classes in the nodes of the LeafRank tree that the rows were routed through.
    Masses masses_by_test(const Open& open, const std::vector<LeafRankNode>& nodes) {
        const std::size_t n_classes = table_.n_classes;
        Masses mass(nodes.size() * n_classes);
        const Row* rows = work(open);
        for (const LeafRows& leaf : leaves_) {
            std::int64_t units[kMaxClasses] = {};
            for (std::size_t i = leaf.first; i < leaf.last; ++i)
                units[open.view->classes[row_id(rows[i])]] += units_of(rows[i], open.view->weights);
            for (std::size_t k = 0; k < n_classes; ++k)
                mass[leaf.node * n_classes + k] = static_cast<double>(units[k]);
        }
        add_up(nodes, n_classes, mass);
        return mass;
    }

    const Table<Code>& table_;
    const TreeRankOptions& options_;
    RowBuffers& buffers_;
    Watch& watch_;
    LeafRank<Code, Count> leafrank_;
    std::optional<LeafRankPruner<Code, Count>> pruner_;
    std::vector<Row> unpermuted_;  // the rows of a pair as they were before growth
    std::vector<LeafRows> leaves_;
};

// Grows all cells of a depth together: large ones one by one with the whole team, the others
// a thread each.
template <class Code, class Count>
class LevelGrower {
  public:
    using Open = OpenCell<Code, Count>;

    LevelGrower(const Table<Code>& table, const TreeRankOptions& options, RowBuffers& buffers,
                Team* team, Watch& watch)
        : team_(team != nullptr && team->size() > 1 ? team : nullptr),
          watch_(watch),
          large_(std::max(kTeamCellRows, buffers.rows.size() / (team_ ? team_->size() : 1))),
          together_(table, options, buffers, watch, team) {
        for (std::size_t i = 0; team_ && i < team_->size(); ++i)
            alone_.emplace_back(table, options, buffers, watch, nullptr);
    }

    void grow(Open root, const TreeRankOptions& options) {
        Podium podium(*root.cell, options);
        std::vector<Open> level;
        level.push_back(std::move(root));
        while (!level.empty()) {
            each(
                level.size(), [&](std::size_t i) { return level[i].size(); },
                [&](std::size_t i, auto& splitter) { splitter.find_candidates(level[i]); });
            podium.choose(level);
            std::erase_if(level, [&](const Open& open) {
                if (open.winner == nullptr) watch_.advance(static_cast<double>(open.size()));
                return open.winner == nullptr;
            });
            std::vector<std::pair<Open, Open>> children(level.size());
            each(
                level.size(), [&](std::size_t i) { return level[i].size(); },
                [&](std::size_t i, auto& splitter) { children[i] = splitter.part(level[i]); });
            podium.update();
            level.clear();
            for (auto& [better, worse] : children) {
                level.push_back(std::move(better));
                level.push_back(std::move(worse));
            }
        }
    }

  private:
    template <class Size, class Job>
    void each(std::size_t n, const Size& size, const Job& job) {
        if (team_ == nullptr) {
            for (std::size_t i = 0; i < n; ++i) job(i, together_);
            return;
        }
        std::vector<std::size_t> small;
        for (std::size_t i = 0; i < n; ++i) {
            if (size(i) >= large_)
                job(i, together_);
            else
                small.push_back(i);
        }
        std::atomic<std::size_t> next{0};
        team_->run(alone_.size(), [&](std::size_t thread) {
            for (std::size_t i = next++; i < small.size(); i = next++)
                job(small[i], alone_[thread]);
        });
    }

    Team* team_;
    Watch& watch_;
    const std::size_t large_;
    CellSplitter<Code, Count> together_;
    std::deque<CellSplitter<Code, Count>> alone_;
};

template <class Code, class Count>
RankTree grow_counting(const Table<Code>& table, std::vector<Row> sample, std::uint64_t key,
                       const TreeRankOptions& options, Team* team, Watch& watch) {
    RowBuffers buffers(std::move(sample));
    auto view = std::make_shared<View<Code>>();
    view->codes = table.codes;
    view->by_row = table.by_row;
    view->weights = table.weights;
    view->classes = table.labels;
    view->side.resize(table.codes.rows);

    std::int64_t units[kMaxClasses] = {};
    for (const Row row : buffers.rows)
        units[table.labels[row_id(row)]] += units_of(row, table.weights);
    Growing root;
    root.class_mass.assign(units, units + table.n_classes);
    root.mass = {root.class_mass.front(), root.class_mass.back()};
    LevelGrower<Code, Count> grower(table, options, buffers, team, watch);
    grower.grow({&root, std::move(view), 0, buffers.rows.size(), key, {}, {}}, options);
    return flatten(root, table.n_classes);
}

}  // namespace

template <class Code>
RankTree grow_tournament(const Table<Code>& table, std::vector<Row> sample, std::uint64_t key,
                         const TreeRankOptions& options, Team* team, Watch& watch) {
    return table.weights == nullptr ? grow_counting<Code, PackedCount>(table, std::move(sample),
                                                                       key, options, team, watch)
                                    : grow_counting<Code, WideCount>(table, std::move(sample), key,
                                                                     options, team, watch);
}

template RankTree grow_tournament(const Table<std::uint8_t>&, std::vector<Row>, std::uint64_t,
                                  const TreeRankOptions&, Team*, Watch&);
template RankTree grow_tournament(const Table<std::uint16_t>&, std::vector<Row>, std::uint64_t,
                                  const TreeRankOptions&, Team*, Watch&);

}  // namespace treerank
