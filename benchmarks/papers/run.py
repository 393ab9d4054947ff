"""One page with the papers' tables, ours beside theirs."""

import math
import sys
import warnings
from statistics import mean, stdev
from typing import Any

import numpy as np

from benchmarks.common import (
    PAGES,
    RESULTS,
    Figure,
    describe,
    figure_table,
    machine,
    markdown_table,
    publish,
)
from benchmarks.papers import studies
from benchmarks.papers.printed import FIGURE_14, Printed, table
from benchmarks.papers.ranks import average_ranks, critical_difference, draw_ranks
from benchmarks.papers.studies import Measures, Results

MEASURES = {
    "auc": "AUC", "local_auc_20": "Local AUC, top 20 %", "local_auc_10": "Local AUC, top 10 %",
    "local_auc_5": "Local AUC, top 5 %", "hit_rate_10": "Hit rate, top 10 %",
    "hit_rate_20": "Hit rate, top 20 %", "average_precision": "Average precision",
    "instability": "Instability",
}  # fmt: skip
RIVALS = ("AdaBoost", "RankBoost", "RankSVM", "RankLS", "PNormPush", "KLR")


def show_progress(text: str) -> None:
    """Rewrite one line of a terminal; print lines elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)


def printed_value(numbers: tuple[int, ...], key: tuple[str, str, str]) -> Printed | None:
    """Look a value up in the first of the tables that has it."""
    return next((table(number)[key] for number in numbers if key in table(number)), None)


def cell(values: list[float], theirs: Printed | None) -> str:
    """Our mean and standard deviation, and the paper's."""
    own = f"{mean(values):.3f}"
    if len(values) > 1:
        own += f" ± {stdev(values):.3f}"
    if theirs is None:
        return own
    error = "" if math.isnan(theirs.error) else f" ± {theirs.error:g}"
    return f"{own} ({theirs.value:g}{error})"


def measure_table(results: Results, measure: str, numbers: tuple[int, ...]) -> str:
    """One row a model, one column a set; the paper's value in brackets."""
    models = list(next(iter(results.values())))
    rows = []
    for model in models:
        cells = [
            cell(found[model][measure], printed_value(numbers, (model, name, measure)))
            for name, found in results.items()
        ]
        rows.append([model, *cells])
    return markdown_table(["model", *results], rows, "l" + "r" * len(results))


def study_tables(results: Results, tables: dict[str, tuple[int, ...]]) -> str:
    """All measures of a study."""
    first = next(iter(next(iter(results.values())).values()))
    parts = []
    for measure in first:
        numbers = tables["instability" if measure == "instability" else measure.split("_")[0]]
        shown = " and ".join(map(str, numbers))
        parts.append(f"### {MEASURES[measure]} (Tables {shown})\n")
        parts.append(measure_table(results, measure, numbers) + "\n")
    return "\n".join(parts)


def rank_table(results: Results, name: str, quick: bool) -> str:
    """Average ranks by AUC, with a picture."""
    models = list(next(iter(results.values())))
    values = np.array([[mean(found[m]["auc"]) for m in models] for found in results.values()])
    ranks = average_ranks(values)
    difference = critical_difference(len(models), len(results))
    folder = RESULTS / "cache" if quick else PAGES
    draw_ranks(models, ranks, difference, folder / f"papers_{name}.png")
    order = np.argsort(ranks, kind="stable")
    rows = [[models[i], f"{ranks[i]:.1f}", f"{values[:, i].mean():.4f}"] for i in order]
    return (
        markdown_table(["model", "average rank", "mean AUC"], rows, "lrr")
        + f"\n\nAt the 95 % level ranks less than {difference:.1f} apart do not differ (Nemenyi).\n"
        + f"\n![Average ranks](papers_{name}.png)\n"
    )


def rivals_reached(results: Results) -> list[Figure]:
    """Count sets on which each rival comes within the ± that the paper prints of its AUC."""
    figures = []
    for model in RIVALS:
        known = [name for name, found in results.items() if model in found]
        reached = 0
        for name in known:
            theirs = table(10)[model, name, "auc"]
            reached += mean(results[name][model]["auc"]) >= theirs.value - theirs.error
        what = f"sets on which {model} reaches its AUC of Table 10"
        note = f"of {len(known)}, within the ± that is printed"
        if known:
            figures.append(Figure(what, reached, "", min(8, len(known)), "at least", note))
    return figures


def best_reached(results: Results) -> Figure:
    """Count sets on which our best forest passes the best variant of Table 5."""
    reached = 0
    for name, found in results.items():
        theirs = max(v.value for (_, s, m), v in table(5).items() if (s, m) == (name, "auc"))
        forests = [model for model in found if model.startswith(("RankingForest", "RF", "Bagg"))]
        reached += max(mean(found[model]["auc"]) for model in forests) >= theirs - 0.0005
    what = "sets on which our best forest reaches the best variant of Table 5"
    return Figure(what, reached, "", min(8, len(results)), "at least", f"of {len(results)}")


def figure_14_table(found: dict[str, Measures]) -> str:
    """Mean and standard deviation over bootstrap samples."""
    rows = [[model, cell(values["auc"], FIGURE_14[model])] for model, values in found.items()]
    return markdown_table(["model", "AUC, ours (paper's)"], rows, "lr")


PAGE = """# The papers' tables

{machine}

Ours first, mean and standard deviation over samples or folds; in brackets what the paper prints.
Rivals stand on the same preparation of the columns (one column a level, medians for gaps, standard
scale), and their parameters are chosen by five folds inside the rows they learn from. Forests are
not pruned here. The simulated sets are ours: the paper does not print its parameters. Instability
is Spearman's distance scaled to [0, 1]; the paper's is on another scale. The ± that the paper calls
a standard error is the spread over ten folds, so that to be within it is not hard.

## Against the targets

{targets}

## Ten real sets (paper 003)

{uci_ranks}
{uci}
## Three pairs of Gaussians (paper 003)

{gaussians_ranks}
{gaussians}
## Fig. 14 of paper 000: breast cancer, bootstrap samples

{figure_14}
"""


def run(quick: bool) -> None:
    """Measure what is not yet measured, print, and unless `quick` write the page."""
    facts = machine()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        uci = studies.uci(quick, show_progress)
        gaussians = studies.gaussians(quick, show_progress)
        fig_14 = studies.figure_14(quick, show_progress)
        ordinal = studies.ordinal(quick, show_progress)
    if not uci or not fig_14:
        print("The real sets could not be had: nothing to compare.")
        return
    figures = [best_reached(uci), *rivals_reached(uci)]
    tables = {"auc": (5, 10), "local": (5, 10), "hit": (6, 11), "average": (6, 11)}
    simulated = {"auc": (2, 7), "local": (2, 7), "hit": (3, 8), "average": (3, 8),
                 "instability": (4, 9)}  # fmt: skip
    page = PAGE.format(
        machine=describe(facts, "make papers"), targets=figure_table(figures),
        uci_ranks=rank_table(uci, "uci", quick), uci=study_tables(uci, tables),
        gaussians_ranks=rank_table(gaussians, "gaussians", quick),
        gaussians=study_tables(gaussians, simulated), figure_14=figure_14_table(fig_14["wdbc"]),
    )  # fmt: skip
    print(page)
    if not quick:
        details: dict[str, Any] = {
            "machine": facts, "uci": uci, "gaussians": gaussians, "figure_14": fig_14,
            "ordinal": ordinal,
        }  # fmt: skip
        publish("papers", page, figures, details)
