"""What a fit makes of its cores: pruning beside growth, rounds of boosting beside LightGBM's."""

import contextlib
import io
import time
from collections.abc import Callable
from functools import partial
from statistics import mean, median
from typing import Any

import joblib
from sklearn.metrics import roc_auc_score

from benchmarks.common import Figure, Times, describe, figure_table, machine, publish, targets_met
from benchmarks.memory import peaks
from benchmarks.speed import Data, make_data
from treerank import BoostedTreeRank, LeafRank, RankingForest, TreeRank

RIVAL = "LightGBM"
RATE, LEAST_ROWS, L2 = 0.05, 5, 5.0
# About 32 leaves a tree, all features; LightGBM's trees have 31.
BEST_FIRST = "best-first trees of 31 leaves"
OURS: dict[str, dict[str, Any]] = {
    BEST_FIRST: {"max_leaf_nodes": 31},
    "ordinary trees of depth 5": {"max_depth": 5, "leafrank_depth": 1},
    "ranking trees of 2 x 4": {"max_depth": 2, "leafrank_depth": 4},
}
BINS = (127, 255, 1023)


def timed(call: Callable[[], Any]) -> Times:
    """Seconds of one call."""
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return Times(time.perf_counter() - wall, time.process_time() - cpu)


def take_turns(calls: dict[str, Callable[[], Times]], repetitions: int) -> dict[str, list[Times]]:
    """Times of calls that take turns, so that a busy spell of the machine meets all of them."""
    found: dict[str, list[Times]] = {name: [] for name in calls}
    for _ in range(repetitions):
        for name, call in calls.items():
            found[name].append(call())
    return found


def middle(times: list[Times], threads: int) -> float:
    """Median: processor seconds of one thread, seconds on the wall of several."""
    return median(t.cpu if threads == 1 else t.wall for t in times)


def threads_to_try() -> list[int]:
    """One, two, and all that there are."""
    return sorted({1, 2, joblib.cpu_count()})


# ---- Trees ----


def tree(n_jobs: int, **changes: Any) -> TreeRank:
    """Return the tree of the figures: as it comes, but for the splitter, which is not chosen."""
    return TreeRank(LeafRank(), n_jobs=n_jobs, **changes)


def trees(data: Data, repetitions: int) -> list[Figure]:
    """Cost of pruning and shrinkage, and gain by threads."""
    n = len(data[1])
    figures, alone = [], {}
    for threads in threads_to_try():
        calls = {
            "unpruned": partial(
                timed, lambda t=threads: tree(t, pruning=None, shrinkage=None).fit(*data)
            ),
            "default": partial(timed, lambda t=threads: tree(t).fit(*data)),
        }
        times = take_turns(calls, repetitions)
        wall = {name: median(t.wall for t in found) for name, found in times.items()}
        if threads == 1:
            unpruned, default = (middle(times[name], 1) for name in calls)
            alone = wall
            figures.append(
                Figure(f"tree, {n:,} x 20, one thread: pruned and shrunk, times the unpruned fit",
                       default / unpruned, target=2.5,
                       note=f"{default:.2f} s against {unpruned:.2f} s")
            )  # fmt: skip
        else:
            figures.append(
                Figure(f"tree, {n:,} x 20, {threads} threads: times faster than one",
                       alone["default"] / wall["default"],
                       target=5 if threads >= 16 else None, bound="at least",
                       note=f"{alone['default']:.2f} s against {wall['default']:.2f} s")
            )  # fmt: skip
    return figures


