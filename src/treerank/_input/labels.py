"""Validation of labels: two or more ordered classes, worst first."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from treerank import _core
from treerank._input.columns import is_missing, missing_mask
from treerank._input.parameters import invalid_parameter
from treerank._input.types import LabelOrder
from treerank._input.warn import warn

WHOLE_NUMBERS = [np.dtype(kind) for kind in (np.int64, np.int32, np.int8, np.uint8)]
FEW_LABELS = 20  # up to this many values, scikit-learn does not warn about too many classes
SEVERAL_TYPES = ValueError(
    "Got labels of several types that have no order; expected numbers or text throughout."
)


def check_labels(
    y: ArrayLike, n_rows: int, label_order: LabelOrder = None, max_classes: int = 2
) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """Return the class number of each row, and the classes, worst first.

    The order is that of `label_order` if given, else that of an ordered categorical, else that of
    the values.
    """
    declared = _order_of_categories(y) if label_order is None else None
    values = plain_labels(column_or_1d(labels_as_array(y), warn=True))
    if len(values) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: "
            f"{n_rows} rows of X, {len(values)} labels."
        )
    missing = missing_mask(values)
    if missing.any():
        raise_missing_labels(int(missing.sum()), n_rows, int(np.argmax(missing)))
    try:
        distinct, places = _distinct_labels(values)
    except TypeError:
        raise SEVERAL_TYPES from None
    # The distinct labels have the same target type as all labels, and are faster to check.
    check_classification_targets(distinct if len(distinct) <= FEW_LABELS else values)
    classes = finalize_classes(distinct, declared, label_order, max_classes)
    numbers = class_numbers(distinct, classes)
    if places.dtype == np.uint8 and np.array_equal(numbers, np.arange(len(numbers))):
        return places, classes
    return numbers[places], classes


def _distinct_labels(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the distinct labels, sorted by value, and the index of each row's label."""
    if values.dtype == bool or values.dtype in WHOLE_NUMBERS:
        whole = values.view(np.uint8) if values.dtype == bool else values
        found: Any = _core.number_labels(np.ascontiguousarray(whole))
        if found is not None:
            return found[0].astype(values.dtype), found[1]
    distinct = np.unique(values)
    return distinct, np.searchsorted(distinct, values)


def raise_missing_labels(n_missing: int, n_rows: int, first: int) -> None:
    """Raise the error for missing labels."""
    raise ValueError(
        f"Input y contains NaN or missing labels in {n_missing:,} of {n_rows:,} rows "
        f"(first: row {first}); remove those rows."
    )


def finalize_classes(
    distinct: NDArray[Any],
    categories: NDArray[Any] | None,
    label_order: LabelOrder,
    max_classes: int,
) -> NDArray[Any]:
    """Order the distinct labels as declared, as in a categorical, or by value."""
    declared = _declared_order(label_order)
    if declared is None:
        declared = categories
    classes = distinct if declared is None else _reorder(distinct, declared, label_order)
    _check_number(classes, max_classes)
    if declared is None and len(classes) > 2 and classes.dtype.kind not in "biuf":
        warn(
            f"Got text labels in no declared order; ranked {_show(classes)}, worst first. Pass "
            "label_order, an ordered categorical or numbers to say the order.",
        )
    return classes


