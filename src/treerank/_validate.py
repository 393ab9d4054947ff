"""Validate: a person's table, labels and weights become columns the binner can take."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from treerank import _core

Levels = list[Any]


@contextmanager
def all_or_nothing(estimator: object) -> Iterator[None]:
    """Leave the estimator as it was when the block fails."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


@dataclass(frozen=True)
class Column:
    """One column of a data frame, or one column of an array that holds categories."""

    name: str
    values: NDArray[np.float64] | Levels  # numbers, or one level a row

    @property
    def is_categorical(self) -> bool:
        """Whether the column holds levels rather than numbers."""
        return isinstance(self.values, list)


@dataclass(frozen=True)
class Table:
    """The features, either as one array of numbers or column by column."""

    n_rows: int
    names: list[str]
    matrix: NDArray[Any] | None  # float64 or float32
    columns: list[Column]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.names)

    @property
    def is_categorical(self) -> NDArray[np.uint8]:
        """One flag a column: levels rather than numbers."""
        if self.matrix is not None:
            return np.zeros(self.n_features, dtype=np.uint8)
        return np.array([column.is_categorical for column in self.columns], dtype=np.uint8)


@dataclass(frozen=True)
class Weights:
    """Sample weights as integers.

    `repeats`: small whole weights, one byte a row; `units`: anything else, in
    fixed point, `scale` units to a weight of 1. Both None: every row counts once.
    """

    repeats: NDArray[np.uint8] | None = None
    units: NDArray[np.int64] | None = None
    scale: float = 1.0

    @property
    def as_units(self) -> NDArray[np.int64] | None:
        """Whole numbers whatever the form; None when every row counts once."""
        return self.repeats.astype(np.int64) if self.repeats is not None else self.units


@dataclass(frozen=True)
class TrainingData:
    """What `fit` works on."""

    table: Table
    labels: NDArray[np.uint8]  # class numbers
    classes: NDArray[Any]
    weights: Weights
    given_rows: int
    kept: NDArray[np.intp]  # numbers of the given rows that have weight


def validate_training_data(
    estimator: Any, X: Any, y: Any, sample_weight: Any, categorical_features: Any
) -> TrainingData:
    """Check everything that enters `fit`; set the names and number of features."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    given_rows, matrix, frame = _open_table(estimator, X, reset=True)
    labels, classes = _check_labels(y, given_rows)
    weight = _check_weights(sample_weight, given_rows)
    kept = np.arange(given_rows) if weight is None else np.flatnonzero(weight)
    n_rows = len(kept)
    if weight is not None and n_rows < given_rows:
        labels, weight = labels[kept], weight[kept]
        matrix = matrix[kept] if matrix is not None else None
        frame = frame[kept.tolist()] if frame is not None else None
    counts = np.bincount(labels, minlength=len(classes))
    if not counts.all():
        raise ValueError(
            f"Got no row of positive weight with class {classes[int(np.argmin(counts))]!r}; "
            "expected some of every class."
        )
    if n_rows > _core.MAX_ROWS:
        raise ValueError(f"Got {n_rows:,} rows; expected at most {_core.MAX_ROWS:,}.")
    names = _feature_names(estimator, frame)
    wanted = _wanted_categories(categorical_features, names)
    table = _make_table(n_rows, names, matrix, frame, wanted)
    return TrainingData(table, labels, classes, _quantise(weight), given_rows, kept)


def validate_rows(estimator: Any, X: Any, is_categorical: Sequence[bool]) -> Table:
    """Check rows to be scored against what the estimator was fitted to."""
    n_rows, matrix, frame = _open_table(estimator, X, reset=False)
    names = _feature_names(estimator, frame)
    wanted = {j for j, flag in enumerate(is_categorical) if flag}
    return _make_table(n_rows, names, matrix, frame, wanted, fitted=True)


def _feature_names(estimator: Any, frame: nw.DataFrame[Any] | None) -> list[str]:
    names = getattr(estimator, "feature_names_in_", None)
    if names is None and frame is not None:  # a data frame whose names are not text
        names = frame.columns
    if names is None:
        return [f"x{j}" for j in range(estimator.n_features_in_)]
    return [str(name) for name in names]


def _open_table(
    estimator: Any, X: Any, *, reset: bool
) -> tuple[int, NDArray[Any] | None, nw.DataFrame[Any] | None]:
    """Return (rows, array, frame); one of the last two is None."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if len(frame) == 0 or frame.shape[1] == 0:
            raise ValueError(
                f"Got a table of {len(frame)} rows and {frame.shape[1]} columns: "
                f"0 sample(s) or 0 feature(s) (shape={frame.shape}) while a minimum of 1 "
                "is required."
            )
        return len(frame), None, frame
    _refuse_text(X)
    matrix = validate_data(
        estimator, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan"
    )
    if matrix.shape[1] > _core.MAX_FEATURES:
        raise ValueError(
            f"Got {matrix.shape[1]:,} features; expected at most {_core.MAX_FEATURES:,}."
        )
    return len(matrix), matrix, None