def stages(model: Any, data: Data) -> str:
    """Seconds by stage of a fit, as `verbose=2` prints them."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        model.set_params(verbose=2).fit(*data)
    return "seconds by stage\n" + said.getvalue().split("seconds by stage\n")[-1].rstrip("\n")


# ---- Forests ----


def forests(data: Data, repetitions: int, turns: int) -> list[Figure]:
    """A forest of 50 trees beside LightGBM's 100 rounds, and gain by threads.

    On two threads so many turns, each of which counts.
    """
    name = f"forest of 50 trees, {len(data[1]):,} x 20"
    figures, alone = [], 0.0
    for threads in threads_to_try():
        calls = {
            "forest": partial(timed, lambda t=threads: forest(t).fit(*data)),
            RIVAL: partial(timed, lambda t=threads: rival(100, t).fit(*data)),
        }
        if threads == 1:
            alone = middle(take_turns({"forest": calls["forest"]}, repetitions)["forest"], 1)
            continue
        times = take_turns(calls, turns if threads == 2 else repetitions)
        own, of_rival = (middle(found, threads) for found in times.values())
        what = f"{name}, {threads} threads"
        note = f"{own:.2f} s against {of_rival:.2f} s"
        figures.append(Figure(f"{what}, over the time of 100 rounds of {RIVAL}",
                              own / of_rival, note=note)
        )  # fmt: skip
        if threads == 2:
            ratios = [a.wall / b.wall for a, b in zip(*times.values(), strict=True)]
            note = ", ".join(f"{ratio:.2f}" for ratio in ratios)
            figures.append(Figure(f"{what}: the largest ratio of {turns} turns", max(ratios),
                                  target=1, note=note)
            )  # fmt: skip
        figures.append(Figure(f"{what}: times faster than one", alone / own, bound="at least",
                              target=8 if threads >= 16 else None,
                              note=f"{alone:.2f} s against {own:.2f} s")
        )  # fmt: skip
    return figures


def forest(n_jobs: int) -> RankingForest:
    """Return the forest of the figures."""
    return RankingForest(n_estimators=50, n_jobs=n_jobs)


# ---- Boosting ----


def rival(n_rounds: int, n_jobs: int) -> Any:
    """Return an unfitted LightGBM of 31 leaves."""
    from lightgbm import LGBMClassifier  # noqa: PLC0415

    return LGBMClassifier(
        n_estimators=n_rounds, num_leaves=31, learning_rate=RATE, min_child_samples=LEAST_ROWS,
        reg_lambda=L2, n_jobs=n_jobs, force_col_wise=True, verbose=-1,
    )  # fmt: skip


def ours(settings: dict[str, Any], n_rounds: int, n_jobs: int) -> BoostedTreeRank:
    """Return an unfitted BoostedTreeRank of 31 or 32 leaves."""
    return BoostedTreeRank(
        n_rounds, learning_rate=RATE, min_samples_leaf=LEAST_ROWS, l2_regularization=L2,
        max_features=None, n_jobs=n_jobs, **settings,
    )  # fmt: skip


def seconds_a_round(make: Callable[[int, int], Any], data: Data, rounds: int, jobs: int) -> Times:
    """Seconds that one round adds to a fit: validation and binning cancel out."""
    short = timed(lambda: make(1, jobs).fit(*data))
    long = timed(lambda: make(1 + rounds, jobs).fit(*data))
    return Times((long.wall - short.wall) / rounds, (long.cpu - short.cpu) / rounds)


def boosting(data: Data, rounds: int, turns: int) -> list[Figure]:
    """Rounds of boosting beside LightGBM's, for several numbers of threads.

    Every turn measures all of them, and ratios are taken within a turn.
    """
    makes: dict[str, Callable[[int, int], Any]] = {
        **{name: partial(ours, settings) for name, settings in OURS.items()},
        RIVAL: rival,
    }
    found: list[dict[tuple[str, int], float]] = []
    for _ in range(turns):
        found.append({})
        for threads in threads_to_try():
            for name, make in makes.items():
                times = seconds_a_round(make, data, rounds, threads)
                found[-1][name, threads] = times.cpu if threads == 1 else times.wall

    def ratio(above: tuple[str, int], below: tuple[str, int]) -> tuple[float, str]:
        seconds = [median(turn[which] for turn in found) for which in (above, below)]
        note = " against ".join(f"{1e3 * one:.1f} ms" for one in seconds)
        return median(turn[above] / turn[below] for turn in found), note

    figures: list[Figure] = []
    for threads in threads_to_try():
        for name in OURS:
            what = f"boosting round, {name}, {len(data[1]):,} x 20, {threads} thread"
            what += "s" if threads > 1 else ""
            if threads >= 16:
                gain, note = ratio((name, 1), (name, threads))
                figures.append(Figure(f"{what}: times faster than one", gain, target=6,
                                      bound="at least", note=note)
                )  # fmt: skip
            share, note = ratio((name, threads), (RIVAL, threads))
            figures.append(Figure(f"{what}, over {RIVAL}'s time", share, target=1, note=note))
    return figures


# Rows of the table to which boosting is fitted with its defaults: it averages ten bags there.
BAGGED_ROWS = 10_000


def bags(data: Data, repetitions: int) -> list[Figure]:
    """Gain of the default boosting on few rows by threads, which grow bags side by side."""
    fits = {
        threads: partial(timed, partial(BoostedTreeRank(n_jobs=threads).fit, *data))
        for threads in threads_to_try()
    }
    found = take_turns({str(threads): fit for threads, fit in fits.items()}, repetitions)
    wall = {threads: median(t.wall for t in found[str(threads)]) for threads in fits}
    name = f"`BoostedTreeRank()`, {len(data[1]):,} x 20"
    return [
        Figure(
            f"{name}, {threads} threads: times faster than one",
            wall[1] / wall[threads],
            note=f"{wall[1]:.2f} s against {wall[threads]:.2f} s",
        )
        for threads in fits
        if threads > 1
    ]


# ---- What the machine has to give ----


def seconds_amid_others(make: Callable[[], Any], data: Data) -> float:
    """Seconds of the second of three fits: if others do the same, all of them are at work."""
    return [timed(lambda: make().fit(*data)).wall for _ in range(3)][1]


FOREST = "forest of 50 trees"
BOOSTING = "boosting, ordinary trees of depth 5, 20 rounds"


def ceilings(data: Data, threads: int, names: list[str]) -> list[Figure]:
    """Throughput of as many processes as cores, each with one thread: no fit can gain more.

    Cores share caches and memory, and at times they are slowed down by other machines.
    """
    calls = {
        FOREST: partial(forest, 1),
        BOOSTING: partial(ours, OURS["ordinary trees of depth 5"], 20, 1),
    }
    figures = []
    for name in names:
        make = calls[name]
        alone = seconds_amid_others(make, data)
        fits = (joblib.delayed(seconds_amid_others)(make, data) for _ in range(threads))
        together = joblib.Parallel(threads)(fits)
        figures.append(
            Figure(f"{name}, {len(data[1]):,} x 20: throughput of {threads} processes of one "
                   "thread each, times that of one", sum(alone / seconds for seconds in together),
                   note=f"{alone:.2f} s alone, {mean(together):.2f} s on average")
        )  # fmt: skip
    return figures


def auc_of(model: Any, data: Data, test: Data) -> tuple[float, float]:
    """AUC on rows that were not fitted, and the seconds of the fit."""
    seconds = timed(partial(model.fit, *data)).wall
    return float(roc_auc_score(test[1], model.predict_proba(test[0])[:, 1])), seconds


def aucs(data: Data, test: Data, n_jobs: int) -> list[Figure]:
    """AUC after 100 rounds at a learning rate of 0.1, on rows that were not fitted."""
    models = {
        name: ours(settings, 100, n_jobs).set_params(learning_rate=0.1)
        for name, settings in OURS.items()
    }
    models[RIVAL] = rival(100, n_jobs).set_params(learning_rate=0.1)
    found = {name: auc_of(model, data, test) for name, model in models.items()}
    auc, seconds = found[RIVAL]
    figures = [
        Figure(f"AUC, 100 rounds of {name}, {len(data[1]):,} x 20, minus {RIVAL}'s",
               found[name][0] - auc, target=0, bound="at least",
               note=f"{found[name][0]:.4f} in {found[name][1]:.2f} s against {auc:.4f} in "
                    f"{seconds:.2f} s")
        for name in OURS
    ]  # fmt: skip
    of_bins: dict[str, list[float]] = {BEST_FIRST: [], RIVAL: []}
    for n_bins in BINS:
        for name, parameter in ((BEST_FIRST, "max_bins"), (RIVAL, "max_bin")):
            model = models[name].set_params(**{parameter: n_bins})
            of_bins[name].append(auc_of(model, data, test)[0])
    return [*figures, over_bins(of_bins, len(data[1]))]


def over_bins(of_bins: dict[str, list[float]], n_rows: int) -> Figure:
    """Compare the mean over several numbers of bins: one of them alone decides by chance."""
    listed = {name: ", ".join(f"{auc:.4f}" for auc in found) for name, found in of_bins.items()}
    bins = ", ".join(f"{n:,}" for n in BINS)
    return Figure(
        f"AUC, the same of {BEST_FIRST}, {n_rows:,} x 20: mean over {bins} bins, minus {RIVAL}'s",
        mean(of_bins[BEST_FIRST]) - mean(of_bins[RIVAL]), target=0, bound="at least",
        note=f"{listed[BEST_FIRST]} against {listed[RIVAL]}",
    )  # fmt: skip


PAGE = """# How well does a fit use several cores?

