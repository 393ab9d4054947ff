// How far the levels of a category can be believed. Text for the core (core/split/gain.hpp) and for
// the kernels of a device.
//
// Levels are put in order by what they show in the node, and the order is cut where it gains
// most. Chance alone makes levels differ, and the more of them there are, the more a cut of their
// order gains by chance: some 0.6 of the mean of a chi-square for each level. So what a level
// shows is first shrunk towards the mean of the node, by empirical Bayes: a level of n rows keeps
// n / (n + a) of its deviation, where a, in rows, is the ratio of the variance of a row to the
// variance between levels. The latter is what the levels differ by beyond what chance gives
// (DerSimonian & Laird 1986); for levels of equal size this is the estimator of James and Stein.
// The gain of a cut of the shrunken levels is then the gain to be expected on new rows.

// These degrees of freedom are free of charge: the best cut among seven levels owes as much to
// chance as the best threshold of a number does, which is not shrunk either.
constexpr double kFreeLevels = 6;

struct LevelEvidence {
    static constexpr double kNone = -1;

    double levels = 0;
    double rows = 0;
    double square_rows = 0;
    double between = 0;  // sum over levels of (sum of deviations)^2 / rows

    // Deviations from the mean of the node, summed over the rows of a level.
    void add(double level_rows, double deviation) {
        levels += 1;
        rows += level_rows;
        square_rows += level_rows * level_rows;
        between += deviation * deviation / level_rows;
    }

    // Rows of an average level that each level is mixed with, when the deviation of a row has
    // this variance: 0 for few levels, kNone where levels differ no more than by chance.
    // If rows were assigned to levels at random, the mean of between / variance would be
    // (levels - 1) rows / (rows - 1), exactly, whatever the sizes of the levels.
    double smoothing(double variance) const {
        const double charged = levels - 1 - kFreeLevels;
        if (charged <= 0) return 0;
        const double excess = between / variance * (rows - 1) - charged * rows;
        if (!(excess > 0)) return kNone;
        return (rows - square_rows / rows) * charged / (levels - 1) * (rows - 1) / excess;
    }
};
