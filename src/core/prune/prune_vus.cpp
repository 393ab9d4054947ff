#include <algorithm>

#include "core/prune/cost_complexity.hpp"
#include "core/prune/vus.hpp"

namespace treerank {

namespace {

// A subtree during pruning: which cells it splits, and its leaves, best first.
class Subtree {
  public:
    Subtree(const std::int32_t* left, const std::int32_t* right, const double* weight,
            std::size_t n_cells, std::size_t n_classes)
        : left_(left), right_(right), n_classes_(n_classes), share_(n_cells * n_classes) {
        for (std::size_t i = 0; i < share_.size(); ++i)
            share_[i] = weight[i] / weight[i % n_classes];
        split_.resize(n_cells);
        for (std::size_t c = 0; c < n_cells; ++c) split_[c] = left[c] >= 0;
    }

    struct Link {
        double weakest_link = 0;
        std::int32_t cell = -1;  // -1: none
    };

    // Returns the inner cell whose collapse loses the least VUS per leaf; on ties the one nearest
    // to the root.
    Link weakest() {
        list();
        compute();
        const double vus = joined(worse_.back(), better_.back(), n_classes_);
        Link best;
        for (const Inner& inner : inner_) {
            Chains chains = worse_[inner.last - 1];
            append_better(chains, share_of(inner.cell), n_classes_);
            const double without = joined(chains, better_[inner.first], n_classes_);
            const auto leaves = static_cast<double>(inner.last - inner.first);
            const Link link{(vus - without) / (leaves - 1), inner.cell};
            if (best.cell < 0 || link.weakest_link < best.weakest_link) best = link;
        }
        return best;
    }

    void collapse(std::int32_t cell, std::int32_t step, std::vector<std::int32_t>& collapsed_at) {
        std::vector<std::int32_t> stack{cell};
        while (!stack.empty()) {
            const std::int32_t next = stack.back();
            stack.pop_back();
            if (!split_[next]) continue;
            split_[next] = false;
            collapsed_at[next] = step;
            stack.push_back(left_[next]);
            stack.push_back(right_[next]);
        }
    }

  private:
    struct Inner {  // an inner cell and the range of leaves below it
        std::int32_t cell;
        std::size_t first;
        std::size_t last;
    };

    const double* share_of(std::int32_t cell) const { return share_.data() + cell * n_classes_; }

    // Lists the leaves from best to worst, and the inner cells, parents first.
    void list() {
        leaves_.clear();
        inner_.clear();
        visit(0);
        std::sort(inner_.begin(), inner_.end(),
                  [](const Inner& a, const Inner& b) { return a.cell < b.cell; });
    }
    void visit(std::int32_t root) {
        struct Frame {
            std::int32_t cell;
            std::size_t first;
            int visited;
        };
        std::vector<Frame> stack{{root, 0, 0}};
        while (!stack.empty()) {
            Frame& top = stack.back();
            const std::int32_t cell = top.cell;
            if (!split_[cell]) {
                leaves_.push_back(cell);
                stack.pop_back();
            } else if (top.visited == 2) {
                inner_.push_back({cell, top.first, leaves_.size()});
                stack.pop_back();
            } else {
                const std::int32_t child = top.visited++ == 0 ? left_[cell] : right_[cell];
                stack.push_back({child, leaves_.size(), 0});
            }
        }
    }

    // worse_[i] has the chains of the leaves after leaf i, better_[i] those of the leaves before
    // it. The last entries: worse_[n] for all leaves, better_[n] for none.
    void compute() {
        const std::size_t n = leaves_.size();
        worse_.resize(n + 1);
        better_.resize(n + 1);
        Chains below = no_worse_cell();
        for (std::size_t i = n; i-- > 0;) {
            worse_[i] = below;
            append_better(below, share_of(leaves_[i]), n_classes_);
        }
        worse_[n] = below;
        Chains above = no_better_cell(n_classes_);
        for (std::size_t i = 0; i < n; ++i) {
            better_[i] = above;
            append_worse(above, share_of(leaves_[i]), n_classes_);
        }
        better_[n] = no_better_cell(n_classes_);
    }

    const std::int32_t* left_;
    const std::int32_t* right_;
    const std::size_t n_classes_;
    std::vector<double> share_;
    std::vector<std::uint8_t> split_;
    std::vector<std::int32_t> leaves_;
    std::vector<Inner> inner_;
    std::vector<Chains> worse_;
    std::vector<Chains> better_;
};

}  // namespace

PruningSequence vus_complexity(const std::int32_t* left, const std::int32_t* right,
                               const double* weight, std::size_t n_cells, std::size_t n_classes) {
    PruningSequence sequence{{0.0}, std::vector<std::int32_t>(n_cells, 0)};
    Subtree subtree(left, right, weight, n_cells, n_classes);
    std::int32_t step = 0;
    for (auto link = subtree.weakest(); link.cell >= 0; link = subtree.weakest()) {
        if (step == 0 || link.weakest_link > sequence.lambdas.back()) {
            // Splits made later elsewhere can turn the gain of a split negative: lambda is then 0.
            sequence.lambdas.push_back(std::max(link.weakest_link, 0.0));
            ++step;
        }
        subtree.collapse(link.cell, step, sequence.collapsed_at);
    }
    return sequence;
}

}  // namespace treerank
