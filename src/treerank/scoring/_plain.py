"""Results as plain data for JSON, with finite numbers only."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def to_plain(value: Any) -> Any:
    """Convert results to dicts, lists, text and finite numbers; None for unknown values."""
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: to_plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return [to_plain(item) for item in value.tolist()]
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)


class PlainResult:
    """Mixin of results, which are dataclasses, to convert them to plain data."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; None for unknown values."""
        found: dict[str, Any] = to_plain(self)
        return found


def known(value: float) -> float | None:
    """Return a finite number, or None."""
    return float(value) if math.isfinite(value) else None


def format_value(value: float | None, how: str) -> str:
    """Format a number; a dash if it is unknown."""
    return "-" if value is None else format(value, how)


def format_p_value(value: float | None) -> str:
    """Format a p-value with three digits, or as smaller than 0.001."""
    return "< 0.001" if value is not None and value < 0.001 else format_value(value, ".3f")


def format_table(lines: list[list[str]], left: int = 1) -> list[str]:
    """Align the cells of a table: the first columns to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if k < left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
