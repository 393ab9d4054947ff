"""Validation of the user's table, labels and weights, which become columns ready for binning."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import assert_all_finite, validate_data

from treerank import _core
from treerank._device.numbers import DeviceNumbers
from treerank._input.class_weight import with_class_weight
from treerank._input.columns import Column, frame_column
from treerank._input.device_arrays import check_finite, numbers_on_device, values_here
from treerank._input.frames import few_rows
from treerank._input.labels import check_labels
from treerank._input.option_types import CategoricalFeatures
from treerank._input.parameters import check_n_jobs, listed
from treerank._input.readable import open_readable
from treerank._input.text_arrays import open_text_array, text_array_column
from treerank._input.types import LabelOrder, TableLike
from treerank._input.weights import Weights, check_weights, quantise

# Scanning up to this many numbers takes less time than starting another thread.
VALUES_PER_THREAD = 1 << 20


@contextmanager
def all_or_nothing(estimator: object) -> Iterator[None]:
    """Restore the attributes of the estimator if the block fails."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


@dataclass(frozen=True)
class Table:
    """The features, either as one numeric array or column by column."""

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
        """Whether each column holds levels rather than numbers."""
        if self.matrix is not None:
            return np.zeros(self.n_features, dtype=np.uint8)
        return np.array([column.is_categorical for column in self.columns], dtype=np.uint8)

    def take(self, rows: NDArray[np.intp]) -> Table:
        """Return the rows at these positions."""
        matrix = None if self.matrix is None else self.matrix[rows]
        columns = [column.take(rows) for column in self.columns]
        return Table(len(rows), self.names, matrix, columns)


class DeviceRowsTable(Table):
    """Numbers in the memory of a device; copied to the host when `matrix` is accessed."""

    def __init__(self, names: list[str], numbers: DeviceNumbers) -> None:
        self.__dict__.update(n_rows=len(numbers), names=names, columns=[], numbers=numbers)

    numbers: DeviceNumbers

    @property
    def matrix(self) -> NDArray[Any]:
        """All numbers, in host memory."""
        return self.numbers.host


@dataclass(frozen=True)
class TrainingSize:
    """Size and classes of the training rows, wherever the rows are."""

    table: Table  # names and number of rows
    classes: NDArray[Any]


@dataclass(frozen=True)
class TrainingData(TrainingSize):
    """The validated input of `fit`."""

    labels: NDArray[np.uint8]  # class numbers, worst class first
    weights: Weights
    given_rows: int
    kept: NDArray[np.intp] | slice  # which of the given rows have positive weight

    @cached_property
    def class_rows(self) -> NDArray[np.int64]:
        """Number of rows of each class."""
        return _core.count_labels(self.labels, len(self.classes))


def validate_training_data(
    estimator: Any,
    X: TableLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    categorical_features: CategoricalFeatures,
    *,
    label_order: LabelOrder = None,
    max_classes: int = _core.MAX_CLASSES,
) -> TrainingData:
    """Validate all input of `fit`; set the names and number of features of the estimator."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    given_rows, matrix, frame = _open_table(estimator, X, reset=True)
    y, sample_weight = (values_here(estimator, values) for values in (y, sample_weight))
    labels, classes = check_labels(y, given_rows, label_order, max_classes)
    weight = check_weights(sample_weight, given_rows)
    class_weight = getattr(estimator, "class_weight", None)
    weight = with_class_weight(class_weight, labels, classes, weight)
    kept: NDArray[np.intp] | slice = slice(None)
    n_rows = given_rows if weight is None else int(np.count_nonzero(weight))
    if weight is not None and n_rows < given_rows:
        kept = np.flatnonzero(weight)
        labels, weight = labels[kept], weight[kept]
        if isinstance(matrix, DeviceNumbers):
            matrix = matrix.rows(kept.astype(np.uint32))
        elif matrix is not None:
            matrix = matrix[kept]
        frame = frame[kept.tolist()] if frame is not None else None
    check_rows_of_classes(labels, classes)
    names = feature_names(estimator, frame)
    wanted = wanted_categories(categorical_features, names)
    table = _make_table(n_rows, names, matrix, frame, wanted)
    return TrainingData(table, classes, labels, quantise(weight), given_rows, kept)


def check_rows_of_classes(labels: NDArray[np.uint8], classes: NDArray[Any]) -> None:
    """Check that every class has rows of positive weight, and that there are not too many rows."""
    counts = _core.count_labels(labels, len(classes))
    if not counts.all():
        lacking = classes.tolist()[int(np.argmin(counts))]
        raise ValueError(
            f"Got no row of positive weight with class {lacking!r}; expected some of every class."
        )
    if len(labels) > _core.MAX_ROWS:
        raise ValueError(f"Got {len(labels):,} rows; expected at most {_core.MAX_ROWS:,}.")


def class_sizes(data: TrainingData) -> NDArray[np.float64]:
    """Return the sum of the weights of each class."""
    units = data.weights.as_units
    if units is None:
        return data.class_rows.astype(np.float64)
    sizes = np.bincount(data.labels, weights=units, minlength=len(data.classes))
    return np.asarray(sizes, dtype=np.float64)


def validate_rows(estimator: Any, X: TableLike | Table, is_categorical: NDArray[np.uint8]) -> Table:
    """Check that rows to be scored match the data that the estimator was fitted to."""
    if isinstance(X, Table):  # already checked
        return X
    n_rows, matrix, frame = _open_table(estimator, X, reset=False)
    names = feature_names(estimator, frame)
    wanted = set(np.flatnonzero(is_categorical).tolist())
    return _make_table(n_rows, names, matrix, frame, wanted, fitted=True)


def feature_names(estimator: Any, frame: nw.DataFrame[Any] | None = None) -> list[str]:
    """Return the names of the features that an estimator was fitted to; x0, x1, … without any."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None and frame is not None:  # a data frame whose column names are not strings
        names = frame.columns
    if names is None:
        return [f"x{j}" for j in range(estimator.n_features_in_)]
    return [str(name) for name in names]


