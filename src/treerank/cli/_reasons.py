"""Reasons for the scores: their baseline, their codes, and their output columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from treerank._input.types import FittedClassifier, FittedRanker
from treerank.cli._evaluation import read_features
from treerank.cli._sources import Source


@dataclass(frozen=True)
class ReasonColumns:
    """Computes the reasons for rows as columns of text."""

    n: int
    options: Mapping[str, Any]  # of `inspection.reasons`
    with_codes: bool

    def columns(self, model: FittedRanker, rows: Any) -> dict[str, Any]:
        """Return the columns reason_1, reason_2, …; with codes, reason_code_1, … too."""
        from treerank._reading.reasons import reasons  # noqa: PLC0415 (slow; not for the help)

        found = reasons(model, rows, self.n, **self.options)
        columns = {}
        for k in range(self.n):
            listed = [row[k] if k < len(row) else None for row in found]
            if self.with_codes:
                codes = [None if reason is None else reason.code for reason in listed]
                columns[f"reason_code_{k + 1}"] = pa.array(codes, pa.string())
            texts = [None if reason is None else reason.text for reason in listed]
            columns[f"reason_{k + 1}"] = pa.array(texts, pa.string())
        return columns


def reason_columns(
    model: FittedClassifier,
    n: int,
    baseline: Source | None,
    ids: Sequence[str],
    codes: Source | None,
    **options: Any,
) -> ReasonColumns:
    """Read the baseline and the codes; errors are raised before anything is scored."""
    from treerank._reading.tree_sums import tree_sum  # noqa: PLC0415 (slow; not for the help)

    tree_sum(model)
    if baseline is not None:
        own = getattr(model, "feature_names_in_", ())
        apart = [name for name in ids if name in baseline.header() and name not in own]
        options["baseline"] = read_features(model, baseline, apart)
    if codes is not None:
        options["codes"] = _read_codes(codes)
    return ReasonColumns(n, options, codes is not None)


def _read_codes(source: Source) -> dict[str, tuple[str, str | None]]:
    """Read a table of features, their codes and, if there is such a column, texts."""
    names = source.header()
    for name in ("feature", "code"):
        if name not in names:
            raise source.bad(f"there is no column {name!r}; expected feature, code and text.")
    wanted: list[str] = [name for name in ("feature", "code", "text") if name in names]
    table: dict[str, list[Any]] = source.read(wanted).to_pydict()
    nothing: list[Any] = [None] * len(table["feature"])
    texts = table.get("text", nothing)
    return {
        str(feature): (str(code), str(text) if text else None)
        for feature, code, text in zip(table["feature"], table["code"], texts, strict=True)
    }
