"""Tables of a comparison over sets: means, average ranks, wins and losses."""

from collections.abc import Iterable, Sequence
from statistics import mean

import numpy as np

from benchmarks.common import markdown_table
from benchmarks.papers.ranks import average_ranks, critical_difference

OURS = ("TreeRank", "RankingForest", "BoostedTreeRank")
HEADERS = {
    "auc": "AUC", "vus": "VUS", "local_auc_5": "local AUC, top 5 %",
    "local_auc_10": "top 10 %", "local_auc_20": "top 20 %",
}  # fmt: skip
Results = dict[str, dict[str, dict[str, float]]]  # set -> model -> measures


def models_of(results: Results) -> list[str]:
    """The models, in their order."""
    return list(next(iter(results.values())))


def means(results: Results, what: str) -> dict[str, float]:
    """Mean of one measure over the sets, by model."""
    return {
        model: mean(found[model][what] for found in results.values())
        for model in models_of(results)
    }


def critical(results: Results) -> float:
    """Difference of average ranks from which on models differ."""
    return critical_difference(len(models_of(results)), len(results))


def summary(results: Results, measures: list[str]) -> str:
    """One row a model, by falling mean of the first measure; the best of a column in bold."""
    models, first = models_of(results), measures[0]
    values = np.array([[found[m][first] for m in models] for found in results.values()])
    rank = dict(zip(models, average_ranks(values), strict=True))
    mean_of = {what: means(results, what) for what in [*measures, "fit", "score"]}
    header = ["model", *[HEADERS[what] for what in measures],
              f"average rank by {HEADERS[first]}", "fit, seconds", "scores, seconds"]  # fmt: skip
    rows = []
    for model in sorted(models, key=lambda m: -mean_of[first][m]):
        cells = [
            _bold(f"{mean_of[what][model]:.4f}", mean_of[what][model], mean_of[what].values())
            for what in measures
        ]
        cells.append(f"{rank[model]:.2f}")
        cells += [f"{mean_of[what][model]:.3f}" for what in ("fit", "score")]
        rows.append([_name(model), *cells])
    return markdown_table(header, rows, "l" + "r" * (len(header) - 1))


def duels(results: Results, what: str, rivals: Sequence[str] | None = None) -> str:
    """Each of ours against each rival, or some of them: wins, losses, and the mean lead."""
    rivals = rivals or [model for model in models_of(results) if model not in OURS]
    rows = [[rival, *_duels_of(results, what, rival)] for rival in rivals]
    return markdown_table(["won : lost against", *map(_name, OURS)], rows, "lrrr")


def duels_with(rival: str, results: dict[str, Results]) -> str:
    """Each of ours against one rival, by measure."""
    rows = [[HEADERS[w], *_duels_of(found, w, rival)] for w, found in results.items()]
    return markdown_table([f"won : lost against {rival}", *map(_name, OURS)], rows, "lrrr")


def _duels_of(results: Results, what: str, rival: str) -> list[str]:
    cells = []
    for own in OURS:
        leads = [found[own][what] - found[rival][what] for found in results.values()]
        won, lost = sum(lead > 0 for lead in leads), sum(lead < 0 for lead in leads)
        cells.append(f"{won} : {lost} ({mean(leads):+.4f})")
    return cells


def by_set(results: Results, what: str, shown: Sequence[str] | None = None) -> str:
    """One row a set; of all models, or of those `shown` that there are."""
    models = [m for m in shown or models_of(results) if m in models_of(results)]
    rows = []
    for name, found in results.items():
        values = [found[model][what] for model in models]
        rows.append([name, *[_bold(f"{v:.4f}", v, values) for v in values]])
    return markdown_table(["set", *map(_name, models)], rows, "l" + "r" * len(models))


def _bold(text: str, value: float, among: Iterable[float]) -> str:
    return f"**{text}**" if value == max(among) else text


def _name(model: str) -> str:
    return f"`{model}`" if model in OURS else model