How much faster do a tree, a forest and a round of boosting become with more threads, and how do
they compare with LightGBM on the same number of threads? {summary}

{machine}

{figures}

## How it was measured

The rows are those of the page [Speed](speed.md). The tree is `TreeRank(LeafRank())`, unpruned with
`pruning=None, shrinkage=None`. The forest is `RankingForest(n_estimators=50)`, which tries three
kinds of trees and chooses half of the features on these rows. Boosting grows best-first trees of 31
leaves (`max_leaf_nodes=31`), as LightGBM does: the leaf that gains most is split first. Two kinds
of trees of 32 leaves are split level by level: ordinary trees (`max_depth=5, leafrank_depth=1`) and
ranking trees (`max_depth=2, leafrank_depth=4`). LightGBM's trees have 31 leaves. Learning rate,
minimum leaf size (5 rows) and penalty (5) are the same for all of them, and all features are used
(`max_features=None`; our default draws half of them for each tree). The time of a round is what
additional rounds add to a fit, so that validation and binning cancel out. Fits that are compared
take turns, and the table shows the median of {repetitions} runs: processor seconds on one thread,
elapsed seconds on several. For rounds of boosting it shows the median over {turns} turns ({few} on
{n_large:,} rows) of the ratio within a turn, because the machine may be slower in some turns than
in others. `BoostedTreeRank()` chooses its trees on held-out rows and averages ten bags, which are
grown side by side. The AUC is that of {n_test:,} further rows from the same draw, with {threads}
threads; another number of bins changes it by up to 0.003, so that it is also compared over three of
them. Peak memory is measured in a process of its own for each fit. The last figures but those of
memory say what the machine has to give: as many processes as cores, each of which fits the same
model on one thread, and how much more they get done together than one of them alone. No fit can
gain more by its threads.

