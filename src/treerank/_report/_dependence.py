"""Partial dependence pictures: the mean response along a feature, and its distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._input.categories import SharedLevels, format_level
from treerank._input.columns import missing_mask
from treerank._input.types import FittedClassifier, Floats
from treerank._reading.dependence import partial_dependence
from treerank._report._pictures import Picture, nice_ticks, short_name, widened
from treerank._report._sample import ScoredRows, responses
from treerank._trees.ranking_tree import RankTree

MAX_DRAWN = 6  # features
GRID = 16  # grid values of a number, for models other than single trees
SAMPLE_ROWS = 250  # rows to average over, for the same models
MAX_LEVELS = 12
LONGEST_NAME = 20  # characters of a level on the axis
FEW_VALUES = 8  # each value is marked if a number has at most this many
DENSITY_BINS = 30
DENSITY_SHARE = 0.25  # height of the distribution relative to that of the curve


@dataclass(frozen=True)
class _Found:
    """Mean response over a grid of values, and the column itself."""

    name: str
    grid: NDArray[Any]
    mean: Floats
    column: NDArray[Any]
    weight: Floats

    @property
    def missing(self) -> float:
        """Share of the rows without a value."""
        return float(self.weight[missing_mask(self.column)].sum() / self.weight.sum())


def dependence_pictures(
    model: FittedClassifier, sample: ScoredRows, features: list[int], seed: int
) -> list[dict[str, Any]]:
    """Draw the mean probability of the top class (or the mean score) along each feature."""
    has_probability = sample.probability is not None and len(model.classes_) == 2
    response = "probability" if has_probability else "score"
    found = []
    for j in features[:MAX_DRAWN]:
        column = sample.table.column(j)
        if len(_places_of_grid(column)) == 0:
            continue  # no known value
        if isinstance(getattr(model, "tree_", None), RankTree):
            exact = partial_dependence(
                model, sample.rows, j, grid_resolution=60, response=response,
                sample_weight=sample.weight,
            )  # fmt: skip
            grid, mean = exact.grid[0], exact.average
        else:
            grid, mean = _sampled_dependence(model, sample, j, has_probability, seed)
        found.append(_Found(sample.table.names[j], grid, mean, column, sample.weight))
    if not found:
        return []
    heights = widened(
        min(float(f.mean.min()) for f in found), max(float(f.mean.max()) for f in found)
    )
    return [_draw_dependence(f, response, heights) for f in found]


def _sampled_dependence(
    model: FittedClassifier, sample: ScoredRows, j: int, has_probability: bool, seed: int
) -> tuple[NDArray[Any], Floats]:
    """Partial dependence of any model, over a sample of rows and observed values."""
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
    """Rows with the values of a grid: quantiles of a number, or levels of a category."""
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
    distinct = ranked[np.unique(column[ranked], return_index=True)[1]]
    if len(distinct) <= GRID:
        return distinct
    chosen = np.unique(column[_spread(ranked, GRID)])
    if len(chosen) < GRID:  # many rows share a value: the others come by their place among values
        others = distinct[~np.isin(column[distinct], chosen)]
        more = _spread(others, GRID - len(chosen))
        chosen = np.sort(np.append(chosen, column[more]))
    return distinct[np.searchsorted(column[distinct], chosen)]


def _spread(ordered: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Choose n members at equal distances, from the 5th percentile to the 95th."""
    at = np.linspace(0.05, 0.95, n) * (len(ordered) - 1)
    return ordered[np.rint(at).astype(np.intp)]


def _draw(n_rows: int, wanted: int, rng: np.random.Generator) -> NDArray[np.intp]:
    if n_rows <= wanted:
        return np.arange(n_rows)
    return np.sort(rng.choice(n_rows, wanted, replace=False))


def _draw_dependence(found: _Found, response: str, heights: tuple[float, float]) -> dict[str, Any]:
    reach = heights[1] - heights[0]
    title = f"Partial dependence of the {response} on {found.name}"
    draw = _draw_levels if found.grid.dtype == object else _draw_numbers
    ends = heights[0] - 0.06 * reach, heights[1] + 0.06 * reach
    n_more = max(len(found.grid) - MAX_LEVELS, 0) if found.grid.dtype == object else 0
    return {
        "name": found.name,
        "picture": draw(found, title, response, ends),
        "n_more": n_more,
        "missing": found.missing,
    }


def _draw_numbers(found: _Found, title: str, response: str, ends: tuple[float, float]) -> Picture:
    """Draw the curve over the values, and their distribution below it."""
    values = found.grid.astype(float)
    floor = ends[0] - DENSITY_SHARE * (ends[1] - ends[0])
    picture = Picture(
        title, "", f"mean {response}", x_range=(values[0], values[-1]),
        y_range=(floor, ends[1]), y_ticks=nice_ticks(*ends), width=320, height=215, bottom=26,
    )  # fmt: skip
    edges = np.linspace(*picture.x_range, DENSITY_BINS + 1)
    known = ~np.isnan(found.column)
    counts, _ = np.histogram(found.column[known], edges, weights=found.weight[known])
    highest = (ends[0] - floor) * 0.9 / max(float(counts.max()), 1e-300)
    for k in np.flatnonzero(counts):
        x, y = (edges[k], edges[k + 1]), (floor, floor + highest * counts[k])
        picture.rectangle(x, y, "density")
    picture.line(values, found.mean, "curve")
    if len(values) <= FEW_VALUES:
        picture.dots(values, found.mean, "dot")
    return picture


def _draw_levels(found: _Found, title: str, response: str, ends: tuple[float, float]) -> Picture:
    """Draw a row for each level, the highest mean first, with a bar for its frequency."""
    often = _weights_of_levels(found)
    shown = np.argsort(-often, kind="stable")[:MAX_LEVELS]
    order = shown[np.argsort(-found.mean[shown], kind="stable")]
    named = [format_level(found.grid[k]) for k in order]
    short = [short_name(name, LONGEST_NAME) for name in named]
    at = np.arange(len(named), 0, -1) - 0.5
    left = int(18 + 6.6 * max(map(len, short)))
    floor = ends[0] - DENSITY_SHARE * (ends[1] - ends[0])
    picture = Picture(
        title, f"mean {response}", "", x_range=(floor, ends[1]), y_range=(0, len(named)),
        x_ticks=nice_ticks(*ends, 3), y_ticks=list(zip(at.tolist(), short, strict=True)),
        full_names=dict(zip(short, named, strict=True)),
        width=320, height=22 * len(named) + 54, left=left, bottom=42,
    )  # fmt: skip
    longest = (ends[0] - floor) * 0.9 / max(float(often.max()), 1e-300)
    for place, n in zip(at, often[order], strict=True):
        picture.rectangle((floor, floor + longest * n), (place - 0.3, place + 0.3), "density")
    picture.dots(found.mean[order], at, "dot", radius=5)
    return picture


def _weights_of_levels(found: _Found) -> Floats:
    """Weight of the rows at each grid value, which may stand for several levels."""
    known = np.array([value is not None for value in found.column], dtype=bool)
    levels, place = np.unique(found.column[known].astype(str), return_inverse=True)
    weights = dict(
        zip(levels.tolist(), np.bincount(place, weights=found.weight[known]).tolist(), strict=True)
    )
    return np.array(
        [
            sum(weights.get(str(v), 0.0) for v in (at if isinstance(at, SharedLevels) else (at,)))
            for at in found.grid
        ]
    )
