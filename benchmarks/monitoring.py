"""Monitoring: how often 24 steady months raise an alarm, how soon a decline does, and the time."""

import time
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from benchmarks.common import (
    Figure,
    describe,
    figure_table,
    machine,
    markdown_table,
    publish,
    targets_met,
)
from treerank import TreeRank
from treerank.scoring import Monitoring, monitor

LOOKS, ALPHA = 24, 0.05
RUNS, QUICK_RUNS = 400, 10
# Rows of the baseline, rows of a month, intercept of the log-odds.
SETTINGS = [(2_000, 200, -2.5), (500, 50, -3.0), (1_000, 1_000, -1.0), (300, 100, 0.0)]
MILLION = 1_000_000

PAGE = """# Monitoring: how many false alarms, and how soon a true one?

If nothing changes, how often does [monitoring](../guide/monitoring.md) raise an alarm within
{looks} months? And if the model declines, how soon does it notice? {summary}

{machine}

{targets}

## How it was measured

The rows have one normal column. The log-odds of an event are linear in it, and so is the model,
which is fitted to 5,000 rows. There are {runs} runs of {looks} months each, with one look after
each month, and a level of {alpha:.0%} over all looks and tests together.

## When nothing changes

Share of runs with an alarm in any of the {looks} months. For comparison, the last column tests the
AUC of each month against the baseline at 5 % and does not correct for repeated looks.

{steady}

## When the model declines

From month 13 on, the column has half of its former effect. The table shows the share of runs with
an alarm, and the median number of months until the alarm.

{decline}
"""


def draw(rng: np.random.Generator, n: int, intercept: float, slope: float = 1.0) -> Any:
    """Return a column and labels."""
    x = rng.normal(size=(n, 1))
    return x, (rng.random(n) < expit(intercept + slope * x[:, 0])).astype(int)


def watch(rng: np.random.Generator, setting: tuple[int, int, float], later: float) -> Monitoring:
    """Return what 24 months give whose second year has another slope."""
    n_baseline, n_month, intercept = setting
    model = LogisticRegression(C=1e6).fit(*draw(rng, 5000, intercept))
    half = n_month * LOOKS // 2
    parts = draw(rng, half, intercept), draw(rng, half, intercept, later)
    x, y = (np.concatenate(found) for found in zip(*parts, strict=True))
    months = np.repeat(np.arange(LOOKS), n_month)
    return monitor(model, draw(rng, n_baseline, intercept), (x, y), months, alpha=ALPHA)


def simulate(setting: tuple[int, int, float], runs: int, later: float) -> dict[str, Any]:
    """Return the share of runs with an alarm, by test, and how long it took."""
    rng = np.random.default_rng(SETTINGS.index(setting))
    found = [watch(rng, setting, later) for _ in range(runs)]
    raised = {
        name: float(np.mean([_test(one, name).raised_in is not None for one in found]))
        for name in ("AUC", "calibration", "score")
    }
    months = [int(_test(one, "AUC").raised_in or 99) - 11 for one in found]
    return {
        "setting": setting,
        "any": float(np.mean([one.status == "alarm" for one in found])),
        "plain": float(np.mean([_plain(one) for one in found])),
        "months": float(np.median(months)),
        **raised,
    }


def _test(found: Monitoring, name: str) -> Any:
    return next(test for test in found.tests if test.name == name)


def _plain(found: Monitoring) -> bool:
    """Whether the interval of any month lies below the AUC of the baseline."""
    auc = found.baseline.auc or 0.5
    return any(period.auc is not None and period.auc_limits[1] < auc for period in found.periods)


def million_rows() -> tuple[float, float]:
    """Return seconds and processor seconds for a million new rows of 20 columns, two of text."""
    rng = np.random.default_rng(0)
    n = MILLION + 100_000
    table = pd.DataFrame(rng.normal(size=(n, 18)), columns=[f"x{j}" for j in range(18)])
    table["home"] = rng.choice(["owns", "rents", "family"], n)
    table["region"] = rng.choice([f"region {k}" for k in range(40)], n)
    y = (rng.random(n) < expit(table["x0"] + table["x1"] - 2)).astype(int).to_numpy()
    model = TreeRank(n_jobs=2).fit(table[:20_000], y[:20_000])
    months = rng.integers(0, 12, MILLION)
    start, busy = time.perf_counter(), time.process_time()
    monitor(
        model, (table[20_000:100_000], y[20_000:100_000]), (table[100_000:], y[100_000:]), months
    )
    return time.perf_counter() - start, time.process_time() - busy


def _name(setting: tuple[int, int, float]) -> list[str]:
    rate = np.mean(expit(setting[2] + np.random.default_rng(0).normal(size=100_000)))
    return [f"{setting[0]:,}", f"{setting[1]:,}", f"{rate:.0%}"]


def run(quick: bool) -> None:
    """Measure, print, and unless `quick` write the page."""
    facts = machine()
    runs = QUICK_RUNS if quick else RUNS
    steady = [simulate(setting, runs, later=1.0) for setting in SETTINGS]
    decline = [simulate(setting, runs // 4, later=0.5) for setting in SETTINGS]
    seconds, busy = million_rows()
    figures = [
        Figure("share of runs with a false alarm, worst setting",
               max(one["any"] for one in steady), target=ALPHA),
        Figure("a million rows of 20 columns", busy, "s", 5, note="processor seconds; "
               f"{seconds:.1f} s elapsed"),
    ]  # fmt: skip
    header = ["baseline", "rows per month", "events"]
    page = PAGE.format(
        machine=describe(facts, "python -m benchmarks monitoring"), runs=runs, looks=LOOKS,
        alpha=ALPHA, targets=figure_table(figures), summary=targets_met(figures),
        steady=markdown_table(
            [*header, "any alarm", "AUC", "calibration", "score", "uncorrected test"],
            [
                [*_name(one["setting"]), *(f"{one[k]:.1%}" for k in
                 ("any", "AUC", "calibration", "score", "plain"))]
                for one in steady
            ],
            "rrrrrrrr",
        ),
        decline=markdown_table(
            [*header, "any alarm", "AUC", "calibration", "months until the AUC alarm"],
            [
                [*_name(one["setting"]), *(f"{one[k]:.0%}" for k in ("any", "AUC", "calibration")),
                 f"{one['months']:.0f}" if one["months"] < LOOKS else "not within a year"]
                for one in decline
            ],
            "rrrrrrr",
        ),
    )  # fmt: skip
    print(page)
    if not quick:
        details = {"machine": facts, "steady": steady, "decline": decline}
        publish("monitoring", page, figures, details)
