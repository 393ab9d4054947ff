// Shrinkage of the levels of a category. Shared by the core (core/split/gain.hpp) and the GPU
// kernels.
//
// Levels are ordered by what they show in the node, and the order is cut where the gain is largest.
// Levels differ by chance alone, and the more levels there are, the more a cut of their order gains
// by chance: some 0.6 of the mean of a chi-square for each level. So each level is first shrunk
// towards the mean of the node, by empirical Bayes: a level of n rows keeps n / (n + a) of its
// deviation, where a, in rows, is the ratio of the variance of a row to the variance between
// levels. The latter is by how much the levels differ beyond chance (DerSimonian & Laird 1986); for
// levels of equal size this is the James-Stein estimator. The gain of a cut of the shrunken levels
// is then the gain to be expected on new rows.

// Degrees of freedom that are not charged: the best cut among seven levels owes as much to chance
// as the best threshold of a numeric feature, which is not shrunk either.
constexpr double kFreeLevels = 6;

struct LevelEvidence {
    static constexpr double kNone = -1;

    double levels = 0;
    double rows = 0;
    double square_rows = 0;
    double between = 0;  // sum over levels of (sum of deviations)^2 / rows

    // Adds a level. `deviation` is the sum over its rows of the deviations from the mean of the
    // node.
    void add(double level_rows, double deviation) {
        levels += 1;
        rows += level_rows;
        square_rows += level_rows * level_rows;
        between += deviation * deviation / level_rows;
    }

    // Returns how many rows of an average level each level is mixed with, given the variance of a
    // row's deviation: 0 for few levels, kNone if levels differ no more than by chance. If rows
    // were assigned to levels at random, the mean of between / variance would be (levels - 1) rows
    // / (rows - 1), exactly, whatever the sizes of the levels.
    double smoothing(double variance) const {
        const double charged = levels - 1 - kFreeLevels;
        if (charged <= 0) return 0;
        const double excess = between / variance * (rows - 1) - charged * rows;
        if (!(excess > 0)) return kNone;
        return (rows - square_rows / rows) * charged / (levels - 1) * (rows - 1) / excess;
    }
};