def class_numbers(distinct: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the class number of each label."""
    number = {label: i for i, label in enumerate(classes.tolist())}
    return np.array([number[label] for label in distinct.tolist()], dtype=np.uint8)


def check_known_labels(y: ArrayLike, classes: NDArray[Any]) -> NDArray[Any]:
    """Check the labels of evaluation rows: an AUC of labels unknown to the model is meaningless."""
    y = np.asarray(plain_labels(column_or_1d(labels_as_array(y))))
    missing = missing_mask(y)
    if missing.any():
        raise ValueError(
            f"Input y contains NaN or missing labels (first: row {int(np.argmax(missing))}); "
            "remove those rows."
        )
    unknown = ~np.isin(y, classes)
    if unknown.any():
        raise ValueError(
            f"Got the label {y[unknown].tolist()[0]!r}; "
            f"expected labels among {classes.tolist()!r}, as in the data the model was fitted to."
        )
    return np.asarray(y)


def _declared_order(label_order: LabelOrder) -> NDArray[Any] | None:
    if label_order is None:
        return None
    try:
        order = plain_labels(np.array(list(label_order), dtype=object))
        repeated = len(set(order.tolist())) < len(order)
    except TypeError:  # a single value, or labels that are lists
        order, repeated = np.empty(0), True
    if isinstance(label_order, str) or len(order) < 2 or repeated:
        raise ValueError(
            f"Got label_order={label_order!r}; expected every class once, worst first."
        )
    return order


def _order_of_categories(y: ArrayLike) -> NDArray[Any] | None:
    """Return the levels of an ordered categorical; raise for more than two unordered levels."""
    series = as_series(y)
    if not isinstance(series, nw.Series):
        return None
    levels = levels_in_order(series)
    if levels is not None:
        return order_of_levels(levels, set(series.unique().to_list()))
    if isinstance(series.dtype, nw.Categorical):
        present = series.drop_nulls().unique().to_list()
        if len(present) > 2:
            raise_unordered_labels(present)
    return None


def levels_in_order(values: Any) -> list[Any] | None:
    """Return the levels of an ordered categorical or an Enum; None for anything else."""
    series = as_series(values)
    is_ordered = isinstance(series, nw.Series) and isinstance(series.dtype, nw.Enum)
    return list(series.dtype.categories) if is_ordered else None


def as_series(values: Any) -> Any:
    """Return a Series of narwhals, or the values as they are."""
    pandas = nw.dependencies.get_pandas()
    if pandas is not None and isinstance(values, pandas.Categorical):
        values = pandas.Series(values)
    return nw.from_native(values, series_only=True, pass_through=True)


def order_of_levels(levels: list[Any], present: set[Any]) -> NDArray[Any] | None:
    """Return the levels that have rows, in the given order."""
    kept = [level for level in levels if level in present]
    return plain_labels(np.array(kept, dtype=object)) if kept else None


def raise_unordered_labels(levels: list[Any]) -> None:
    """Raise the error for more than two unordered levels."""
    shown = _show(np.array(levels, dtype=object))
    raise ValueError(
        f"Got y as an unordered categorical of the levels {shown}; expected an order: make "
        "it ordered, or pass label_order (worst first)."
    )


def _reorder(
    classes: NDArray[Any], declared: NDArray[Any], label_order: LabelOrder
) -> NDArray[Any]:
    """Put the classes into the declared order."""
    place = {label: i for i, label in enumerate(declared.tolist())}
    unknown = [label for label in classes.tolist() if label not in place]
    absent = [label for label in declared.tolist() if label not in set(classes.tolist())]
    if unknown:
        raise ValueError(
            f"Got label_order={label_order!r}, which misses the label {unknown[0]!r} of y; "
            f"expected every class once, worst first.{_said_if_encoded(classes, declared)}"
        )
    if absent:
        raise ValueError(
            f"Got no row of the class {absent[0]!r} of label_order={label_order!r}; expected "
            "some of every class: stratify the sample, or leave the class out."
        )
    new_number = np.array([place[label] for label in classes.tolist()], dtype=np.intp)
    return np.asarray(classes[np.argsort(new_number)])


def _said_if_encoded(classes: NDArray[Any], declared: NDArray[Any]) -> str:
    """Return the remedy if another model seems to have replaced the labels by 0, 1 and so on."""
    if len(classes) != len(declared) or classes.tolist() != list(range(len(classes))):
        return ""
    return (
        " Some tools of scikit-learn, such as StackingClassifier, BaggingClassifier and "
        "cross_val_predict, pass labels on as 0, 1 and so on, in alphabetical order: number the "
        "labels yourself, worst first, and leave label_order out."
    )


def _check_number(classes: NDArray[Any], max_classes: int) -> None:
    if len(classes) < 2:
        raise ValueError(
            f"Got one class only, {classes.tolist()!r}; expected labels of two classes."
        )
    if len(classes) > max_classes == 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass. "
            f"Got {len(classes)} classes: {_show(classes)}."
        )
    if len(classes) > max_classes:
        raise ValueError(
            f"Got {len(classes)} classes: {_show(classes)}; expected at most {max_classes} "
            "ordered classes. Cut the target into fewer grades."
        )


def _show(classes: NDArray[Any]) -> str:
    return ", ".join(map(repr, classes[:6].tolist())) + (", …" if len(classes) > 6 else "")


def labels_as_array(y: ArrayLike) -> Any:
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        is_text = series.dtype in (nw.Categorical, nw.Enum, nw.String, nw.Object)
        if is_text or series.null_count() > 0:
            return np.array(series.to_list(), dtype=object)
        return series.to_numpy()
    if isinstance(y, np.ma.MaskedArray):  # NumPy would drop the mask
        hidden, y = np.ma.getmaskarray(y), y.data
        if hidden.any():
            y = y.astype(object)
            y[hidden] = None
    if isinstance(y, list | tuple):  # NumPy would turn numbers among text into text
        known = [isinstance(v, str) for v in y if not is_missing(v)]
        if any(known) and not all(known):
            raise SEVERAL_TYPES
    array = np.asarray(y) if not hasattr(y, "toarray") else y
    return check_array(
        array, ensure_2d=False, allow_nd=False, dtype=None, ensure_all_finite=False,
        ensure_min_samples=0, input_name="y",
    )  # fmt: skip


def plain_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Convert numbers and booleans stored as objects, e.g. in a pandas categorical."""
    if y.dtype != object or any(isinstance(v, str) for v in y):
        return y
    return np.array(y.tolist())


def number_of_label(parameter: str, wanted: Any, classes: NDArray[Any]) -> int:
    """Return the number of the class that a parameter names; None is the last class."""
    if wanted is None:
        return len(classes) - 1
    found = [number for number, label in enumerate(classes.tolist()) if _is_label(wanted, label)]
    if len(found) != 1:
        raise invalid_parameter(parameter, wanted, f"one of {classes.tolist()!r} or None")
    return found[0]


def _is_label(wanted: Any, label: Any) -> bool:
    """Whether a value of any type, given as a label, equals this label."""
    try:
        return bool(wanted == label)
    except (TypeError, ValueError):  # pandas' NA; an array
        return False
