"""From score to decision: do intervals and corrected figures hold where the truth is known."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import norm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import roc_auc_score

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
from treerank import RankingForest, TreeRank
from treerank.metrics import calibration_slope, calibration_test
from treerank.scoring import Calibrator, Grades, validate

RUNS, QUICK_RUNS = 2_000, 40
SAMPLES, QUICK_SAMPLES = 100, 4
N_BOOT = 40
LEAST, MOST = 0.93, 0.97
BIAS = 0.005
SIZES = (500, 2_000)
RATES = {"one event in five rows": -1.75, "one in twenty": -3.7}
STRATA = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.55, 0.8])
GRID = np.linspace(-6, 6, 4001)
MILLION = 1_000_000
COMMAND = "python -m benchmarks scoring"

Floats = NDArray[np.float64]


def run(quick: bool = False) -> None:
    facts, runs = machine(), QUICK_RUNS if quick else RUNS
    samples = QUICK_SAMPLES if quick else SAMPLES
    key = f"scoring-{fingerprint()}-{runs}"
    bias = {
        name: remember(f"{key}-bias-{k}-{samples}", lambda name=name: _bias(name, samples))
        for k, name in enumerate(PROCEDURES)
    }
    covered = remember(f"{key}-coverage", lambda: _coverage(runs))
    figures = _figures(covered, bias) + _speed(1_000 if quick else MILLION, quick)
    page = _page(covered, bias, figures, describe(facts, COMMAND), runs, samples)
    if quick:
        print(page)
        return
    publish("scoring", page, figures, {"machine": facts, "coverage": covered, "bias": bias})


# --- coverage -------------------------------------------------------------------------------------


def _coverage(runs: int) -> dict[str, dict[str, float]]:
    """Share of runs in which each interval holds the truth, or the test does not reject."""
    found: dict[str, dict[str, float]] = {}
    for said, shift in RATES.items():
        for n in SIZES:
            rng = np.random.default_rng([n, round(-100 * shift)])
            held: dict[str, list[float]] = {}
            for _ in range(runs):
                score = rng.normal(size=n)
                y = rng.random(n) < expit(score + shift)
                for name, value in _one_run(rng, score, y, shift).items():
                    held.setdefault(name, []).append(value)
            found[f"{said}, n = {n:,}"] = {k: float(np.mean(v)) for k, v in held.items()}
    return found


def _one_run(rng: np.random.Generator, score: Floats, y: Any, shift: float) -> dict[str, float]:
    p = expit(score + shift)
    fit = calibration_slope(y, p)
    strata = rng.choice(STRATA, len(y))
    grades = Grades(5).fit(score, y)
    fixed = Grades(cuts=[-0.7, 0.2, 1.0]).fit(score, y)
    return {
        "rate of a fixed grade": _rates_held(fixed, shift),
        "rate of a grade chosen on the same rows": _rates_held(grades, shift),
        "calibration slope": _inside(1.0, fit.slope_limits),
        "calibration intercept": _inside(0.0, fit.intercept_limits),
        "calibration in the large": _inside(0.0, fit.in_the_large_limits),
        "test of calibration, not rejected": float(calibration_test(y, p).p_value > 0.05),
        "the same, seven strata": float(
            calibration_test(rng.random(len(y)) < strata, strata).p_value > 0.05
        ),
    }


def _inside(truth: float, limits: tuple[float, float]) -> float:
    return float(limits[0] <= truth <= limits[1])


def _rates_held(grades: Grades, shift: float) -> float:
    """Share of the grades whose interval holds the true rate."""
    table = grades.columns()
    density = norm.pdf(GRID)
    held = []
    for low, high, lower, upper in zip(
        table["from_score"], table["below_score"], table["lower"], table["upper"], strict=True
    ):
        inside = (low <= GRID) & (high > GRID)
        rate = np.average(expit(GRID[inside] + shift), weights=density[inside])
        held.append(lower <= rate <= upper)
    return float(np.mean(held))


# --- optimism -------------------------------------------------------------------------------------

PROCEDURES: dict[str, tuple[Any, int, int]] = {
    "linear discriminant, 200 x 10": (LinearDiscriminantAnalysis(), 200, 10),
    "linear discriminant, 1,000 x 20": (LinearDiscriminantAnalysis(), 1_000, 20),
    "ranking tree, 500 x 5": (TreeRank(), 500, 5),
    "forest of 10 trees, 500 x 5": (RankingForest(n_estimators=10, oob_score=True), 500, 5),
}


def _bias(name: str, samples: int) -> dict[str, Any]:
    """Mean of estimated less true AUC, over samples.

    What luck the labels of a sample had is known from the true score: its AUC there less that of
    the population has mean 0, and is taken off as a control variate.
    """
    model, n, p = PROCEDURES[name]
    rng = np.random.default_rng([n, p])
    new_X, new_y, new_score = _population(rng, 20_000, p)
    whole = roc_auc_score(new_y, new_score)
    gaps = []
    for k in range(samples):
        X, y, score = _population(rng, n, p)
        found = validate(model, X, y, n_boot=N_BOOT, n_jobs=2, random_state=k)
        fitted = model.fit(X, y)
        scores = getattr(fitted, "score_samples", None) or fitted.decision_function
        truth = roc_auc_score(new_y, scores(new_X))
        luck = roc_auc_score(y, score) - whole
        estimates = (found.apparent, found.corrected, found.corrected_632plus, found.held_out)
        gaps.append([float(e[0]) - truth - luck for e in estimates])
    means, errors = np.mean(gaps, axis=0), np.std(gaps, axis=0, ddof=1) / np.sqrt(samples)
    return {"bias": means.tolist(), "error": errors.tolist()}


def _population(rng: np.random.Generator, n: int, p: int) -> tuple[Floats, Any, Floats]:
    X = rng.normal(size=(n, p))
    score = X[:, 0] + 0.7 * X[:, 1] - 0.5 * X[:, 2] - 1.0
    return X, (rng.random(n) < expit(score)).astype(int), score


# --- figures and page -----------------------------------------------------------------------------


def _figures(covered: Any, bias: Any) -> list[Figure]:
    figures = []
    for kind in next(iter(covered.values())):
        values = {where: of[kind] for where, of in covered.items()}
        low, high = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
        figures += [
            Figure(
                f"lowest coverage, {kind}", 100 * values[low], "%", 100 * LEAST, "at least", low
            ),
            Figure(
                f"highest coverage, {kind}", 100 * values[high], "%", 100 * MOST, "at most", high
            ),
        ]
    for name, found in bias.items():
        for k, estimate in ((1, "optimism-corrected"), (2, ".632+"), (3, "held-out")):
            figures.append(
                Figure(
                    f"bias of the {estimate} AUC, {name}", abs(found["bias"][k]), "", BIAS,
                    "at most", f"standard error {found['error'][k]:.4f}",
                )
            )  # fmt: skip
    return figures


def _speed(n: int, quick: bool) -> list[Figure]:
    rng = np.random.default_rng(0)
    score = rng.normal(size=n)
    y = rng.random(n) < expit(score - 2)
    p = expit(score - 2)
    X, labels, _ = _population(rng, 1_000, 20)
    n_boot = 4 if quick else 200
    calls = {
        f"grades of {n:,} scores": lambda: Grades(10).fit(score, y),
        f"beta calibration of {n:,} rows": lambda: Calibrator().fit(p, y),
        f"test of calibration of {n:,} rows": lambda: calibration_test(y, p),
    }
    figures = [Figure(k, t.cpu, "s") for k, t in best_times(calls, 1 if quick else 2).items()]
    refits = {"refits": lambda: validate(TreeRank(), X, labels, n_boot=n_boot, n_jobs=2)}
    took = best_times(refits, 1 if quick else 2)["refits"]
    said = f"{n_boot} bootstrap refits of a ranking tree, 1,000 x 20, two threads"
    return [*figures, Figure(said, took.wall, "s", 10.0, note=f"{took.cpu:.1f} processor seconds")]


def _page(covered: Any, bias: Any, figures: Any, where: str, runs: int, samples: int) -> str:
    kinds = list(next(iter(covered.values())))
    coverage = markdown_table(
        ["", *covered],
        [[kind, *(_mark(of[kind]) for of in covered.values())] for kind in kinds],
        "l" + "r" * len(covered),
    )
    rows = [
        [name, *(f"{b:+.4f} ± {e:.4f}" for b, e in zip(f["bias"], f["error"], strict=True))]
        for name, f in bias.items()
    ]
    optimism = markdown_table(
        ["procedure", "apparent", "corrected", ".632+", "held out"], rows, "lrrrr"
    )
    return (
        "# Are grades, probabilities and corrected AUCs right?\n\n"
        "Do the intervals of [grades and probabilities](../guide/decisions.md) contain the truth "
        "as often as they claim, and are [optimism-corrected AUCs](../guide/optimism.md) right on "
        f"average? Both are checked on simulated rows, where the truth is known. "
        f"{targets_met(figures)} For trees and forests the corrected AUC is still too high; "
        f"the held-out AUC is closer, and errs on the low side.\n\n{where}\n\n"
        f"{figure_table(figures)}\n\n"
        f"## Coverage\n\nHow often a 95 % interval contains the true value, in {runs:,} samples. "
        f"The target is {LEAST:.0%} to {MOST:.0%}; values outside it are **bold**. The standard "
        "error of a coverage is about 0.5 %.\n\n"
        f"{coverage}\n\n"
        f"## Optimism\n\nEstimated minus true AUC: the mean over {samples} samples and its "
        f"standard error, with {N_BOOT} bootstrap samples each. Both corrections were designed for "
        "regressions. A tree or a forest fits its sample so closely that repeated rows in a "
        "bootstrap sample hide part of the optimism; for these, rely on held-out rows. An "
        "out-of-bag row is scored by about a third of the trees. With ten trees those are too few "
        "to represent the forest, which ranks better than its out-of-bag AUC says."
        f"\n\n{optimism}\n"
    )


def _mark(share: float) -> str:
    said = f"{100 * share:.1f} %"
    return said if LEAST <= share <= MOST else f"**{said}**"
