"""Importance of the features: the loss of AUC or concordance if a column is shuffled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._binning.binning import BinnedTable
from treerank._input.label_order import label_order_of
from treerank._input.types import FittedClassifier, Floats
from treerank._reading.importance import Importance, importance_by_shuffling
from treerank._reading.tree_sums import tree_sum
from treerank._report._judged import Judged
from treerank._report._sample import ScoredRows, bin_once
from treerank.metrics._concordance import pair_weights, spread_of_ratio
from treerank.metrics._delong import difference_limits
from treerank.metrics._input import OrderedSample
from treerank.plots._scores import ranking_scores
from treerank.scoring._held_out import fit_without_a_fold

MAX_FEATURES = 20  # shuffled and listed, if the model has feature importances
SHUFFLES = 60  # over all columns
MOST_REPEATS = 5
SHUFFLED_ROWS = 2000
LEAST_OF_CLASS = 100  # rows of a class, if it has that many
# Size of the model that is fitted instead of a forest with out-of-bag scores, to have unseen rows.
FITTED_ROWS, FITTED_TREES = 20_000, 50

Score = Callable[[list[int], NDArray[np.intp] | None], Floats]


def importances(model: FittedClassifier, judged: Judged, level: float, seed: int) -> dict[str, Any]:
    """List the features, the most important first, with limits of the loss."""
    rng = np.random.default_rng(seed)
    ranker, rows = _unknown_rows(model, judged, rng)
    described = judged.described
    rows = draw_of_every_class(described.code, rows, SHUFFLED_ROWS, rng)
    columns, unused = _columns_to_shuffle(ranker, described)
    found, n_repeats = _losses(ranker, described, rows, columns, level, rng)
    names = [described.table.names[columns[int(name)]] for name in found.names]
    order = [columns[int(name)] for name in found.names]
    return {
        "rows": _bars(names, found),
        "measure": "AUC" if len(model.classes_) == 2 else "concordance",
        "n_rows": len(rows),
        "is_all_rows": len(rows) == len(described.code),
        "n_repeats": n_repeats,
        "n_unused": unused,
        "n_more": len(described.table.names) - len(columns) - unused,
        "is_refitted": ranker is not model,
        "drawn": [
            j for j, value in zip(order, found.values, strict=True) if value > 0
        ] or order,
    }  # fmt: skip


def _unknown_rows(
    model: Any, judged: Judged, rng: np.random.Generator
) -> tuple[Any, NDArray[np.intp]]:
    """Return a model, and positions of rows that it was not fitted to."""
    described = judged.described
    every = np.arange(len(described.code))
    if judged.held_out is None:
        return model, every
    if judged.held_out.fold is not None:
        return judged.held_out.fold.model, judged.held_out.fold.rows
    used = draw_of_every_class(described.code, every, FITTED_ROWS, rng)
    fold = fit_without_a_fold(
        model,
        described.table.take(used).native,
        label_order_of(model)[described.code[used]],
        described.weight[used] if described.is_weighted else None,
        int(rng.integers(2**31)),
        n_estimators=min(model.n_estimators, FITTED_TREES),
        oob_score=False,
        warm_start=False,
    )
    return (model, every) if fold is None else (fold.model, used[fold.rows])


def draw_of_every_class(
    code: NDArray[np.intp], rows: NDArray[np.intp], wanted: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Draw about this many of the rows, but keep up to 100 rows of rare classes."""
    if len(rows) <= wanted:
        return rows
    drawn = []
    for k in np.unique(code[rows]):
        of_class = rows[code[rows] == k]
        n = max(round(wanted * len(of_class) / len(rows)), min(LEAST_OF_CLASS, len(of_class)))
        drawn.append(rng.choice(of_class, n, replace=False))
    return np.sort(np.concatenate(drawn))


def _columns_to_shuffle(model: FittedClassifier, sample: ScoredRows) -> tuple[list[int], int]:
    """Return the columns with the largest gains, and the number of columns that are not used."""
    n_columns = len(sample.table.names)
    gains = getattr(model, "feature_importances_", None)
    if gains is None:
        return list(range(n_columns)), 0
    used = np.flatnonzero(np.asarray(gains) > 0)
    chosen = used[np.argsort(-np.asarray(gains)[used], kind="stable")][:MAX_FEATURES]
    return chosen.tolist(), n_columns - len(used)


