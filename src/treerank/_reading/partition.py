"""The ordered partition: cells, best first, with their class counts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treerank._input.frames import frame_of
from treerank._input.parameters import check_number
from treerank.metrics._ordinal import vus_of_weights
from treerank.metrics._surface import RocSurface, surface_of_shares


class OrderedPartition:
    """Cells of the feature space in ranking order, with the class counts in each.

    All measures of a ranking tree on its training rows follow from this object: the ROC
    curve is the broken line through the cumulative class shares, and the AUC is the area
    under it (Clémençon, Depecker & Vayatis 2011, Proposition 2). With more than two ordered
    classes, these are the ROC surface and the volume under it.

    Parameters
    ----------
    counts : array-like of shape (n_cells, n_classes)
        Sum of sample weights of each class in each cell; cell 0 is the best.
    classes : array-like of shape (n_classes,), optional
        Labels of the columns of `counts`, worst first; for a fitted tree, its `label_order_`. By
        default 0, 1, …
    scores : array-like of shape (n_cells,), optional
        Score of each cell, not increasing. By default n_cells for the best cell, down to 1 for
        the worst.
    rules : callable, optional
        Returns one rule as text for each cell; see :meth:`rules`.

    Examples
    --------
    >>> from treerank import OrderedPartition
    >>> partition = OrderedPartition([[1, 6], [3, 3], [6, 1]])
    >>> print(round(partition.auc(), 3))
    0.825
    >>> fpr, tpr = partition.roc()
    >>> print(fpr, tpr)
    [0.  0.1 0.4 1. ] [0.  0.6 0.9 1. ]
    """

    def __init__(
        self,
        counts: Any,
        *,
        classes: Any = None,
        scores: ArrayLike | None = None,
        rules: Callable[[], list[str]] | None = None,
    ) -> None:
        self.counts = np.array(counts, dtype=np.float64)
        if self.counts.ndim != 2 or self.counts.shape[0] < 1 or self.counts.shape[1] < 2:
            raise ValueError(
                f"Got counts of shape {self.counts.shape}; expected (cells >= 1, classes >= 2)."
            )
        if not np.isfinite(self.counts).all() or (self.counts < 0).any():
            raise ValueError("Got counts that are negative or not finite; expected weights >= 0.")
        if not self.counts.sum(axis=0).all():
            raise ValueError("Got a class without weight; expected some of every class.")
        n_cells, n_classes = self.counts.shape
        self.classes = np.arange(n_classes) if classes is None else np.asarray(classes)
        self.scores = (
            np.arange(n_cells, 0, -1, dtype=np.float64)
            if scores is None
            else np.array(scores, dtype=np.float64)
        )
        if len(self.classes) != n_classes or self.scores.shape != (n_cells,):
            raise ValueError("Got classes or scores whose number does not fit the counts.")
        if not (np.diff(self.scores) <= 0).all():
            raise ValueError("Got scores that increase; expected the best cell first.")
        self._rules = rules

    def __len__(self) -> int:
        return len(self.counts)

    def __repr__(self) -> str:
        name = "auc" if self.counts.shape[1] == 2 else "vus"
        quality = f", {name}={getattr(self, name)():.4f}"
        return f"OrderedPartition({len(self)} cells, {self.counts.sum():g} rows{quality})"

    def _two_classes(self) -> NDArray[np.float64]:
        if self.counts.shape[1] != 2:
            raise ValueError(
                f"Got a partition of {self.counts.shape[1]} classes; the ROC curve needs two "
                "(vus() is for any number)."
            )
        return np.asarray(self.counts / self.counts.sum(axis=0))

    def roc(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the knots of the ROC curve: false positive and true positive rates.

        Returns
        -------
        fpr, tpr : arrays of shape (n_cells + 1,)
            The curve connects these points by straight lines.
        """
        shares = np.vstack([np.zeros(2), np.cumsum(self._two_classes(), axis=0)])
        shares[-1] = 1.0
        return shares[:, 0], shares[:, 1]

    def auc(self) -> float:
        """Area under the ROC curve; equals the Mann-Whitney statistic with ties counted 1/2."""
        fpr, tpr = self.roc()
        return float(np.sum(np.diff(fpr) * (tpr[1:] + tpr[:-1]) / 2))

    def vus(self) -> float:
        """Volume under the ROC surface, for any number of classes; the AUC for two.

        The probability that random rows, one of each class, are ranked in the order of the
        classes; rows of the same cell are in random order. A random ranking gives
        ``1 / n_classes!``.
        """
        return vus_of_weights(np.ascontiguousarray(self.counts[::-1].T))

    def surface(self) -> RocSurface:
        """ROC surface of three classes, over all pairs of thresholds on the ranking.

        Returns
        -------
        RocSurface
            `low`, `middle`, `high`: the correctly classified shares of the three classes;
            `volume()` equals :meth:`vus`.
        """
        if self.counts.shape[1] != 3:
            raise ValueError(
                f"Got a partition of {self.counts.shape[1]} classes; a ROC surface needs three "
                "(roc() is for two, vus() for any number)."
            )
        shares = self.counts / self.counts.sum(axis=0)
        return surface_of_shares(self.scores, shares.T)

    def posterior(self, smoothing: float = 0.0) -> NDArray[np.float64]:
        """Class shares in each cell, worst class first (`label_order_`), as in `counts`.

        Parameters
        ----------
        smoothing : float, default=0.0
            Weight of the overall class shares that is added to every cell.

        Returns
        -------
        array of shape (n_cells, n_classes)
        """
        check_number("smoothing", smoothing)
        prior = self.counts.sum(axis=0) / self.counts.sum()
        smoothed = self.counts + smoothing * prior
        weight = smoothed.sum(axis=1, keepdims=True)
        return np.asarray(np.where(weight > 0, smoothed / np.where(weight > 0, weight, 1.0), prior))

    def reorder_concave(self) -> OrderedPartition:
        """Return the same cells in the order that makes the ROC curve concave.

        The cells are sorted by decreasing ratio of positives to negatives, which maximizes the
        AUC for these cells (Theorem 1 of Clémençon, Depecker & Vayatis 2011). The curve of a
        tree's own order need not be concave.
        """
        shares = self._two_classes()
        order = np.argsort(-shares[:, 1] / np.maximum(shares.sum(axis=1), 1e-300), kind="stable")
        rules = None if self._rules is None else partial(_reordered, self._rules, order)
        return OrderedPartition(self.counts[order], classes=self.classes, rules=rules)

    def rules(self) -> list[str]:
        """Describe which rows fall into each cell, best cell first."""
        if self._rules is None:
            raise ValueError("This partition was made from counts alone and has no rules.")
        return self._rules()

    def columns(self) -> dict[str, Any]:
        """Return the table of strata as a dict of columns."""
        total = self.counts.sum(axis=1)
        shares = self.posterior()
        table: dict[str, Any] = {
            "stratum": np.arange(len(self)),
            "score": self.scores,
            "rows": total,
            "share_of_rows": total / total.sum(),
        }
        for k, label in enumerate(self.classes):
            table[f"n_{label}"] = self.counts[:, k]
        if self.counts.shape[1] > 2:
            for k, label in enumerate(self.classes):
                table[f"share_{label}"] = shares[:, k]
        else:
            table["event_rate"] = shares[:, 1]
            table["lift"] = shares[:, 1] / (self.counts[:, 1].sum() / total.sum())
            fpr, tpr = self.roc()
            table["cumulative_fpr"] = fpr[1:]
            table["cumulative_tpr"] = tpr[1:]
        if self._rules is not None:
            table["rule"] = self.rules()
        return table

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the table of strata as a data frame, one row per cell, best first.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            By default the first of these that is installed.
        """
        return frame_of(self.columns(), backend)


def _reordered(rules: Callable[[], list[str]], order: NDArray[np.intp]) -> list[str]:
    said = rules()
    return [said[i] for i in order]
