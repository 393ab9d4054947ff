"""Results as JSON, for other programs."""

from __future__ import annotations

import json
from typing import Any

from treerank.scoring._plain import to_plain


def print_json(result: dict[str, Any]) -> None:
    """Print a result as JSON, with exact numbers, and null for NaN and infinities."""
    print(json.dumps(to_plain(result), ensure_ascii=False, indent=2, allow_nan=False))


def strata_of(model: Any) -> list[dict[str, Any]]:
    """Strata of a tree, best first: score, weight of each class, shares and rule."""
    partition = model.partition_
    names = [str(label) for label in partition.classes]
    columns = (partition.scores, partition.counts, partition.posterior(), partition.rules())
    return [
        {
            "stratum": k,
            "score": score,
            "counts": dict(zip(names, counts, strict=True)),
            "shares": dict(zip(names, shares, strict=True)),
            "rule": rule,
        }
        for k, (score, counts, shares, rule) in enumerate(zip(*columns, strict=True))
    ]


def grades_of(card: Any) -> list[dict[str, Any]]:
    """Grades of a scorecard, best first: limits of the score, rows, event rate and points."""
    columns = card.columns()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
