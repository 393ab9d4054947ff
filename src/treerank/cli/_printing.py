"""What `treerank fit` prints: columns, strata, and how well the model ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from treerank.cli._training import Training


def print_kinds(console: Console, kinds: dict[str, str]) -> None:
    """Say what each column of several files was taken as."""
    table = Table("column", "taken as", box=None, pad_edge=False)
    for name, kind in kinds.items():
        table.add_row(name, kind)
    console.print(table)


def print_columns(console: Console, data: Training) -> None:
    """Say what each column was taken as."""
    table = Table("column", "taken as", "values", box=None, pad_edge=False)
    for name, kind in data.kinds.items():
        column = data.features[name]
        n_missing = column.null_count
        said = f"{len(column.unique()) - bool(n_missing):,} different"
        table.add_row(name, kind, said + (f", {n_missing:,} missing" if n_missing else ""))
    console.print(table)


def print_strata(console: Console, model: Any) -> None:
    if not hasattr(model, "partition_"):
        return
    table = Table("stratum", "score", "rows", f"share of {model.classes_[-1]}", "rule", box=None,
                  pad_edge=False)  # fmt: skip
    partition = model.partition_
    for k, (share, rule) in enumerate(
        zip(partition.posterior()[:, -1], partition.rules(), strict=True)
    ):
        rows = f"{partition.counts[k].sum():,g}"
        table.add_row(str(k), f"{partition.scores[k]:.3f}", rows, f"{share:.1%}", rule)
    console.print(table)


def print_out_of_bag(console: Console, model: Any) -> str:
    """Say how well a forest ranks rows that a tree has not seen; return the measure's name."""
    measure = "AUC" if len(model.classes_) == 2 else "VUS"
    interval: Any = getattr(model, f"oob_{measure.lower()}_interval_", None)
    if interval is not None:
        worth = getattr(interval, measure.lower())
        console.print(
            f"\n{measure} on rows a tree has not seen: {worth:.3f} "
            f"({interval.level:.0%} interval {interval.lower:.3f} to {interval.upper:.3f})."
        )
    return measure


def print_quality(console: Console, model: Any, data: Training, cv: int, seed: int) -> None:
    """Say how well the model ranks rows that it has not seen."""
    from sklearn.model_selection import StratifiedKFold  # noqa: PLC0415 (slow; not for the help)

    measure = print_out_of_bag(console, model)
    if hasattr(model, f"oob_{measure.lower()}_interval_"):
        return
    smallest = min(int(np.sum(data.labels == label)) for label in model.classes_)
    folds = min(cv, smallest)
    if folds < 2:
        own = model.score(data.features, data.labels, data.weights)
        console.print(f"\n{measure} on the rows it was fitted to: {own:.3f}.")
        return
    split = StratifiedKFold(folds, shuffle=True, random_state=seed)
    scores = np.array(
        [_held_out(model, data, *part) for part in split.split(data.labels, data.labels)]
    )
    error = scores.std(ddof=1) / np.sqrt(folds)
    console.print(
        f"\n{measure} on held-out rows: {scores.mean():.3f} ± {error:.3f} (standard error, {folds} "
        "folds)."
    )


def _held_out(model: Any, data: Training, train: Any, test: Any) -> float:
    """AUC, or VUS, on some rows of the model fitted to the others."""
    from sklearn.base import clone  # noqa: PLC0415 (slow; not for the help)

    weights = data.weights
    fitted = clone(model).fit(
        data.features.take(train),
        data.labels[train],
        sample_weight=None if weights is None else weights[train],
    )
    held_out = None if weights is None else weights[test]
    return float(fitted.score(data.features.take(test), data.labels[test], held_out))
