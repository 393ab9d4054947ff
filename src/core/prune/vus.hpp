// The volume under the ROC surface (VUS) of an ordered partition, for any number of classes.
//
// A cell with class shares c (each relative to its class) has the upper triangular matrix
//   S(c)[i, j] = c_{i+1} ... c_j / (j - i)!
// The matrices of the cells multiply from worst to best, and
//   VUS = (S(worst) ... S(best))[0, K]
// with ties counted as in "Ranking data with ordinal labels" (Clémençon, Robbiano and Vayatis). So
// all that a cell needs to know of the others is a row vector of the worse ones and a column vector
// of the better ones.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "core/data/types.hpp"

namespace treerank {

// Entry j of a row vector is the weight of chains of the first j classes, in their order. Entry i
// of a column vector is the weight of chains of the classes after the first i.
using Chains = std::array<double, kMaxClasses + 1>;

// The vectors for no cells.
inline Chains no_worse_cell() {
    Chains chains{};
    chains[0] = 1;
    return chains;
}
inline Chains no_better_cell(std::size_t n_classes) {
    Chains chains{};
    chains[n_classes] = 1;
    return chains;
}

// chains := chains S(cell). Adds a cell that is better than those so far.
void append_better(Chains& chains, const double* share, std::size_t n_classes);
inline void append_better(Chains& chains, const std::vector<double>& share) {
    append_better(chains, share.data(), share.size());
}
// chains := S(cell) chains. Adds a cell that is worse than those so far.
void append_worse(Chains& chains, const double* share, std::size_t n_classes);
inline void append_worse(Chains& chains, const std::vector<double>& share) {
    append_worse(chains, share.data(), share.size());
}

inline double joined(const Chains& worse, const Chains& better, std::size_t n_classes) {
    double vus = 0;
    for (std::size_t i = 0; i <= n_classes; ++i) vus += worse[i] * better[i];
    return vus;
}

// Converts weights to shares of each class. Classes without weight (a bootstrap sample may miss
// one) are left out: chains skip them.
std::vector<double> shares_of(const std::vector<double>& weight, const std::vector<double>& total);

// Returns the increase of VUS when a cell is split, from the weights of the cell, of its better
// part and of the whole sample. For two classes it is Delta / 2, computed from integers.
double vus_increase(const Chains& worse, const Chains& better, const std::vector<double>& cell,
                    const std::vector<double>& left, const std::vector<double>& total);

// The same for several better parts of the cell at `place` in a list of ordered cells, best first.
std::vector<double> vus_gains(const std::vector<std::vector<double>>& cells, std::size_t place,
                              const std::vector<std::vector<double>>& left,
                              const std::vector<double>& total);

}  // namespace treerank
