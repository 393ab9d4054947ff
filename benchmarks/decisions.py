"""Groups, champion and challenger: how often the intervals hold the truth."""

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from benchmarks.common import Figure, describe, figure_table, machine, publish, targets_met
from treerank.scoring import challenge, evaluate_groups

RUNS, QUICK_RUNS = 2_000, 20
N_ROWS, N_TRUTH, N_TRUTHS = 500, 400_000, 3
LOW, HIGH = 0.93, 0.97
NAMES = [
    "AUC within a group minus AUC of the others",
    "cross-group gap",
    "net benefit, challenger minus champion, at a threshold of 30 %",
    "event rate of rows swapped in minus rows swapped out, top 20 %",
]

PAGE = """# Are the intervals for groups and challengers right?

A 95 % interval should contain the true value in 95 % of all samples. Do those of
[`evaluate_groups`](../guide/groups.md) and [`challenge`](../guide/compare.md) do that? The shares
below should lie between {low:.0%} and {high:.0%}. {summary}

{machine}

{targets}

## How it was measured

{runs:,} samples of {rows} rows with two normal columns and two groups, of which one has a weaker
signal and lower values. The champion is a logistic regression on one column, the challenger on
both. The true values come from {truths} samples of {truth:,} rows.
"""


def draw(rng: np.random.Generator, n: int) -> tuple[Any, Any, Any]:
    """Return columns, labels and groups."""
    group = rng.random(n) < 0.4
    x = rng.normal(size=(n, 2))
    x[group, 0] -= 0.3
    signal = np.where(group, 0.7, 1.3) * x[:, 0] + 0.6 * x[:, 1] - 1
    return x, (rng.random(n) < expit(signal)).astype(int), group


def measure(models: list[Any], rng: np.random.Generator, n: int) -> np.ndarray:
    """Return value and limits of each figure, on new rows."""
    x, y, group = draw(rng, n)
    found = evaluate_groups(models[1], x, y, group).groups
    weaker = next(one for one in found if one.name == "True")
    rivals = challenge(models[0], models[1], x[:, [0]], y, X_challenger=x, share=0.2,
                       thresholds=[0.3])  # fmt: skip
    benefit = rivals.net_benefit[0]
    assert weaker.difference_limits is not None
    assert weaker.cross_gap_limits is not None
    assert rivals.swap_limits is not None
    return np.array(
        [
            [weaker.difference, *weaker.difference_limits],
            [weaker.cross_gap, *weaker.cross_gap_limits],
            [benefit.difference, *benefit.difference_limits],
            [rivals.swap_difference, *rivals.swap_limits],
        ],
        dtype=float,
    )


def run(quick: bool) -> None:
    """Measure, print, and unless `quick` write the page."""
    facts = machine()
    rng = np.random.default_rng(0)
    x, y, _ = draw(rng, 5_000)
    models = [LogisticRegression().fit(x[:, [0]], y), LogisticRegression().fit(x, y)]
    truth = np.mean([measure(models, rng, N_TRUTH)[:, 0] for _ in range(N_TRUTHS)], axis=0)
    runs = QUICK_RUNS if quick else RUNS
    found = np.array([measure(models, rng, N_ROWS) for _ in range(runs)])
    holds = ((found[:, :, 1] <= truth) & (truth <= found[:, :, 2])).mean(axis=0)
    figures = [
        Figure(name, float(share), target=bound, bound=side)
        for name, share in zip(NAMES, holds, strict=True)
        for bound, side in ((LOW, "at least"), (HIGH, "at most"))
    ]
    page = PAGE.format(
        machine=describe(facts, "python -m benchmarks decisions"), runs=runs, rows=N_ROWS,
        truth=N_TRUTH, truths=N_TRUTHS, low=LOW, high=HIGH, targets=figure_table(figures),
        summary=targets_met(figures),
    )  # fmt: skip
    print(page)
    if not quick:
        publish("decisions", page, figures, {"machine": facts, "truth": truth.tolist()})
