"""One page with the papers' tables, ours beside theirs."""

import sys
from typing import Any

from benchmarks.common import Figure, describe, figure_table, machine, publish
from benchmarks.papers import ordered, studies
from benchmarks.papers.studies import FEW_REPEATS, GAUSSIAN_REPEATS, RIVAL_REPEATS, Results
from benchmarks.papers.tables import figure_14_table, ordered_table, rank_table, study_tables
from benchmarks.papers.verdicts import best_reached, best_table, rivals_reached, variants_reached
from treerank.datasets import make_ordinal_gaussians, make_ordinal_uniform


def show_progress(text: str) -> None:
    """Rewrite one line of a terminal; print lines elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)


PAGE = """# The papers' tables

{machine}

Do we reach the figures that the papers report? Our value comes first, as mean and standard
deviation over samples or folds; the paper's value is in brackets. What the paper calls a standard
error is this standard deviation and not the error of the mean, so agreement within ± is a weak
test; the standard error of a mean of ten folds is about a third of it.

Nothing is chosen on test rows. All other models get the same prepared columns (one column per
level, medians for missing values, standard scale), and their parameters are chosen by five folds
inside the training rows: 30 or 100 stumps (RankBoost up to 300), penalties over five powers of ten,
linear or Gaussian kernel. The paper does not print the penalty of its SVM splits: a tree of such
splits chooses C (0.1 to 100, with a linear kernel up to 10) and the kernel by three inner folds,
for forests too; on the simulated pairs the kernel is Gaussian. `RankingForest()` and
`BoostedTreeRank()` have their defaults. Single trees are pruned by five inner folds on the real
data sets, as in the paper; forests are not pruned here, while the paper's are.

{left_out}## Against the targets

{targets}

## Ten real sets ("An empirical comparison")

Stratified ten-fold cross-validation. The class ranked first is the one whose share is that of the
positives in the paper; the cut of auto_mpg_binary, which it does not print, is the median.

{best}

{uci_ranks}
{uci}
## Three pairs of Gaussians ("An empirical comparison")

The paper does not print the parameters of its pairs; ours are of similar difficulty, so that values
can be compared within a column, but less well with those in brackets. There are {samples} training
samples of 1,000 rows and, for instability, {bootstraps} bootstrap samples (paper: 30 and 20); other
models have {rival_samples} and {rival_bootstraps}, forests with SVM splits {few_samples} and
{few_bootstraps}, because they take long. Instability is Spearman's distance scaled to [0, 1]; the
paper uses another scale. Three pairs are too few to tell so many models apart by their ranks.

{gaussians_ranks}
{gaussians}
## Fig. 14 of "Adaptive partitioning schemes": breast cancer, bootstrap samples

Mean and standard deviation over 50 bootstrap samples, with 80 % of the rows for training. The
paper's logistic regression selects features by BIC, ours uses all of them. The credit data of the
figure are not publicly available.

{figure_14}

## Ordered classes ("The TreeRank Tournament")

VUS, measured as on the page [Ordered classes](ordinal.md). RBpw is RankBoost, SVM and RLS are
RankSVM and RankRLS, linear and Gaussian; their parameters are chosen by three inner folds.

### Three Gaussians (Table 2), best possible {gaussian_best:.4f} (paper: 0.4342)

{samples_ordered} samples (paper: 50), {few_ordered} for the rivals.

{table_2}

### Nine cells (Table 3), best possible {uniform_best:.4f} (paper: 0.5926)

{table_3}

### Real sets (Table 5)

Five stratified folds with {replications} replications (paper: 5), one for the other models and
MQ2008. MQ2007 was not available. The paper's programs for Gaussian kernels failed on MQ2008; ours
were not tried.

{table_5}
"""


def measure_all(quick: bool) -> dict[str, Results]:
    """Run the studies."""
    gaussian, uniform = ordered.simulated(quick)
    parts = {
        "uci": studies.uci(quick), "gaussians": studies.gaussians(quick),
        "figure_14": studies.figure_14(quick), "table_2": gaussian, "table_3": uniform,
        "table_5": ordered.real(quick),
    }  # fmt: skip
    return studies.run_all(parts, show_progress)


def format_left_out(found: dict[str, Results], quick: bool) -> str:
    """Name the sets that were not available."""
    wanted = [*studies.uci(quick).sets, *studies.figure_14(quick).sets, *ordered.real(quick).sets]
    had = {name for results in found.values() for name in results}
    missing = [name for name in dict.fromkeys(wanted) if name not in had]
    return f"Left out because they were not available: {', '.join(missing)}.\n\n" if missing else ""


def write_page(found: dict[str, Results], figures: list[Figure], facts: Any, quick: bool) -> str:
    """Put all tables on a page."""
    uci, pairs = found["uci"], found["gaussians"]
    real = {"auc": (5, 10), "local": (5, 10), "hit": (6, 11), "average": (6, 11)}
    simulated = {"auc": (2, 7), "local": (2, 7), "hit": (3, 8), "average": (3, 8),
                 "instability": (4, 9)}  # fmt: skip
    nothing = "The sets were not available.\n"
    wdbc, tasks = found["figure_14"].get("wdbc"), found["table_5"]
    return PAGE.format(
        machine=describe(facts, "make papers"), left_out=format_left_out(found, quick),
        targets=figure_table(figures) if figures else nothing,
        best=best_table(uci) if uci else nothing,
        uci_ranks=rank_table(uci, "uci", quick) if uci else "",
        uci=study_tables(uci, real) if uci else "",
        samples=GAUSSIAN_REPEATS[0], bootstraps=GAUSSIAN_REPEATS[1],
        rival_samples=RIVAL_REPEATS[0], rival_bootstraps=RIVAL_REPEATS[1],
        few_samples=FEW_REPEATS[0], few_bootstraps=FEW_REPEATS[1],
        gaussians_ranks=rank_table(pairs, "gaussians", quick),
        gaussians=study_tables(pairs, simulated),
        figure_14=figure_14_table(wdbc) if wdbc else nothing,
        gaussian_best=make_ordinal_gaussians(10, random_state=0).truth.vus,
        uniform_best=make_ordinal_uniform(10, random_state=0).truth.vus,
        samples_ordered=ordered.SAMPLES[0], few_ordered=ordered.FEW_SAMPLES[0],
        replications=ordered.REPLICATIONS[0],
        table_2=ordered_table(found["table_2"], 2), table_3=ordered_table(found["table_3"], 3),
        table_5=ordered_table(tasks, 5) if tasks else nothing,
    )  # fmt: skip


def run(quick: bool) -> None:
    """Measure what is not yet measured, print, and unless `quick` write the page."""
    facts = machine()
    found = measure_all(quick)
    uci = found["uci"]
    figures = [*best_reached(uci), *rivals_reached(uci), *variants_reached(uci)] if uci else []
    page = write_page(found, figures, facts, quick)
    print(page)
    if not quick:
        publish("papers", page, figures, {"machine": facts, **found})
