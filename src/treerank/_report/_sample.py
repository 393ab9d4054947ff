"""The rows that a model is evaluated on, with their classes, weights and scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from treerank._binning.binning import Binning, bin_table
from treerank._forest import RankingForest
from treerank._input.label_order import by_rank, class_codes, label_order_of
from treerank._input.labels import check_known_labels
from treerank._input.parameters import check_n_jobs
from treerank._input.types import FittedClassifier, Floats, TableLike
from treerank._input.validation import validate_rows
from treerank._report._table import RowTable, fingerprint
from treerank._select.scores import probabilities, ranking_scores, shares_by_rank
from treerank.metrics._input import check_weights
from treerank.scoring._calibrator import cross_calibrate
from treerank.scoring._held_out import HeldOut, held_out_scores
from treerank.scoring._scorecard import Scorecard, unwrap


@dataclass(frozen=True)
class ScoredRows:
    """Rows with their classes, weights, scores and probabilities.

    Attributes
    ----------
    table : RowTable
    rows : table
        The same rows as input of the model; binned once, for models of this library.
    code : array of shape (n_rows,)
        Class numbers, worst class first.
    weight : array of shape (n_rows,)
    score : array of shape (n_rows,)
    probability : array of shape (n_rows, n_classes) or None
        Worst class first.
    given : array of shape (n_rows,)
        Positions of the rows in the table as passed; rows without weight are omitted.
    fingerprint : str
    is_weighted : bool
    target : str
        Name of the labels, if they have one.
    n_given : int
        Number of rows as passed.
    """

    table: RowTable
    rows: Any
    code: NDArray[np.intp]
    weight: Floats
    score: Floats
    probability: Floats | None
    given: NDArray[np.intp]
    fingerprint: str
    is_weighted: bool
    target: str
    n_given: int

    def totals(self, n_classes: int) -> Floats:
        """Weight of each class."""
        totals = np.bincount(self.code, weights=self.weight, minlength=n_classes)
        return np.asarray(totals, dtype=np.float64)


def read_sample(
    model: FittedClassifier,
    X: TableLike,
    y: Any,
    sample_weight: ArrayLike | None,
    name: str = "y",
    target: str | None = None,
) -> ScoredRows:
    """Check rows against the model and score them."""
    check_is_fitted(model)
    if len(getattr(model, "classes_", ())) < 2:
        raise ValueError(
            f"Got a {type(model).__name__} without classes_; expected a fitted classifier of two "
            "or more ordered classes."
        )
    classes = label_order_of(model)
    labels = check_known_labels(y, classes)
    table = RowTable(X)
    if len(labels) != len(table):
        raise ValueError(f"Got {len(labels)} labels in {name} for {len(table)} rows.")
    code = class_codes(labels, classes)
    weight = check_weights(sample_weight, len(code))
    _check_every_class(code[weight > 0], classes, name)
    given = np.flatnonzero(weight > 0)
    mark = fingerprint(table, code, None if sample_weight is None else weight)
    if len(given) < len(code):
        table, code, weight = table.take(given), code[given], weight[given]
    ranker, card = unwrap(model)
    rows = bin_once(ranker, table.native)
    score = ranking_scores(ranker, rows)
    if card is not None and card.calibrator_ is not None:
        probability: Floats | None = by_rank(card.probabilities_of(score), card)
    else:
        probability = class_probabilities(ranker, rows, score)
    weighted = bool((weight != 1).any())
    return ScoredRows(
        table, rows, code, weight, score, probability, given, mark, weighted,
        target_name(y, target), len(labels),
    )  # fmt: skip


def target_name(y: Any, target: str | None = None) -> str:
    """Return the name of the labels; empty if they have none and none is given."""
    if target is not None:
        return str(target)
    name = getattr(y, "name", None)
    return name if isinstance(name, str) else ""


def with_target(target: str, label: Any) -> str:
    """Return a label in words, with the name of the labels if they have one."""
    return f"{target} = {label}" if target else str(label)


def hold_out(
    model: FittedClassifier, training: ScoredRows, cv: Any, seed: int
) -> tuple[ScoredRows, HeldOut]:
    """Replace the scores of training rows by those of models that were fitted without them."""
    labels = label_order_of(model)[training.code]
    weight = training.weight if training.is_weighted else None
    ranker, card = unwrap(model)
    found = held_out_scores(ranker, training.table.native, labels, weight, cv, seed)
    return judged_by(training, found, card), found


def judged_by(training: ScoredRows, found: HeldOut, card: Scorecard | None = None) -> ScoredRows:
    """Return rows with held-out scores, without those that every tree of a forest has drawn."""
    kept = np.flatnonzero(np.isfinite(found.score))
    probability = None
    if card is not None and card.calibrator_ is not None:
        probability = _calibrated_without(card, found.score[kept], training, kept)
    elif found.probability is not None:
        positive = found.probability[kept]
        probability = np.column_stack([1.0 - positive, positive])
    is_whole = len(kept) == len(found.score)
    return replace(
        training,
        table=training.table if is_whole else training.table.take(kept),
        rows=training.rows if is_whole else training.rows.take(kept),
        code=training.code[kept],
        weight=training.weight[kept],
        given=training.given[kept],
        score=found.score[kept],
        probability=probability,
    )


def calibrated_without(sample: ScoredRows, card: Scorecard | None) -> ScoredRows:
    """Cross-calibrate the rows that a scorecard was fitted to, as if they were new."""
    if card is None or card.calibrator_ is None:
        return sample
    every = np.arange(len(sample.code))
    return replace(sample, probability=_calibrated_without(card, sample.score, sample, every))


def _calibrated_without(
    card: Scorecard, score: Floats, rows: ScoredRows, kept: NDArray[np.intp]
) -> Floats:
    assert card.calibrator_ is not None
    positive = rows.code[kept] == 1
    found = cross_calibrate(card.calibrator_, score, positive, rows.weight[kept])
    return np.column_stack([1.0 - found, found])


def responses(model: Any, table: RowTable, has_probability: bool) -> Floats:
    """Probability of the last class, or else the ranking score."""
    if has_probability:
        return probabilities(model, table.native)
    return ranking_scores(model, table.native)


def bin_once(model: Any, X: TableLike) -> Any:
    """Return the rows as input of a model; binned, for models of this library."""
    binning = getattr(model, "_binning", None)
    if not isinstance(binning, Binning):
        return X
    checked = validate_rows(model, X, binning.is_categorical)
    return bin_table(checked, binning, check_n_jobs(model.n_jobs))


def class_probabilities(model: FittedClassifier, rows: Any, score: Floats) -> Floats | None:
    """Probability of each class, worst first; None for a model without probabilities."""
    if not hasattr(model, "predict_proba"):
        return None
    by_value = isinstance(model, RankingForest) and model.aggregation == "posterior"
    if by_value and len(model.classes_) == 2:  # the same numbers without walking the trees again
        positive = np.clip(score + 0.5, 0.0, 1.0)
        return np.column_stack([1.0 - positive, positive])
    return shares_by_rank(model, rows)


def _check_every_class(code: NDArray[np.intp], classes: NDArray[Any], name: str) -> None:
    rows = np.bincount(code, minlength=len(classes))
    if not rows.all():
        there = classes[rows > 0].tolist()
        missing = classes[rows == 0].tolist()
        raise ValueError(
            f"Got {name} with rows of {there} only; expected some of every class, also of "
            f"{missing} (with weight above 0)."
        )
