"""Labels of blocks of rows: their statistics, and how those of several blocks are combined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from treerank import _core
from treerank._input.categories import Factor, factorise
from treerank._input.columns import missing_mask
from treerank._input.labels import (
    SEVERAL_TYPES,
    class_numbers,
    finalize_classes,
    labels_as_array,
    order_of_levels,
    plain_labels,
    raise_missing_labels,
    raise_unordered_labels,
)
from treerank._input.types import LabelOrder


@dataclass(frozen=True)
class LabelStats:
    """Statistics of the labels of some rows, from which the classes follow."""

    n_rows: int
    distinct: NDArray[Any]
    n_missing: int
    first_missing: int  # -1 if there is none
    categories: list[Any] | None  # levels of a categorical, including those without rows
    is_ordered: bool = False
    orders_agree: bool = True  # whether all blocks order the categories alike

    def __add__(self, other: LabelStats) -> LabelStats:
        first = self.first_missing
        if first < 0 <= other.first_missing:
            first = self.n_rows + other.first_missing
        categories, agree = self.categories, self.orders_agree and other.orders_agree
        if categories is not None and other.categories is not None:
            agree = agree and _same_order(categories, other.categories)
            categories = list(dict.fromkeys([*categories, *other.categories]))
        return LabelStats(
            self.n_rows + other.n_rows,
            _union(self.distinct, other.distinct),
            self.n_missing + other.n_missing,
            first,
            categories,
            self.is_ordered and other.is_ordered,
            agree,
        )

    def classes(
        self, label_order: LabelOrder, max_classes: int = _core.MAX_CLASSES
    ) -> NDArray[Any]:
        """Return the classes of all rows, worst first, by the rules of `check_labels`."""
        if self.n_missing:
            raise_missing_labels(self.n_missing, self.n_rows, self.first_missing)
        values = plain_labels(self.distinct)
        # Repeated, so that scikit-learn does not warn about many classes for few rows.
        check_classification_targets(np.repeat(values, 5) if len(values) else values)
        try:
            distinct = np.unique(values)
        except TypeError:
            raise SEVERAL_TYPES from None
        order = None
        if self.categories is not None and label_order is None:
            present = distinct.tolist()
            if self.is_ordered:
                if not self.orders_agree:
                    raise ValueError(
                        f"Got the target's categories {self.categories[:6]} in another order in "
                        "another part of the rows; expected one order. Pass label_order, worst "
                        "first."
                    )
                order = order_of_levels(self.categories, set(present))
            elif len(present) > 2:
                raise_unordered_labels(present)
        return finalize_classes(distinct, order, label_order, max_classes)


def _same_order(a: list[Any], b: list[Any]) -> bool:
    """Whether the common elements of two lists are in the same order."""
    common = set(a) & set(b)
    return [v for v in a if v in common] == [v for v in b if v in common]


def _union(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    if len(a) == 0 or len(b) == 0:
        return a if len(a) else b
    kinds = {a.dtype.kind, b.dtype.kind}
    if kinds <= set("biuf") or (len(kinds) == 1 and kinds <= set("USmM")):
        return np.unique(np.concatenate([a, b]))
    found = list(dict.fromkeys([*a.tolist(), *b.tolist()]))
    union = np.empty(len(found), dtype=object)
    union[:] = found
    return union


@dataclass(frozen=True)
class LabelBlock:
    """Labels of a block: their statistics, and the index of each row's label in `distinct`."""

    seen: LabelStats
    places: NDArray[Any]

    def numbers(self, classes: NDArray[Any]) -> NDArray[np.uint8]:
        """Return the class number of each row."""
        return np.asarray(class_numbers(self.seen.distinct, classes)[self.places])


def label_block(y: ArrayLike) -> LabelBlock:
    """Collect the labels of a block, given as an array or as a series of any library."""
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series) and series.dtype in (nw.String, nw.Categorical, nw.Enum):
        return _text_labels(series)
    values = plain_labels(column_or_1d(labels_as_array(y)))
    missing = missing_mask(values)
    known = plain_labels(values[~missing]) if missing.any() else values
    check_classification_targets(known)
    try:
        distinct = np.unique(known)
    except TypeError:
        raise SEVERAL_TYPES from None
    first = int(np.argmax(missing)) if missing.any() else -1
    seen = LabelStats(len(values), distinct, int(missing.sum()), first, None)
    if first >= 0:  # LabelStats.classes raises once all blocks have been read
        return LabelBlock(seen, np.empty(0, dtype=np.uint8))
    return LabelBlock(seen, _small(np.searchsorted(distinct, values), len(distinct)))


def _text_labels(series: nw.Series[Any]) -> LabelBlock:
    factor = factorise(series)
    counts = np.bincount(factor.places[factor.places >= 0], minlength=len(factor.levels))
    new_place = np.cumsum(counts > 0) - 1
    distinct = np.empty(int((counts > 0).sum()), dtype=object)
    distinct[:] = [level for level, n in zip(factor.levels, counts, strict=True) if n]
    missing = factor.places < 0
    first = int(np.argmax(missing)) if missing.any() else -1
    categories, is_ordered = _categories(series, factor)
    seen = LabelStats(len(factor), distinct, int(missing.sum()), first, categories, is_ordered)
    if first >= 0:
        return LabelBlock(seen, np.empty(0, dtype=np.uint8))
    return LabelBlock(seen, _small(new_place[factor.places], len(distinct)))


def _categories(series: nw.Series[Any], factor: Factor) -> tuple[list[Any] | None, bool]:
    """Return the levels of a categorical in order, and whether the order is meaningful."""
    if isinstance(series.dtype, nw.Enum):
        return list(series.dtype.categories), True
    if not isinstance(series.dtype, nw.Categorical):
        return None, False
    arrow_type = getattr(series.to_native(), "type", None)
    return factor.levels, bool(getattr(arrow_type, "ordered", False))


def _small(places: NDArray[Any], n: int) -> NDArray[Any]:
    return places.astype(np.min_scalar_type(max(n - 1, 0)))
