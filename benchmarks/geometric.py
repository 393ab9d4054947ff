"""Geometric ranking: the speed of the exact distance, and the paper's study on 16 real sets."""

import math
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from benchmarks.common import (
    Figure,
    best_times,
    describe,
    figure_table,
    fingerprint,
    machine,
    markdown_table,
    publish,
    remember,
    targets_met,
)
from benchmarks.geometric_study import KINDS, SETS, StudySet, load, one_sample, rival_sample
from benchmarks.geometric_tables import (
    Results,
    column,
    gain_tables,
    judge,
    metric_table,
    proximity_table,
    sets_table,
    start_table,
)
from treerank import GeometricRanker
from treerank.datasets import BenchmarkUnavailableError

N_SAMPLES = 100
BLOCK = 10  # samples that are kept together, so that a run can go on where it was stopped
LEAVES = (62, 125, 250, 500, 1000, 2000, 4000)
MIDDLE = 500

Floats = NDArray[np.float64]


def boxes(ranker: GeometricRanker) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Lower and upper ends of all leaf boxes (leaves x features), and which are of interest."""
    tree = ranker._source.tree
    leaves = np.flatnonzero(tree.nodes["left"] < 0)
    low = np.full((len(leaves), tree.n_features), -np.inf)
    high = np.full((len(leaves), tree.n_features), np.inf)
    for i, leaf in enumerate(leaves):
        for feature, side in tree.box(int(leaf)).items():
            low[i, feature], high[i, feature] = side.low, side.high
    return low, high, tree.predicted[tree.nodes["leaf"][leaves]] == 1


def project_on_all_leaves(
    X: Floats, low: Floats, high: Floats, interest: NDArray[np.bool_], positive: NDArray[np.bool_]
) -> Floats:
    """Algorithms 1 and 2 of the paper, leaf by leaf, for all rows of the other side at once."""
    squares = np.full(len(X), np.inf)
    for side in (False, True):
        rows = np.flatnonzero(positive == side)
        own = X[rows]
        best = squares[rows]
        for a, b in zip(low[interest != side], high[interest != side], strict=True):
            offset = own - np.clip(own, a, b)
            np.minimum(best, np.einsum("ij,ij->i", offset, offset), out=best)
        squares[rows] = best
    return np.sqrt(squares)


def project_on_tested_features(
    X: Floats, low: Floats, high: Floats, interest: NDArray[np.bool_], positive: NDArray[np.bool_]
) -> Floats:
    """The same by columns, only in the features that a leaf has tested."""
    squares = np.full(len(X), np.inf)
    for side in (False, True):
        rows = np.flatnonzero(positive == side)
        columns = np.ascontiguousarray(X[rows].T)
        best = squares[rows]
        for a, b in zip(low[interest != side], high[interest != side], strict=True):
            total = np.zeros(len(rows))
            for j in np.flatnonzero(np.isfinite(a) | np.isfinite(b)):
                offset = np.maximum(np.maximum(a[j] - columns[j], columns[j] - b[j]), 0)
                total += offset * offset
            np.minimum(best, total, out=best)
        squares[rows] = best
    return np.sqrt(squares)


def speed(quick: bool) -> tuple[list[Figure], str]:
    """The distance beside the projection on all leaves, and its growth with the leaves."""
    n = 5_000 if quick else 100_000
    X, y = make_classification(
        2 * n, 20, n_informative=10, n_redundant=4, n_clusters_per_class=6, class_sep=0.7,
        flip_y=0.1, random_state=0,
    )  # fmt: skip
    X = X.astype(np.float32).astype(np.float64)
    rankers = {}
    for leaves in LEAVES:
        tree = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(X[:n], y[:n])
        rankers[leaves] = GeometricRanker(tree, n_jobs=2).fit(X[:n])
    rows = X[n:]
    took = best_times({str(leaves): partial(r.distance, rows) for leaves, r in rankers.items()}, 5)
    middle = rankers[MIDDLE]
    low, high, interest = boxes(middle)
    scaled = (rows / middle.scale_, low / middle.scale_, high / middle.scale_, interest)
    positive = middle.predict(rows) == 1
    rivals = {
        "all": partial(project_on_all_leaves, *scaled, positive),
        "tested": partial(project_on_tested_features, *scaled, positive),
    }
    took |= best_times(rivals, 1 if quick else 2)
    gap = max(float(np.abs(rival() - middle.distance(rows)).max()) for rival in rivals.values())
    return speed_figures(took, gap, n), growth_table(took, n)


def speed_figures(took: dict[str, Any], gap: float, n: int) -> list[Figure]:
    own = took[str(MIDDLE)].wall
    ratio = took[str(LEAVES[-1])].wall / own
    growth = math.log(took[str(LEAVES[-1])].wall / took[str(LEAVES[0])].wall) / math.log(
        LEAVES[-1] / LEAVES[0]
    )
    return [
        Figure(f"{n:,} rows, {MIDDLE} leaves, two threads: times faster than NumPy's projection on "
               "all leaves", took["all"].wall / own, target=20, bound="at least",
               note=f"{took['all'].wall:.2f} s against {1e3 * own:.0f} ms"),
        Figure("the same beside a projection in the tested features only",
               took["tested"].wall / own, note=f"{took['tested'].wall:.2f} s"),
        Figure("largest difference from the projection", gap, target=1e-12),
        Figure(f"{LEAVES[-1] // MIDDLE} times the leaves: times the seconds", ratio,
               target=LEAVES[-1] / MIDDLE / 2),
        Figure(f"seconds grow as leaves to the power of, {LEAVES[0]} to {LEAVES[-1]:,} leaves",
               growth, target=0.75),
    ]  # fmt: skip


def growth_table(took: dict[str, Any], n: int) -> str:
    rows = [
        [f"{leaves:,}", f"{1e3 * took[str(leaves)].wall:.1f} ms",
         f"{1e9 * took[str(leaves)].cpu / n:.0f} ns"]
        for leaves in LEAVES
    ]  # fmt: skip
    header = ["leaves", f"{n:,} rows, two threads", "processor time a row"]
    return markdown_table(header, rows, "rrr")


def block_of(sample: Callable[..., Any], X: Any, y: Any, seeds: range) -> list[dict[str, Any]]:
    return [sample(X, y, seed) for seed in seeds]


def study_set(found: StudySet, n_samples: int) -> list[dict[str, Any]]:
    """All samples of one set."""
    X, y = load(found)
    samples: list[dict[str, Any]] = []
    start = time.perf_counter()
    for first in range(0, n_samples, BLOCK):
        seeds = range(first, min(first + BLOCK, n_samples))
        key = f"{found.source}-{seeds.start}-{seeds.stop}"
        own = partial(block_of, one_sample, X, y, seeds)
        rival = partial(block_of, rival_sample, X, y, seeds)
        parts = (
            remember(f"geometric-{key}-{fingerprint()}", own),
            remember(f"geometric-nbtree-{key}", rival),  # does not depend on treerank
        )
        samples += [a | b for a, b in zip(*parts, strict=True)]
        print(f"{found.name:14s} {len(samples):4d} samples, "
              f"{time.perf_counter() - start:6.0f} s", flush=True)  # fmt: skip
    return samples


def study(quick: bool) -> tuple[Results, list[str]]:
    """Samples of all sets that can be had; the second list says which cannot."""
    results, skipped = {}, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for found in SETS[:4] if quick else SETS:
            try:
                results[found.name] = study_set(found, 4 if quick else N_SAMPLES)
            except BenchmarkUnavailableError as error:
                skipped.append(found.name)
                print(f"{found.name}: left out. {error}", flush=True)
    return results, skipped


def means(results: Results) -> dict[str, Any]:
    """Mean of every measure, by set and kind of tree."""
    return {
        name: {
            kind: {m: round(float(column(samples, kind, m).mean()), 6) for m in samples[0][kind]}
            for kind in KINDS
        }
        | {"NBTree": round(float(np.mean([sample["NBTree"] for sample in samples])), 6)}
        for name, samples in results.items()
    }


PAGE = """# Geometric ranking: how fast, and do the paper's findings hold?

