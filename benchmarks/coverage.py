"""Do intervals and bands hold the truth as often as they say, and how fast are they."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import expon, norm

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
from treerank.metrics import auc_interval, compare_auc, roc_band

AUCS = (0.6, 0.8, 0.95)
SIZES = (100, 1_000)
RUNS, QUICK_RUNS = 2_000, 100
RESAMPLES = 300  # of a band; the default, 2,000, takes seven times as long
LEAST, MOST = 0.93, 0.97
MILLION = 1_000_000
GRID = np.linspace(0.0, 1.0, 201)
COMMAND = "python -m benchmarks coverage"

Floats = NDArray[np.float64]


class Population(NamedTuple):
    """Scores of both classes: how to draw them, and the true curve over false positive rates."""

    draw_negative: Callable[[np.random.Generator, int], Floats]
    draw_positive: Callable[[np.random.Generator, int], Floats]
    curve: Callable[[Floats], Floats]


def binormal(auc: float, deviation: float = 1.0) -> Population:
    """Negatives N(0, 1), positives N(shift, deviation)."""
    shift = norm.ppf(auc) * np.hypot(1.0, deviation)
    return Population(
        lambda rng, n: rng.normal(size=n),
        lambda rng, n: shift + deviation * rng.normal(size=n),
        lambda u: norm.sf((norm.isf(u) - shift) / deviation),
    )


def exponential(auc: float) -> Population:
    """Exponential scores with means 1 and auc / (1 - auc): the curve is a power."""
    mean = auc / (1 - auc)
    return Population(
        lambda rng, n: rng.exponential(size=n),
        lambda rng, n: mean * rng.exponential(size=n),
        lambda u: expon.sf(expon.isf(u), scale=mean),
    )


def part_found(auc: float) -> Population:
    """A share of the positives far above all others, the rest like negatives: a sharp corner."""
    share = 2 * auc - 1
    return Population(
        lambda rng, n: rng.uniform(size=n),
        lambda rng, n: rng.uniform(size=n) + (rng.uniform(size=n) < share),
        lambda u: share + (1 - share) * u,
    )


def graded(auc: float, n_grades: int = 5) -> Population:
    """Five grades, cut from two normal distributions: most pairs of a class are ties."""
    cuts = np.linspace(-1.0, 1.5, n_grades - 1)

    def shares(shift: float) -> Floats:
        return np.diff(norm.cdf(np.concatenate([[-np.inf], cuts, [np.inf]]) - shift))

    def area(shift: float) -> float:
        negative, positive = shares(0.0), shares(shift)
        return float(positive @ (np.cumsum(negative) - negative / 2))

    shift = brentq(lambda t: area(t) - auc, 0.0, 10.0)
    fpr, tpr = (np.append(0.0, np.cumsum(shares(t)[::-1])) for t in (0.0, shift))
    return Population(
        lambda rng, n: np.digitize(rng.normal(size=n), cuts).astype(float),
        lambda rng, n: np.digitize(rng.normal(size=n) + shift, cuts).astype(float),
        lambda u: np.interp(u, fpr, tpr),
    )


# Share of positives, and the population by its AUC.
DESIGNS: dict[str, tuple[float, Callable[[float], Population]]] = {
    "two normal distributions": (0.5, binormal),
    "positives with twice the spread": (0.5, lambda auc: binormal(auc, 2.0)),
    "exponential": (0.5, exponential),
    "five grades": (0.5, graded),
    "some positives far above the rest": (0.5, part_found),
    "one positive in five rows": (0.2, binormal),
}


def hits(design: str, auc: float, n: int, runs: int) -> dict[str, float]:
    """Shares of samples whose interval holds the AUC, and whose band holds the curve."""
    share, population = DESIGNS[design]
    truth = population(auc)
    seed = [list(DESIGNS).index(design), round(1000 * auc), n]
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [n - round(share * n), round(share * n)])
    held = np.zeros(2)
    for _ in range(runs):
        draws = truth.draw_negative(rng, int(np.sum(y == 0))), truth.draw_positive(rng, y.sum())
        s = np.concatenate(draws)
        interval = auc_interval(y, s)
        band = roc_band(y, s, n_resamples=RESAMPLES, random_state=rng.integers(2**31))
        held += interval.lower <= auc <= interval.upper, _holds(band, truth.curve)
    return dict(zip(("interval", "band"), (held / runs).tolist(), strict=True))


def _holds(band: object, curve: Callable[[Floats], Floats]) -> bool:
    """Whether a band holds a continuous curve: at its own corners, from both sides, and between."""
    fpr, lower, upper = (np.asarray(getattr(band, name)) for name in ("fpr", "lower", "upper"))
    inside = (fpr > 0) & (fpr < 1)
    at_corners = curve(fpr[inside])
    if (lower[inside] > at_corners + 1e-12).any() or (upper[inside] < at_corners - 1e-12).any():
        return False
    apart = fpr + np.tile([-1e-12, 1e-12], len(fpr) // 2)
    between = curve(GRID[1:-1])
    low, high = (np.interp(GRID[1:-1], apart, limit) for limit in (lower, upper))
    return bool(((low <= between + 1e-9) & (between <= high + 1e-9)).all())


def paired(auc: float, n: int, runs: int) -> float:
    """Share of samples whose interval of the difference holds 0, for two correlated scores."""
    rng = np.random.default_rng([99, round(1000 * auc), n])
    y = np.repeat([0, 1], n // 2)
    shift = norm.ppf(auc) * np.sqrt(2) * y
    held = 0
    for _ in range(runs):
        common, own = rng.normal(size=n), rng.normal(size=(2, n))
        found = compare_auc(y, *(shift + np.sqrt(0.6) * common + np.sqrt(0.4) * own))
        held += found.lower <= 0 <= found.upper
    return held / runs


def run(quick: bool = False) -> None:
    """Simulate every design; write the page unless quick."""
    facts = machine()
    runs = QUICK_RUNS if quick else RUNS
    mark = fingerprint("metrics")
    cells = [(auc, n) for auc in AUCS for n in SIZES]
    found: dict[str, dict[tuple[float, int], dict[str, float]]] = {}
    for auc, n in sorted(cells, key=lambda cell: cell[1]):
        for design in DESIGNS:
            found.setdefault(design, {})
            key = f"coverage-{mark}-{runs}-{list(DESIGNS).index(design)}-{auc}-{n}"
            found[design][auc, n] = remember(key, lambda d=design, a=auc, m=n: hits(d, a, m, runs))
            print(f"{design}, AUC {auc}, n = {n:,}: {found[design][auc, n]}", flush=True)
    pairs = {cell: paired(*cell, runs) for cell in cells}
    figures = _figures(found, pairs) + _speed(10_000 if quick else MILLION)
    print(figure_table(figures))
    if not quick:
        page = _page(found, pairs, figures, describe(facts, COMMAND), runs)
        record = {d: {f"{a} {n}": v for (a, n), v in of.items()} for d, of in found.items()}
        publish("coverage", page, figures, {"machine": facts, "coverage": record})


def _figures(found, pairs) -> list[Figure]:  # type: ignore[no-untyped-def]
    figures = []
    said = {"interval": "AUC interval", "band": "ROC band"}
    for kind, name in said.items():
        values = {(d, *cell): v[kind] for d, of in found.items() for cell, v in of.items()}
        low, high = min(values, key=values.get), max(values, key=values.get)
        figures += _extremes(name, values[low], values[high], _format(low), _format(high))
    least, most = min(pairs, key=pairs.get), max(pairs, key=pairs.get)
    said = [f"AUC {auc}, n = {n:,}" for auc, n in (least, most)]
    return figures + _extremes("difference of AUCs", pairs[least], pairs[most], *said)


def _extremes(name: str, low: float, high: float, at_low: str, at_high: str) -> list[Figure]:
    return [
        Figure(f"lowest coverage, {name}", 100 * low, "%", 100 * LEAST, "at least", at_low),
        Figure(f"highest coverage, {name}", 100 * high, "%", 100 * MOST, "at most", at_high),
    ]


def _format(where: tuple[str, float, int]) -> str:
    design, auc, n = where
    return f"{design}, AUC {auc}, n = {n:,}"


def _speed(n: int) -> list[Figure]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    s, other = rng.normal(size=(2, n)) + y
    calls = {
        "AUC interval": lambda: auc_interval(y, s),
        "difference of AUCs": lambda: compare_auc(y, s, other),
        "ROC band": lambda: roc_band(y, s),
    }
    # Only the interval has a target.
    return [
        Figure(f"{name} of {n:,} scores", times.cpu, "s", 1.0 if name == "AUC interval" else None)
        for name, times in best_times(calls, 3).items()
    ]


def _page(found, pairs, figures, where: str, runs: int) -> str:  # type: ignore[no-untyped-def]
    cells = [(auc, n) for auc in AUCS for n in SIZES]
    header = ["scores", *(f"AUC {auc}, n = {n:,}" for auc, n in cells)]
    align = "l" + "r" * len(cells)

    def table(kind: str) -> str:
        rows = [[d, *(_mark(of[cell][kind]) for cell in cells)] for d, of in found.items()]
        return markdown_table(header, rows, align)

    differences = markdown_table(header, [["", *(_mark(pairs[c]) for c in cells)]], align)
    return (
        "# Do the intervals contain the truth as often as they claim?\n\n"
        "A 95 % interval should contain the true value in 95 % of all samples; we ask for "
        f"{LEAST:.0%} to {MOST:.0%} on scores of many shapes. {targets_met(figures)}\n\n"
        f"{where}\n\n{figure_table(figures)}\n\n"
        f"## How it was measured\n\n{runs:,} samples of each kind, so that the standard error of a "
        "coverage is about 0.5 %. Values outside the target range are **bold**. Both classes have "
        "the same size except in the last row of each table. Times are processor seconds.\n\n"
        f"## DeLong's interval of the AUC\n\n{table('interval')}\n\n"
        "## The band around the whole ROC curve\n\nA band counts only if the true curve stays "
        f"inside it everywhere; each band uses {RESAMPLES} resampled curves.\n\n"
        f"{table('band')}\n\n"
        "## The difference of two AUCs\n\nTwo scores of the same AUC with a correlation of 0.6 "
        f"within the classes.\n\n{differences}\n"
    )


def _mark(share: float) -> str:
    said = f"{100 * share:.1f} %"
    return said if LEAST <= share <= MOST else f"**{said}**"