def _refuse_text(X: Any) -> None:
    """Text in a plain array is refused: it does not say which columns are categories."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "US":
        raise ValueError(
            f"Got an array of text (dtype {X.dtype}); expected numbers. Pass a data frame, whose "
            "text columns are taken as categories."
        )


def _check_labels(y: Any, n_rows: int) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    y = column_or_1d(_labels_as_array(y), warn=True)
    if len(y) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: "
            f"{n_rows} rows of X, {len(y)} labels."
        )
    missing = _is_missing(y)
    if missing.any():
        raise ValueError(
            f"Input y contains NaN or missing labels in {missing.sum():,} of {n_rows:,} rows "
            f"(first: row {int(np.argmax(missing))}); drop those rows."
        )
    check_classification_targets(y)
    try:
        classes, labels = np.unique(y, return_inverse=True)
    except TypeError:
        raise ValueError(
            "Got labels of several types that have no order; expected numbers or text throughout."
        ) from None
    if len(classes) > 2:
        shown = ", ".join(map(repr, classes[:6].tolist())) + (", …" if len(classes) > 6 else "")
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass. "
            f"Got {len(classes)} classes: {shown}."
        )
    if len(classes) < 2:
        raise ValueError(
            f"Got one class only, {classes.tolist()!r}; expected labels of two classes."
        )
    return labels.astype(np.uint8), classes


def _labels_as_array(y: Any) -> Any:
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        is_text = series.dtype in (nw.Categorical, nw.Enum, nw.String, nw.Object)
        if is_text or series.null_count() > 0:
            return np.array(series.to_list(), dtype=object)
        return series.to_numpy()
    array = np.asarray(y) if not hasattr(y, "toarray") else y
    return check_array(
        array, ensure_2d=False, allow_nd=False, dtype=None, ensure_all_finite=False,
        ensure_min_samples=0, input_name="y",
    )  # fmt: skip


def _is_missing(y: NDArray[Any]) -> NDArray[np.bool_]:
    if y.dtype.kind == "f":
        return np.asarray(np.isnan(y))
    if y.dtype == object:
        # None and NaN, and pandas' NA, which does not compare.
        return np.array([v is None or str(v) in ("nan", "<NA>", "NaT") for v in y], dtype=bool)
    return np.zeros(len(y), dtype=bool)


def _check_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.ndim > 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight.shape == {weight.shape}, expected ({n_rows},): one weight a row."
        )
    if not np.isfinite(weight).all():
        raise ValueError("Input sample_weight contains NaN or infinity; expected finite weights.")
    if (weight < 0).any():
        row = int(np.argmax(weight < 0))
        raise ValueError(
            f"Got sample_weight[{row}]={weight[row]:g}; expected weights that are not negative "
            "(Negative values in data passed to `sample_weight`)."
        )
    if not weight.any():
        raise ValueError("Got sample_weight of zeros only; expected some positive weight.")
    return weight


def _quantise(weight: NDArray[np.float64] | None) -> Weights:
    """Whole weights stand for repeated rows; others are relative, and average 1.

    The fixed point keeps the total below 2^52, so that every sum of weights is exact
    and does not depend on its order.
    """
    if weight is None or (weight == 1).all():
        return Weights()
    if (weight == np.rint(weight)).all() and weight.sum() < 2.0**52:
        if weight.max() <= _core.MAX_REPEAT:
            return Weights(repeats=weight.astype(np.uint8))
        return Weights(units=weight.astype(np.int64))
    weight = weight / weight.mean()
    scale = 2.0 ** np.floor(np.log2(2.0**51 / len(weight)))
    units = np.maximum(np.rint(weight * scale), 1.0).astype(np.int64)
    return Weights(units=units, scale=float(scale))


def _wanted_categories(categorical_features: Any, names: list[str]) -> set[int] | None:
    """Numbers of the columns that the user calls categories; None: by dtype."""
    if isinstance(categorical_features, str) and categorical_features == "from_dtype":
        return None
    if categorical_features is None:
        return set()
    wanted = np.asarray(categorical_features)
    error = ValueError(
        f"Got categorical_features={categorical_features!r}; expected 'from_dtype', None, or "
        f"names, positions or a mask of the {len(names)} features."
    )
    if wanted.ndim != 1:
        raise error
    if wanted.dtype == bool:
        if len(wanted) != len(names):
            raise error
        return set(np.flatnonzero(wanted).tolist())
    if wanted.dtype.kind in "iu":
        if len(wanted) and not (wanted.min() >= 0 and wanted.max() < len(names)):
            raise error
        return set(wanted.tolist())
    if not set(map(str, wanted)) <= set(names):
        raise error
    return {names.index(str(name)) for name in wanted}


def _make_table(
    n_rows: int,
    names: list[str],
    matrix: NDArray[Any] | None,
    frame: nw.DataFrame[Any] | None,
    wanted: set[int] | None,
    fitted: bool = False,
) -> Table:
    if matrix is not None and not wanted:
        return Table(n_rows, names, matrix, [])
    columns = []
    for j, name in enumerate(names):
        if matrix is not None:
            assert wanted is not None
            values = matrix[:, j]
            columns.append(Column(name, values.tolist() if j in wanted else values))
        else:
            assert frame is not None
            columns.append(_frame_column(frame[:, j], name, j, wanted, fitted))
    return Table(n_rows, names, None, columns)


def _frame_column(
    series: nw.Series[Any], name: str, j: int, wanted: set[int] | None, fitted: bool
) -> Column:
    dtype = series.dtype
    is_text = dtype in (nw.Categorical, nw.Enum, nw.String, nw.Boolean)
    if dtype == nw.Object:
        is_text = _object_holds_text(series, name)
    if not is_text and dtype != nw.Object and not dtype.is_numeric():
        raise ValueError(
            f"Column {name!r} has type {dtype}; expected numbers, text, booleans or categories. "
            "Turn it into a number (for a date: days since a fixed day) or drop it."
        )
    as_category = (is_text if wanted is None else j in wanted) or (not fitted and is_text)
    if as_category:
        return Column(name, series.to_list())
    if is_text:
        raise ValueError(
            f"Column {name!r} has {dtype} values; expected numbers, as in the data the model was "
            "fitted to."
        )
    if dtype == nw.Object:
        values = np.array([np.nan if v is None else v for v in series.to_list()], dtype=float)
    else:
        values = series.cast(nw.Float64).to_numpy()
    if np.isinf(values).any():
        row = int(np.argmax(np.isinf(values)))
        raise ValueError(
            f"Column {name!r} contains infinity in {np.isinf(values).sum():,} of {len(values):,} "
            f"rows (first: row {row}); replace it by a number, or by NaN for missing."
        )
    return Column(name, np.ascontiguousarray(values, dtype=np.float64))


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and np.isnan(value)


def _object_holds_text(series: nw.Series[Any], name: str) -> bool:
    """Whether a column of Python objects is text; numbers mixed with text are refused."""
    values = [v for v in series.to_list() if not (v is None or _is_nan(v))]
    is_text = [isinstance(v, str | bool | np.bool_) for v in values]
    if all(is_text):
        return True
    if any(is_text):
        rows = [i for i, v in enumerate(series.to_list()) if isinstance(v, str | bool | np.bool_)]
        first = series.to_list()[rows[0]]
        raise ValueError(
            f"Column {name!r} has text in {len(rows):,} of {len(series):,} rows (first: row "
            f"{rows[0]}, {first!r}); clean it or make it a category."
        )
    return False


def warn_of_identifiers(name: str, n_levels: int, n_rows: int) -> None:
    """Warn when a column has a level per row: it is a name, not a category."""
    if n_levels == n_rows and n_rows > 20:
        warnings.warn(
            f"Column {name!r} has a level of its own in each of {n_rows:,} rows: it looks like an "
            "identifier. Drop it, or turn it into numbers.",
            UserWarning,
            stacklevel=2,
        )
