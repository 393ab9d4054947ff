"""What a focus gains over several draws of every set: our own models, which are quick to fit."""

from functools import partial
from statistics import mean

import numpy as np

from benchmarks.common import (
    Figure,
    describe,
    figure_table,
    machine,
    markdown_table,
    publish,
    remember,
)
from benchmarks.focus import FOCUS, MODELS, OURS, RATES, SEED, divided, judged, own_code
from benchmarks.real_sets import sets

# Neither the draw of the other page, nor those on which the mechanisms were chosen.
SEEDS = tuple(SEED + k for k in range(1, 5))
WHATS = [f"{measure} {rate:g}" for rate in RATES for measure in ("local", "lift")]
# Of one model on one set: what is measured, draw by draw.
Measured = dict[str, list[float]]


def measure(quick: bool) -> dict[str, dict[str, Measured]]:
    """Measures by model and set."""
    names = [name for name, *_ in sets("binary", lambda name: divided(name)[:2], quick)]
    results: dict[str, dict[str, Measured]] = {}
    models = [name + words for name in OURS for words in ("", ", focus")]
    for model in models:
        results[model] = {}
        for name in names:
            draws = [
                remember(
                    f"focus-draws-{seed}-{name}-{model.replace(' ', '_')}-{own_code()}",
                    partial(judged, MODELS[model](), name, seed),
                )
                for seed in (SEEDS[:1] if quick else SEEDS)
            ]
            results[model][name] = {
                what: [draw[what] for draw in draws] for what in (*WHATS, "auc", "most 0.05")
            }
        print(f"{model:25s} {average(results[model], 'local 0.05'):.4f}", flush=True)
    return results


def average(measured: dict[str, Measured], what: str) -> float:
    """Mean over sets and draws."""
    return mean(mean(of_set[what]) for of_set in measured.values())


def gain(results: dict[str, dict[str, Measured]], name: str, what: str) -> tuple[float, float]:
    """Gain of the focus in % of the plain mean, and its standard error over the sets.

    The draws of a set overlap, so that a set is one observation.
    """
    plain, focused = results[name], results[f"{name}, focus"]
    changes = np.array([mean(focused[n][what]) - mean(plain[n][what]) for n in plain])
    unit = 100 / average(plain, what)
    return unit * float(changes.mean()), unit * float(changes.std(ddof=1)) / len(changes) ** 0.5


def table(results: dict[str, dict[str, Measured]]) -> str:
    """Gains and their errors."""
    rows = []
    for name in OURS:
        gains = [gain(results, name, what) for what in WHATS]
        lost = average(results[name], "auc") - average(results[f"{name}, focus"], "auc")
        rows.append([name, *[f"{g:+.1f} ± {error:.1f}" for g, error in gains], f"{lost:.4f}"])
    names = {"local": "local AUC", "lift": "lift"}
    parts = [what.split() for what in WHATS]
    titles = [f"{names[measure]}, {float(rate):.0%}" for measure, rate in parts]
    header = ["model", *titles, "AUC lost"]
    return markdown_table(header, rows, "l" + "r" * (len(header) - 1))


def with_room(results: dict[str, dict[str, Measured]]) -> dict[str, dict[str, Measured]]:
    """Sets on which the plain forest leaves something to be gained, as on the other page."""
    forest = results["RankingForest"]
    kept = [
        name
        for name, found in forest.items()
        if mean(found["local 0.05"]) < 0.98 * mean(found["most 0.05"])
    ]
    return {model: {name: found[name] for name in kept} for model, found in results.items()}


PAGE = """# The top of the list, several draws

How much does `focus={focus}` change at the top, on average over several draws? In percent of the
plain model's mean, with standard errors over the data sets. A single draw of the rows says little
about the top, so our own models, which are quick to fit, are tested on {draws} more draws of the
{n_sets} data sets of [the top of the list](focus.md), in the same way. These draws were not used
for any choice.

{figures}

## All data sets

{everything}

## Data sets with room for improvement

{n_room} data sets on which the plain forest is below 98 % of the highest possible local AUC.

{room}

{machine}
"""


def run(quick: bool) -> None:
    """Measure, print, and unless `quick` write the page."""
    facts = machine()
    results = measure(quick)
    if not results["TreeRank"]:
        print("No set could be had: nothing to compare.")
        return
    room = with_room(results)
    figures = []
    for name in OURS:
        for what in ("local 0.05", "lift 0.05"):
            gained, error = gain(room, name, what)
            words = "local AUC" if "local" in what else "lift"
            figures.append(Figure(f"{name}: {words} at 5 %, gain of the focus", gained, "%", 3.0,
                                  "at least", f"standard error {error:.1f} %"))  # fmt: skip
        lost = average(results[name], "auc") - average(results[f"{name}, focus"], "auc")
        figures.append(Figure(f"{name}: AUC that the focus costs", lost, target=0.01))
    page = PAGE.format(
        focus=FOCUS, draws=len(SEEDS), n_sets=len(results["TreeRank"]),
        figures=figure_table(figures), everything=table(results), room=table(room),
        n_room=len(room["TreeRank"]), machine=describe(facts, "python -m benchmarks focus_draws"),
    )  # fmt: skip
    print(page)
    if not quick:
        publish("focus_draws", page, figures, {"machine": facts, "results": results})
