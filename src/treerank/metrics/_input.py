"""Checks of the labels, scores and weights that the metrics accept.

Conventions of the whole package: labels are ordered classes, lowest first; with two classes, the
higher one is the positive class; a higher score is better. Rows of weight zero are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from treerank._input.columns import missing_mask
from treerank._input.labels import as_series
from treerank._input.parameters import invalid_parameter
from treerank._input.types import Floats, Indices, Label
from treerank._input.warn import warn

BoolArray = NDArray[np.bool_]

# Integer labels within this range are coded by a table in O(n), the others by sorting.
_MAX_LABEL_TABLE = 65_536


@dataclass(frozen=True, slots=True)
class BinarySample:
    """Rows of two classes with their scores and weights."""

    positive: BoolArray
    score: NDArray[Any]
    weight: Floats

    @property
    def code(self) -> Indices:
        """1 for a positive row, else 0."""
        return self.positive.astype(np.intp)


@dataclass(frozen=True, slots=True)
class OrderedSample:
    """Rows of K ordered classes; `code` is the index of a row's class in `classes`."""

    classes: NDArray[Any]
    code: Indices
    score: NDArray[Any]
    weight: Floats


def check_binary(
    y: ArrayLike,
    s: ArrayLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
    *,
    name: str = "s",
) -> BinarySample:
    """Check labels of two classes against their scores."""
    classes, code = read_labels(y, binary=True)
    score = check_scores(s, code.size, name)
    code, score, weight = _drop_zero_weights(code, score, check_weights(sample_weight, code.size))
    if pos_label is None:
        _check_two_classes(classes, code)
        return BinarySample(code == 1, score, weight)
    matches = np.flatnonzero(classes == pos_label)
    if matches.size != 1:
        raise ValueError(f"Got pos_label={pos_label!r}; expected one of {classes.tolist()}.")
    positive = code == matches[0]
    if positive.all() or not positive.any():
        raise ValueError(f"Got y on one side of pos_label={pos_label!r}; expected both classes.")
    return BinarySample(positive, score, weight)


def check_ordered(
    y: ArrayLike, s: ArrayLike, sample_weight: ArrayLike | None = None, labels: Any = None
) -> OrderedSample:
    """Check labels of two or more ordered classes against their scores."""
    classes, code = read_labels(y, labels)
    score = check_scores(s, code.size)
    code, score, weight = _drop_zero_weights(code, score, check_weights(sample_weight, code.size))
    if classes.size < 2:
        raise ValueError(f"Got y with one class, {classes.tolist()}; expected at least two.")
    rows = np.bincount(code, minlength=classes.size)
    if not rows.all():
        missing = classes[rows == 0].tolist()
        raise ValueError(
            f"Got no row of the classes {missing}; expected rows of every class (of positive "
            "weight): stratify the sample, or leave these classes out of labels."
        )
    return OrderedSample(classes, code, score, weight)


def check_scores(s: ArrayLike, n_rows: int | None = None, name: str = "s") -> NDArray[Any]:
    """Check scores: one number per row, which may be infinite (only their order counts)."""
    score = np.asarray(_unmasked(s))
    if score.ndim != 1:
        raise ValueError(f"Got {name} of shape {score.shape}; expected one score per row (1-D).")
    if score.dtype.kind in "cmM":
        raise ValueError(f"Got {name} of dtype {score.dtype}; expected numbers.")
    if score.dtype.kind not in "iuf":
        try:
            score = score.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"Got {name} of dtype {score.dtype}; expected numbers.") from None
    if n_rows is not None and score.size != n_rows:
        raise ValueError(f"Got {score.size} scores in {name}; expected {n_rows}, one per label.")
    if score.size == 0:
        raise ValueError(f"Got no row in {name}; expected at least one.")
    if score.dtype.kind == "f" and np.isnan(score).any():
        raise ValueError(f"Got NaN in {name} (first: row {_first(np.isnan(score))}); drop it.")
    return score


def check_weights(sample_weight: ArrayLike | None, n_rows: int) -> Floats:
    """Check weights: one finite number >= 0 per row; None means ones."""
    if sample_weight is None:
        return np.ones(n_rows)
    try:
        weight = np.asarray(_unmasked(sample_weight), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"Got sample_weight of type {type(sample_weight).__name__} that does not hold numbers; "
            "expected one number per row."
        ) from None
    if weight.shape != (n_rows,):
        raise ValueError(f"Got sample_weight of shape {weight.shape}; expected ({n_rows},).")
    wrong = ~(np.isfinite(weight) & (weight >= 0))
    if wrong.any():
        row = _first(wrong)
        raise ValueError(f"Got sample_weight={weight[row]} in row {row}; expected a number >= 0.")
    if not weight.any():
        raise ValueError("Got sample_weight of zeros only; expected some weight above 0.")
    return weight


def check_level(level: Any) -> float:
    """Check a confidence level."""
    is_number = isinstance(level, Real)
    if not is_number or not 0 < level < 1:
        raise ValueError(f"Got level={level!r}; expected a number between 0 and 1, such as 0.95.")
    return float(level)


def check_rate(rate: Any, name: str = "rate") -> float:
    """Check a share of the rows."""
    is_number = isinstance(rate, Real)
    if not is_number or not 0 < rate <= 1:
        raise ValueError(f"Got {name}={rate!r}; expected a number above 0 and at most 1.")
    return float(rate)