`GeometricRanker` ranks the cases of a tree by their distance to its decision boundary (I. Alvarez,
S. Bernard, IJCAI 2005). How fast is the exact distance, and do we find what the paper found?
{summary} The paper itself names bupa and ionosphere as data sets on which errors are not close to
the boundary (Table 2), so that geometric ranking has little to gain there.

{machine}

{targets}

## Speed

The rows come from `make_classification({n_rows:_}, 20, n_informative=10, n_redundant=4,
n_clusters_per_class=6, class_sep=0.7, flip_y=0.1, random_state=0)`. One half is used to fit
`DecisionTreeClassifier(max_leaf_nodes=…)` and the metric, the other half to time `distance`,
validation included. The projection in NumPy clips all rows of one side to the box of each leaf on
the other side, in all features; the second variant looks at the tested features only. Both use one
thread, as NumPy does.

{growth}

## The study

{n_sets} data sets with {n_samples} bootstrap samples each, drawn within the classes and divided
into two thirds for training and one third for testing; copies of a row stay on the same side. Trees
are grown by entropy with at least two rows per leaf.

- "Reduced error" trees are grown on two thirds of the training rows and pruned on the rest.
- "Pruned" trees are pruned by J48's own rule in the paper; here by cost-complexity, with alpha
  from five-fold cross-validation.