## Where the time goes

The default tree on {n_large:,} rows, with one thread and with {threads} (`verbose=2`):

```text
{stages}
```

```text
{shared}
```

The forest on {n_small:,} rows, with {threads} threads:

```text
{forest}
```
"""


def run(quick: bool) -> None:
    """Measure, print, and unless `quick` write the page."""
    facts = machine()
    scale, repetitions, few, turns = (20, 1, 1, 1) if quick else (1, 3, 3, 5)
    threads = threads_to_try()[-1]
    small = make_data(200_000 // scale)
    n_large = 1_000_000 // scale
    X, y = make_data(n_large * 5 // 4)
    data, test = (X[:n_large], y[:n_large]), (X[n_large:], y[n_large:])
    figures = trees(small, repetitions) + forests(small, repetitions, turns)
    figures += boosting(small, 40, turns)
    figures += trees(data, repetitions) + boosting(data, 12, few)
    figures += bags((small[0][:BAGGED_ROWS], small[1][:BAGGED_ROWS]), repetitions)
    figures += aucs(data, test, threads)
    figures += ceilings(small, threads, [FOREST, BOOSTING]) + ceilings(data, threads, [BOOSTING])
    figures += peaks(small, ["forest of 50 trees"], [1, threads])
    figures += peaks(data, ["tree", "boosting"], [1, threads])
    page = PAGE.format(
        machine=describe(facts, "python -m benchmarks cores"), figures=figure_table(figures),
        summary=targets_met(figures),
        repetitions=repetitions, few=few, turns=turns, n_large=n_large, n_small=len(small[1]),
        n_test=len(test[1]), threads=threads, stages=stages(tree(1), data),
        shared=stages(tree(threads), data), forest=stages(forest(threads), small),
    )  # fmt: skip
    print(page)
    if not quick:
        publish("cores", page, figures, {"machine": facts})
