"""Tables in Markdown: our figures, the paper's in brackets."""

import math
from statistics import mean, stdev

import numpy as np

from benchmarks.common import PAGES, RESULTS, markdown_table
from benchmarks.papers.ordered import TOURNAMENT
from benchmarks.papers.printed import FIGURE_14, Printed, table
from benchmarks.papers.ranks import average_ranks, critical_difference, draw_ranks
from benchmarks.papers.studies import Measures, Results

MEASURES = {
    "auc": "AUC", "local_auc_20": "Local AUC, top 20 %", "local_auc_10": "Local AUC, top 10 %",
    "local_auc_5": "Local AUC, top 5 %", "hit_rate_10": "Hit rate, top 10 %",
    "hit_rate_20": "Hit rate, top 20 %", "average_precision": "Average precision",
    "instability": "Instability",
}  # fmt: skip
Tables = dict[tuple[str, str, str], Printed]


def cell(values: list[float], theirs: Printed | None, digits: int = 3) -> str:
    """Our mean and standard deviation, and the paper's."""
    own = f"{mean(values):.{digits}f}"
    if len(values) > 1:
        own += f" ± {stdev(values):.{digits}f}"
    return own if theirs is None else f"{own} ({format_printed(theirs)})"


def format_printed(theirs: Printed) -> str:
    """What the paper prints."""
    return f"{theirs.value:g}" + ("" if math.isnan(theirs.error) else f" ± {theirs.error:g}")


def measure_table(results: Results, measure: str, printed: Tables, digits: int = 3) -> str:
    """One row a model, one column a set; the paper's value in brackets."""
    models = list(dict.fromkeys(model for found in results.values() for model in found))
    rows = []
    for model in models:
        cells = [
            cell(found[model][measure], printed.get((model, name, measure)), digits)
            if model in found else "" for name, found in results.items()
        ]  # fmt: skip
        rows.append([model, *cells])
    return markdown_table(["model", *results], rows, "l" + "r" * len(results))


def study_tables(results: Results, tables: dict[str, tuple[int, int]]) -> str:
    """All measures of a study; one table each for variants and rivals."""
    first = next(iter(next(iter(results.values())).values()))
    parts = []
    for measure in first:
        one, two = tables[measure.split("_")[0]]
        printed = table(two) | table(one)
        parts.append(f"### {MEASURES[measure]} (Tables {one} and {two})\n")
        parts.append(measure_table(results, measure, printed) + "\n")
    return "\n".join(parts)


def ordered_table(results: Results, number: int) -> str:
    """A table of "The TreeRank Tournament": its own figures on top, then ours and the rivals."""
    printed = table(number, "004")
    tournament = [format_printed(printed[TOURNAMENT, name, "vus"]) for name in results]
    head, rule, *rows = measure_table(results, "vus", printed, digits=4).splitlines()
    top = "| " + " | ".join(["TreeRank Tournament, in the paper", *tournament]) + " |"
    return "\n".join([head, rule, top, *rows])


def rank_table(results: Results, name: str, quick: bool) -> str:
    """Average ranks by AUC, with a picture, of the models that were measured on every set."""
    found = list(results.values())
    models = [model for model in found[0] if all(model in part for part in found)]
    values = np.array([[mean(part[m]["auc"]) for m in models] for part in found])
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


def figure_14_table(found: dict[str, Measures]) -> str:
    """Mean and standard deviation over bootstrap samples."""
    rows = [[model, cell(values["auc"], FIGURE_14[model])] for model, values in found.items()]
    return markdown_table(["model", "AUC, ours (paper's)"], rows, "lr")