def _open_table(
    estimator: Any, X: TableLike, *, reset: bool
) -> tuple[int, NDArray[Any] | DeviceNumbers | None, nw.DataFrame[Any] | None]:
    """Return (number of rows, array, frame); either the array or the frame is None.

    The array holds numbers, on the host or on a device, or objects or text if X contains text.
    """
    if (numbers := numbers_on_device(estimator, X)) is not None:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        check_number_of_features(numbers.shape[1])
        return len(numbers), numbers, None
    if not reset and (values := _few_known_rows(estimator, X)) is not None:
        return len(values), values, None
    frame = open_readable(X)
    if frame is not None:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if len(frame) == 0 or frame.shape[1] == 0:
            raise ValueError(
                f"Got a table of {len(frame)} rows and {frame.shape[1]} columns: "
                f"0 sample(s) or 0 feature(s) (shape={frame.shape}) while a minimum of 1 "
                "is required."
            )
        check_number_of_features(frame.shape[1])
        return len(frame), None, frame
    text = open_text_array(X)
    if text is not None:
        matrix = validate_data(estimator, text, reset=reset, dtype=None, ensure_all_finite=False)
    else:
        matrix = validate_data(
            estimator, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite=False
        )
        _check_no_infinity(estimator, matrix)
    check_number_of_features(matrix.shape[1])
    return len(matrix), matrix, None


def _check_no_infinity(estimator: Any, matrix: NDArray[Any]) -> None:
    """Raise for infinite numbers like scikit-learn, but multithreaded; NaN stands for missing."""
    n_jobs = check_n_jobs(getattr(estimator, "n_jobs", None))
    if _core.scan_numbers(matrix, min(n_jobs, 1 + matrix.size // VALUES_PER_THREAD))[1]:
        assert_all_finite(matrix, allow_nan=True, input_name="X")


def _few_known_rows(estimator: Any, X: TableLike) -> NDArray[Any] | None:
    """Return the values of a short frame with the columns of the fit; otherwise None."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None or (rows := few_rows(X)) is None or rows[0] != names.tolist():
        return None
    return rows[1]


def check_number_of_features(n_features: int) -> None:
    """Raise if there are more features than the core supports."""
    if n_features > _core.MAX_FEATURES:
        raise ValueError(f"Got {n_features:,} features; expected at most {_core.MAX_FEATURES:,}.")


def wanted_categories(
    categorical_features: CategoricalFeatures, names: list[str]
) -> set[int] | None:
    """Return the indices of the columns declared categorical; None to decide by dtype."""
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
    unknown = [str(name) for name in wanted if str(name) not in names]
    if unknown:
        raise ValueError(
            f"Got categorical_features with {unknown[0]!r}; expected names of features: "
            f"{listed(names)}."
        )
    return {names.index(str(name)) for name in wanted}


def _make_table(
    n_rows: int,
    names: list[str],
    matrix: NDArray[Any] | DeviceNumbers | None,
    frame: nw.DataFrame[Any] | None,
    wanted: set[int] | None,
    fitted: bool = False,
) -> Table:
    if isinstance(matrix, DeviceNumbers):
        check_finite(matrix, names)
        if not wanted:
            return DeviceRowsTable(names, matrix)
        matrix = matrix.host
    holds_numbers = matrix is not None and matrix.dtype.kind == "f"
    if holds_numbers and not wanted:
        return Table(n_rows, names, matrix, [])
    if frame is not None:
        found = enumerate(zip(names, frame.iter_columns(), strict=True))
        columns = [frame_column(one, name, j, wanted, fitted) for j, (name, one) in found]
        return Table(n_rows, names, None, columns)
    assert matrix is not None
    columns = []
    for j, name in enumerate(names):
        if holds_numbers:
            assert wanted is not None
            values = matrix[:, j]
            columns.append(Column(name, values.tolist() if j in wanted else values))
        else:
            columns.append(text_array_column(matrix, name, j, wanted, fitted))
    return Table(n_rows, names, None, columns)
