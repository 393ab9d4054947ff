"""What the score depends on: importance of the features and partial dependence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._input.categories import format_level
from treerank._reading.dependence import partial_dependence
from treerank._report._pictures import Picture, widened
from treerank._report._sample import Floats, ScoredRows, responses
from treerank._report._table import RowTable
from treerank._select.quality import ranking_quality
from treerank._trees.ranking_tree import RankTree

MAX_FEATURES = 20  # named in the list of importances
MAX_DRAWN = 6  # drawn in partial dependence
GRID = 16  # values of a number that a model of many trees is asked for
SAMPLE_ROWS = 250  # rows that it is averaged over
PERMUTED_ROWS = 2000
MAX_LEVELS = 12


def importances(model: Any, sample: ScoredRows, seed: int) -> dict[str, Any]:
    """Name the features, most important first, with the spread where there is one."""
    found = getattr(model, "feature_importances_", None)
    spread = getattr(model, "feature_importances_std_", None)
    said = "share of each feature in the gains of the tests"
    if spread is not None:
        said = "mean over the trees of the share of each feature in the gains of the tests"
    if found is None:
        found = _permutation_importance(model, sample, seed)
        said = "loss of AUC or VUS when the column is shuffled"
    order = np.argsort(-np.asarray(found), kind="stable")
    named = order[:MAX_FEATURES]
    longest = max(float(found[order[0]]), 1e-300)
    rows = [
        {
            "name": sample.table.names[j],
            "value": float(found[j]),
            "spread": None if spread is None else float(spread[j]),
            "bar": max(0.0, 100 * float(found[j]) / longest),
        }
        for j in named
    ]
    drawn = [int(j) for j in order[:MAX_DRAWN] if found[j] > 0]
    return {"rows": rows, "said": said, "n_more": len(order) - len(named), "drawn": drawn}


def _permutation_importance(model: Any, sample: ScoredRows, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    rows = _draw(len(sample.table), PERMUTED_ROWS, rng)
    table, code, weight = sample.table.take(rows), sample.code[rows], sample.weight[rows]
    if len(np.unique(code)) < len(model.classes_):
        return np.zeros(len(sample.table.names))
    labels = np.asarray(model.classes_)[code]

    def quality(score: Floats) -> float:
        return ranking_quality(labels, score, model.classes_, weight)

    whole = quality(sample.score[rows])
    shuffled = [
        quality(responses(model, table.with_values_of(j, rng.permutation(len(rows)), table), False))
        for j in range(len(table.names))
    ]
    return whole - np.array(shuffled)


def dependence_pictures(
    model: Any, sample: ScoredRows, features: list[int], seed: int
) -> list[dict[str, Any]]:
    """Draw the mean probability of the top class (or the mean score) over each feature."""
    has_probability = sample.probability is not None and len(model.classes_) == 2
    response = "probability" if has_probability else "score"
    found = []
    for j in features:
        if len(_places_of_grid(sample.table.column(j))) == 0:
            continue  # not one known value to start from
        if isinstance(getattr(model, "tree_", None), RankTree):
            exact = partial_dependence(
                model, sample.rows, j, grid_resolution=60, response=response,
                sample_weight=sample.weight,
            )  # fmt: skip
            grid, mean = exact.grid[0], exact.average
        else:
            grid, mean = _sampled_dependence(model, sample, j, has_probability, seed)
        found.append((sample.table.names[j], grid, mean))
    if not found:
        return []
    ends = [float(m.min()) for *_, m in found], [float(m.max()) for *_, m in found]
    heights = widened(min(ends[0]), max(ends[1]))
    return [_draw_dependence(name, grid, mean, response, heights) for name, grid, mean in found]


def _sampled_dependence(
    model: Any, sample: ScoredRows, j: int, has_probability: bool, seed: int
) -> tuple[NDArray[Any], Floats]:
    """Partial dependence of any model, over a sample of rows and values that occur."""
    places = _places_of_grid(sample.table.column(j))
    rng = np.random.default_rng(seed)
    rows = _draw(len(sample.table), SAMPLE_ROWS, rng)
    copies = sample.table.take(np.tile(rows, len(places)))
    changed = copies.with_values_of(j, np.repeat(places, len(rows)), sample.table)
    response = responses(model, changed, has_probability)
    weight = sample.weight[rows]
    mean = response.reshape(len(places), len(rows)) @ weight / weight.sum()
    return sample.table.column(j)[places], mean


def _places_of_grid(column: NDArray[Any]) -> NDArray[np.intp]:
    """Rows that hold the values of a grid: quantiles of a number, the levels of a category."""
    if column.dtype == object:
        known = np.flatnonzero([value is not None for value in column])
        levels, first, count = np.unique(
            column[known].astype(str), return_index=True, return_counts=True
        )
        often = np.sort(np.argsort(-count, kind="stable")[:MAX_LEVELS])
        return np.asarray(known[first[often]] if len(levels) else known)
    known = np.flatnonzero(~np.isnan(column))
    ranked = known[np.argsort(column[known], kind="stable")]
    if len(ranked) == 0:
        return ranked
    at = np.linspace(0.05, 0.95, GRID) * (len(ranked) - 1)
    chosen = ranked[np.rint(at).astype(np.intp)]
    return chosen[np.unique(column[chosen], return_index=True)[1]]


def _draw(n_rows: int, wanted: int, rng: np.random.Generator) -> NDArray[np.intp]:
    if n_rows <= wanted:
        return np.arange(n_rows)
    return np.sort(rng.choice(n_rows, wanted, replace=False))


def _draw_dependence(
    name: str, grid: NDArray[Any], mean: Floats, response: str, heights: tuple[float, float]
) -> dict[str, Any]:
    reach = heights[1] - heights[0]
    frame: dict[str, Any] = {
        "title": f"Partial dependence of the {response} on {name}",
        "x_label": "",
        "y_label": f"mean {response}",
        "y_range": (heights[0] - 0.06 * reach, heights[1] + 0.06 * reach),
        "width": 320,
        "height": 205,
        "bottom": 26,
    }
    if grid.dtype != object:
        values = grid.astype(float)
        picture = Picture(x_range=(values[0], values[-1]), **frame)
        picture.line(values, mean, "curve")
        return {"name": name, "picture": picture, "levels": [], "n_more": 0}
    levels = [format_level(level) for level in grid[:MAX_LEVELS]]
    places = [(i + 0.5, str(i + 1)) for i in range(len(levels))]
    picture = Picture(x_range=(0, len(levels)), x_ticks=places, **frame)
    picture.dots([at for at, _ in places], mean[: len(levels)], "dot", radius=5)
    return {"name": name, "picture": picture, "levels": levels, "n_more": len(grid) - len(levels)}


def table_names(table: RowTable, model: Any) -> list[str]:
    """Names that the model knows, else those of the table."""
    names = getattr(model, "feature_names_in_", None)
    return table.names if names is None else [str(name) for name in names]
