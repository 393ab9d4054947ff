"""Output of `treerank fit`: columns, strata, and the quality of the ranking."""

from __future__ import annotations

from collections import Counter
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from treerank._input.label_order import label_order_of
from treerank._input.types import FittedClassifier
from treerank.cli._quality import format_interval, interval_of, measure_of
from treerank.cli._training import Training

if TYPE_CHECKING:
    from treerank.scoring._held_out import HeldOut


# If there are more strata than this, only the best and the worst are shown.
MOST_STRATA, BEST_STRATA = 20, 15
# The same for columns, of which the first are shown.
MOST_COLUMNS, FIRST_COLUMNS = 60, 40
# Characters of a rule that are shown.
MOST_OF_A_RULE = 200


def print_kinds(console: Console, kinds: dict[str, str]) -> None:
    """Print the type of each column of several files."""
    table = Table("column", "taken as", box=None, pad_edge=False)
    for name, kind in _shown(kinds).items():
        table.add_row(name, kind)
    console.print(table)
    _say_hidden(console, kinds)


def print_columns(console: Console, data: Training) -> None:
    """Print the type of each column."""
    table = Table("column", "taken as", "values", box=None, pad_edge=False)
    for name, kind in _shown(data.kinds).items():
        column = data.features[name]
        n_missing = column.null_count
        said = f"{len(column.unique()) - bool(n_missing):,} different"
        table.add_row(name, kind, said + (f", {n_missing:,} missing" if n_missing else ""))
    console.print(table)
    _say_hidden(console, data.kinds)


def _shown(kinds: dict[str, str]) -> dict[str, str]:
    """Return the columns to list: all of them, or the first of very many."""
    n = len(kinds) if len(kinds) <= MOST_COLUMNS else FIRST_COLUMNS
    return dict(list(kinds.items())[:n])


def _say_hidden(console: Console, kinds: dict[str, str]) -> None:
    """Count the columns that are not listed by their types."""
    hidden = list(kinds.values())[len(_shown(kinds)) :]
    if hidden:
        counts = ", ".join(f"{n:,} as {kind}" for kind, n in Counter(hidden).most_common())
        console.print(f"{len(hidden):,} more columns are not shown; taken {counts}.")


def print_strata(console: Console, model: FittedClassifier) -> None:
    if not hasattr(model, "partition_"):
        return
    columns = ("stratum", "score", "rows", f"share of {label_order_of(model)[-1]}", "rule")
    table = Table(*columns, box=None, pad_edge=False)
    partition = model.partition_
    shares, rules = partition.posterior()[:, -1], partition.rules()
    n_hidden = max(len(rules) - MOST_STRATA, 0)
    for k, (share, rule) in enumerate(zip(shares, rules, strict=True)):
        if n_hidden and BEST_STRATA <= k < BEST_STRATA + n_hidden:
            continue
        rows = f"{partition.counts[k].sum():,g}"
        shown = shorten(rule, MOST_OF_A_RULE, placeholder=" …")
        table.add_row(str(k), f"{partition.scores[k]:.3f}", rows, f"{share:.1%}", shown)
        if n_hidden and k == BEST_STRATA - 1:
            table.add_row("…")
    console.print(table)
    if n_hidden:
        are = "stratum in the middle is" if n_hidden == 1 else "strata in the middle are"
        console.print(f"{n_hidden} {are} not shown; treerank rules prints them all.")
    if any(len(rule) > MOST_OF_A_RULE for rule in rules):
        console.print(
            "Long rules are cut short; treerank rules prints them in full. --max-depth 3 or "
            "--small gives fewer and shorter ones."
        )
    if len(rules) == 1:
        console.print(
            "All rows are one stratum, because no tree ranked held-out rows clearly better than "
            "chance. --model forest can find weaker relations."
        )


def print_out_of_bag(console: Console, model: FittedClassifier) -> str:
    """Print the out-of-bag quality of a forest; return the name of the measure."""
    measure = measure_of(model)
    interval: Any = getattr(model, f"oob_{measure.lower()}_interval_", None)
    if interval is not None:
        said = format_interval(measure, interval)
        console.print(f"\n{measure} on rows a tree has not seen: {said}.")
    return measure


def print_quality(
    console: Console, model: Any, data: Training, cv: int, seed: int
) -> HeldOut | None:
    """Print the quality of the model on held-out rows; return their scores."""
    own = model.score(data.features, data.labels, data.weights)
    measure = measure_of(model)
    smallest = min(int(np.sum(data.labels == label)) for label in model.classes_)
    if min(cv, smallest) < 2 and not hasattr(model, "oob_decision_function_"):
        console.print(f"\n{measure} on the rows it was fitted to: {own:.3f}.")
        return None
    from treerank.scoring._held_out import held_out_scores  # noqa: PLC0415 (slow; not for the help)

    found = held_out_scores(
        model, data.features, data.labels, data.weights, max(2, min(cv, smallest)), seed
    )
    seen = np.isfinite(found.score)
    weights = None if data.weights is None else data.weights[seen]
    interval = interval_of(model, data.labels[seen], found.score[seen], weights)
    said = format_interval(measure, interval)
    folds = f"; {found.n_folds} folds" if found.n_folds else ""
    rows = "held-out rows" if found.n_folds else "rows a tree has not seen"
    console.print(f"\n{measure} on {rows}: {said.replace(')', folds + ')')}.")
    console.print(f"{measure} on the rows it was fitted to: {own:.3f}.")
    return found


def print_kept_back(console: Console, model: Any, kept_back: Training, data: Training) -> None:
    """Print the quality of the model on the rows that were held back."""
    measure = measure_of(model)
    scores = model.score_samples(kept_back.features)
    interval = interval_of(model, kept_back.labels, scores, kept_back.weights)
    said = format_interval(measure, interval)
    own = model.score(data.features, data.labels, data.weights)
    console.print(f"\n{measure} on the {kept_back.n_rows:,} rows held back: {said}.")
    console.print(f"{measure} on the rows it was fitted to: {own:.3f}.")