def _losses(
    model: FittedClassifier, sample: ScoredRows, rows: NDArray[np.intp], columns: list[int],
    level: float, rng: np.random.Generator,
) -> tuple[Importance, int]:  # fmt: skip
    n_repeats = int(np.clip(SHUFFLES // max(len(columns), 1), 1, MOST_REPEATS))
    code, weight = sample.code[rows], sample.weight[rows]
    nothing = np.empty(0)
    kind = "loss of AUC"
    if not columns or len(np.unique(code)) < len(model.classes_):
        return Importance([], nothing, nothing, nothing, level, kind), n_repeats
    score = _scores_of(model, sample, rows)
    members = {str(k): [j] for k, j in enumerate(columns)}
    classes = np.arange(len(model.classes_))
    if len(classes) == 2:
        judged = code, classes, weight
        return importance_by_shuffling(score, members, judged, n_repeats, level, rng), n_repeats
    return _lost_concordance(score, members, (code, weight), n_repeats, level, rng), n_repeats


def _scores_of(model: Any, sample: ScoredRows, rows: NDArray[np.intp]) -> Score:
    """Return a function that scores shuffled rows, on codes if the model tests single features."""
    table = sample.table.take(rows)
    if _asks_for_single_features(model):
        known = sample.rows
        is_binned = isinstance(known, BinnedTable) and known.binning is model._binning
        binned = known.take(rows) if is_binned else bin_once(model, table.native)

        def score_codes(at: list[int], order: NDArray[np.intp] | None) -> Floats:
            codes = binned.codes.copy()
            if order is not None:
                codes[at] = codes[at][:, order]
            return ranking_scores(model, replace(binned, codes=codes))

        return score_codes

    def score_rows(at: list[int], order: NDArray[np.intp] | None) -> Floats:
        changed = table if order is None else table.with_values_of(at[0], order, table)
        return ranking_scores(model, changed.native)

    return score_rows


def _asks_for_single_features(model: FittedClassifier) -> bool:
    try:
        tree_sum(model)
    except ValueError:
        return False
    return True


def _lost_concordance(
    score: Score, members: dict[str, list[int]], judged: tuple[NDArray[np.intp], Floats],
    n_repeats: int, level: float, rng: np.random.Generator,
) -> Importance:  # fmt: skip
    """Loss of concordance, which is less uncertain than the VUS if a class is rare."""
    code, weight = judged
    orders = [rng.permutation(len(code)) for _ in range(n_repeats)]
    classes = np.arange(int(code.max()) + 1)

    def sample_of(at: list[int], order: NDArray[np.intp] | None) -> OrderedSample:
        return OrderedSample(classes, code, score(at, order), weight)

    whole = sample_of([], None)
    agreeing, comparable = pair_weights(whole)
    total = float(weight @ comparable)
    limits = []
    for at in members.values():
        lost = np.array([agreeing - pair_weights(sample_of(at, order))[0] for order in orders])
        losses = lost @ weight / total
        value = float(losses.mean())
        spread = spread_of_ratio(lost.mean(axis=0) - value * comparable, total, whole)
        shuffling = losses.var(ddof=1) / n_repeats if n_repeats > 1 else 0.0
        spread = replace(spread, error=float(np.sqrt(spread.error**2 + shuffling)))
        lower, upper = difference_limits(value, spread, level)[:2] if lost.any() else (0.0, 0.0)
        limits.append((value, lower, upper))
    values, lower, upper = np.array(limits).T
    order = np.argsort(-values, kind="stable")
    names = [list(members)[k] for k in order]
    kind = "loss of concordance"
    return Importance(names, values[order], lower[order], upper[order], level, kind)


def _bars(names: list[str], found: Importance) -> list[dict[str, Any]]:
    """Rows of the table, with the bar and its limits in percent of the width."""
    if len(found) == 0:
        return []
    low, high = min(0.0, float(found.lower.min())), max(float(found.upper.max()), 1e-12)

    def at(value: float) -> float:
        return 100 * (value - low) / (high - low)

    return [
        {
            "name": name,
            "value": float(value),
            "lower": float(lower),
            "upper": float(upper),
            "bar": (min(at(0), at(value)), abs(at(value) - at(0))),
            "limits": (at(lower), at(upper)),
            "is_clear": bool(lower > 0),
        }
        for name, value, lower, upper in zip(
            names, found.values, found.lower, found.upper, strict=True
        )
    ]
