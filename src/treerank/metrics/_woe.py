"""Weight of evidence and information value of a feature, by bins."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from treerank._input.frames import frame_of
from treerank._input.parameters import check_integer
from treerank._input.types import Floats, Label

from ._input import check_binary, read_column
from ._scorecard import quantile_edges


def woe_table(
    x: Any,
    y: ArrayLike,
    *,
    n_bins: int = 10,
    special: Any = (),
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> Any:
    """Weight of evidence and information value of a feature, bin by bin.

    The weight of evidence of a bin is `ln(e / n)`, where e and n are its shares of all events and
    of all non-events; the information value is the sum of `(e - n) ln(e / n)`. Numbers are binned
    at their quantiles, text and booleans by level. Special codes, such as -9 for "no record", and
    missing values get bins of their own, after the others. A bin without events, or without
    non-events, counts as having half a row of them.

    Parameters
    ----------
    x : array-like of shape (n,)
        The feature: numbers, text or booleans; NaN or None for missing.
    y : array-like of shape (n,)
        Labels of two classes; the higher one is the event.
    n_bins : int, default=10
        Number of quantile bins for numbers; fewer if values repeat.
    special : value or sequence of values, default=()
        Codes that do not mean a number; each gets a bin of its own.
    sample_weight : array-like of shape (n,), optional
        Weights; integer weights are equivalent to repeated rows, except for bins that lack a class.
    pos_label : label, optional
        The event, if it is not the higher class.

    Returns
    -------
    data frame
        One row per bin, with `bin` (its description), `rows`, `events`, `event_rate`, `woe` and
        `iv` (what the bin adds to the information value). Created with the first of pandas, polars
        and pyarrow that is installed.

    Examples
    --------
    >>> from treerank.metrics import woe_table
    >>> table = woe_table([1, 1, 2, 2, -9, -9], [0, 0, 1, 0, 1, 1], n_bins=2, special=-9)
    >>> table["bin"].to_list()
    ['<= 1', '> 1', '-9']
    >>> table["events"].to_list()
    [0.0, 1.0, 2.0]
    """
    check_integer("n_bins", n_bins, 2)
    values = read_column(x, "x")
    sample = check_binary(y, np.zeros(len(values)), sample_weight, pos_label)
    if sample_weight is not None:
        values = values[np.asarray(sample_weight) > 0]  # the sample has no other rows
    codes, names = _bins(values, sample.weight, n_bins, _codes_of(special))
    rows = np.bincount(codes, sample.weight, len(names))
    events = np.bincount(codes, np.where(sample.positive, sample.weight, 0.0), len(names))
    half = sample.weight.mean() / 2
    shares = [np.where(part > 0, part, half) / part.sum() for part in (events, rows - events)]
    woe = np.log(shares[0] / shares[1])
    return frame_of({
        "bin": names, "rows": rows, "events": events, "event_rate": events / rows,
        "woe": woe, "iv": (shares[0] - shares[1]) * woe,
    })  # fmt: skip


def information_value(
    x: Any,
    y: ArrayLike,
    *,
    n_bins: int = 10,
    special: Any = (),
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Information value of a feature: the sum over the bins of :func:`woe_table`.

    A feature with a value below 0.02 is usually considered useless, above 0.3 strong, and above 0.5
    suspicious: it may contain the label.

    Parameters
    ----------
    x, y, n_bins, special, sample_weight, pos_label
        As for :func:`woe_table`.

    Returns
    -------
    float

    Examples
    --------
    >>> from treerank.metrics import information_value
    >>> round(information_value(["a", "a", "b", "b"], [0, 1, 1, 1]), 3)
    0.78
    """
    table = woe_table(
        x, y, n_bins=n_bins, special=special, sample_weight=sample_weight, pos_label=pos_label
    )
    return float(np.sum(nw.from_native(table, eager_only=True)["iv"].to_numpy()))


def _codes_of(special: Any) -> list[Any]:
    if isinstance(special, str) or np.ndim(special) == 0:
        return [special]
    return list(special)


def _bins(
    values: NDArray[Any], weight: Floats, n_bins: int, special: list[Any]
) -> tuple[NDArray[np.intp], list[str]]:
    """Return the bin of each row and the names of the bins that have rows."""
    codes = np.full(len(values), -1, dtype=np.intp)
    is_number = values.dtype.kind == "f"
    missing = np.isnan(values) if is_number else np.array([v is None for v in values.tolist()])
    apart = {_name(code): values == code for code in special}
    ordinary = ~missing & ~np.any([*apart.values(), np.zeros(len(values), bool)], axis=0)
    names: list[str] = []
    if ordinary.any() and is_number:
        edges = quantile_edges(values[ordinary], weight[ordinary], n_bins)
        edges = edges[edges < values[ordinary].max()]
        codes[ordinary] = np.searchsorted(edges, values[ordinary])
        said = [f"{edge:g}" for edge in edges]
        names = [f"<= {said[0]}"] if said else ["all"]
        names += [f"{low} to {high}" for low, high in pairwise(said)]
        names += [f"> {said[-1]}"] if said else []
    elif ordinary.any():
        levels, codes[ordinary] = np.unique(values[ordinary].astype(str), return_inverse=True)
        names = levels.tolist()
    for name, here in [*apart.items(), ("missing", missing)]:
        if here.any():
            codes[here] = len(names)
            names.append(name)
    return codes, names


def _name(code: Any) -> str:
    return f"{code:g}" if isinstance(code, int | float) else str(code)