def read_labels(
    y: ArrayLike, labels: Any = None, *, binary: bool = False
) -> tuple[NDArray[Any], Indices]:
    """Return the ordered classes and the index of each row's class.

    The order is that of `labels`, otherwise of an ordered categorical, otherwise of the values.
    """
    declared = None if labels is None else np.asarray(labels)
    if declared is not None and declared.ndim != 1:
        raise invalid_parameter("labels", labels, "every class once, lowest first")
    series = as_series(y)
    if isinstance(series, nw.Series):
        _check_no_missing(series.is_null().to_numpy())
        if isinstance(series.dtype, (nw.Categorical, nw.Enum)):
            declared = _order_of_categories(series) if declared is None else declared
            y = series.to_list()
    values = np.asarray(_unmasked(y))
    if values.ndim != 1:
        raise ValueError(f"Got y of shape {values.shape}; expected one label per row (1-D).")
    if values.size == 0:
        raise ValueError("Got no row in y; expected at least one per class.")
    _check_no_missing(missing_mask(values))
    classes, code = _sorted_codes(values)
    if declared is not None:
        return declared, _recode(classes, code, declared)
    if classes.size > 2 and not binary and not all(isinstance(c, Real) for c in classes.tolist()):
        warn(
            f"Got text labels in no declared order; took {classes.tolist()} (lowest first). "
            "Pass labels=, an ordered categorical, or numbers to say the order.",
        )
    return classes, code


def _unmasked(values: Any) -> Any:
    """Put None where a masked array hides a value, which NumPy would bring to light."""
    if not isinstance(values, np.ma.MaskedArray) or not np.ma.is_masked(values):
        return values
    shown = np.array(values.data, dtype=object)
    shown[np.ma.getmaskarray(values)] = None
    return shown


def _order_of_categories(series: Any) -> NDArray[Any] | None:
    """Return the categories that occur in declared order, or None for up to two unordered ones."""
    present = set(series.unique().to_list())
    if isinstance(series.dtype, nw.Enum):
        ordered = [level for level in series.dtype.categories if level in present]
        return np.array(ordered)
    if len(present) > 2:
        raise ValueError("Got an unordered categorical y; make it ordered or pass labels=.")
    return None


def _check_no_missing(missing: BoolArray) -> None:
    if missing.any():
        raise ValueError(f"Got a missing label in y (first: row {_first(missing)}); drop it.")


def _sorted_codes(values: NDArray[Any]) -> tuple[NDArray[Any], Indices]:
    """Like `np.unique(values, return_inverse=True)`, but in O(n) for integers in a small range."""
    if values.dtype.kind in "biuf":
        low, high = float(values.min()), float(values.max())
        if max(abs(low), abs(high)) < 2**53 and high - low < _MAX_LABEL_TABLE:
            whole = values.astype(np.int64)
            if values.dtype.kind != "f" or np.array_equal(whole, values):
                offset = whole - int(low)
                present = np.bincount(offset) > 0
                table = np.cumsum(present) - 1
                found = np.flatnonzero(present) + int(low)
                return found.astype(values.dtype), table[offset]
    try:
        classes, code = np.unique(values, return_inverse=True)
    except TypeError:
        kinds = sorted({type(v).__name__ for v in values})
        raise ValueError(f"Got labels of mixed types in y, {kinds}; expected one type.") from None
    return classes, code.astype(np.intp)


def _recode(classes: NDArray[Any], code: Indices, declared: NDArray[Any]) -> Indices:
    """Convert codes in sorted order to codes in the declared order."""
    place = {label: i for i, label in enumerate(declared.tolist())}
    if len(place) != declared.size:
        raise ValueError(f"Got labels={declared.tolist()} with repeats; expected each label once.")
    unknown = [label for label in classes.tolist() if label not in place]
    if unknown:
        raise ValueError(
            f"Got labels={declared.tolist()}, which misses {unknown} of y; list every class, "
            "lowest first."
        )
    return np.array([place[label] for label in classes.tolist()], dtype=np.intp)[code]


def _check_two_classes(classes: NDArray[Any], code: Indices) -> None:
    if classes.size > 2:
        raise ValueError(f"Got y with {classes.size} classes; expected two (or pass pos_label).")
    present = np.unique(code)
    if present.size < 2:
        only = classes[present].tolist()
        raise ValueError(f"Got y with one class, {only}; expected rows of both classes.")


def _drop_zero_weights(
    code: Indices, score: NDArray[Any], weight: Floats
) -> tuple[Indices, NDArray[Any], Floats]:
    keep = weight > 0
    if keep.all():
        return code, score, weight
    return code[keep], score[keep], weight[keep]


def _first(mask: BoolArray) -> int:
    return int(np.argmax(mask))


def read_column(x: Any, name: str) -> NDArray[Any]:
    """Return the column as doubles, or as objects with None for missing values."""
    series = nw.from_native(x, series_only=True, pass_through=True)
    values = series.to_numpy() if isinstance(series, nw.Series) else np.asarray(_unmasked(x))
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"Got {name} of shape {values.shape}; expected one value per row.")
    if values.dtype.kind in "iuf":
        return values.astype(np.float64)
    column = values.astype(object)
    missing = missing_mask(column)
    column[missing] = None
    known = column[~missing].tolist()
    if known and all(isinstance(v, int | float) and not isinstance(v, bool) for v in known):
        return column.astype(np.float64)
    return column