- The paper does not say which class it ranks first when there are several. Here it is the rarest
  (the last of equally rare ones) or a natural group of classes.
- A tree pruned to one class has no boundary: all its cases tie in the global ranking, and its local
  ranking equals its smoothing.
- The number after ± is the standard error of the mean over the samples.
{skipped}
### Table 1: sets and leaves

{table1}

### Table 2: correct cases are farther from the boundary than errors

Mean distance of correctly classified cases minus that of errors on the test rows (pruned trees,
min-max metric), and lambda, which is the difference divided by its standard error.

{table2}

### Table 3: global ranking minus smoothing

100 times the difference in AUC on the test rows, with the standard metric. Smoothing is the better
of Laplace and m-estimate on each data set. The last two columns compare global ranking of
reduced-error trees with NBTree. Losses are in bold; differences that are not significant at 95 %
are in italics.

{table3}

### Table 4: local ranking minus the same smoothing

{table4}

### Table 5: the start of the ROC curve

The false positive rate up to which global ranking has at least the area under the curve of
smoothing, with 95 % confidence at every smaller rate (pruned trees, in steps of 0.001 up to 0.5).
The paper's own figures were not available to us.

{table5}

### The metric

100 times the AUC of global ranking (pruned trees) with the standard metric, minus that with the
min-max metric. The paper finds differences below 0.2 except on newThyroid, vehicle (0.4) and glass
(0.95).

{metric}
"""


def run(quick: bool) -> None:
    """Measure, print, and unless `quick` write the page."""
    facts = machine()
    figures, growth = speed(quick)
    print(figure_table(figures), growth, sep="\n\n", flush=True)
    results, skipped = study(quick)
    if not results:
        print("No data set is available: nothing to compare.")
        return
    figures += judge(results)
    table3, table4 = gain_tables(results)
    page = PAGE.format(
        machine=describe(facts, "python -m benchmarks geometric"), targets=figure_table(figures),
        summary=targets_met(figures),
        n_rows=10_000 if quick else 200_000, growth=growth, n_sets=len(results),
        n_samples=len(next(iter(results.values()))), table1=sets_table(results),
        table2=proximity_table(results), table3=table3, table4=table4,
        table5=start_table(results), metric=metric_table(results),
        skipped=f"\nLeft out because they were not available: {', '.join(skipped)}.\n"
        if skipped else "",
    )  # fmt: skip
    print(page)
    if not quick:
        publish("geometric", page, figures, {"machine": facts, "means": means(results)})
