"""The text of a tree plot: wrapped and shortened rules, counts and rates."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence

Measure = Callable[[str], float]  # width of a line of text, in inches
Conditions = tuple[str, ...]  # all of them must hold

NO_BREAK = "\N{NO-BREAK SPACE}"
INDENT = "   "


def rule_lines(
    alternatives: Sequence[Conditions],
    measure: Measure,
    width: float,
    max_text: int,
    max_lines: float = math.inf,
) -> list[str]:
    """Return the lines of a rule: one condition per line if that fits, otherwise filled lines.

    If the rule does not fit, the last alternatives are left out first and replaced by their
    number, then the end of the first alternative.
    """
    if not alternatives or min(max_text, max_lines) < 1:
        return []
    n = len(alternatives)
    for n_shown in range(n, 0, -1):
        shown = alternatives[:n_shown]
        if sum(len(" and ".join(conditions)) for conditions in shown) > max_text:
            continue
        for stacked in (True, False):
            lines = _set(shown, n - n_shown, measure, width, stacked)
            if len(lines) <= max_lines:
                return lines
    whole = " and ".join(alternatives[0])
    for length in range(min(max_text, len(whole) - 1), 0, -1):
        lines = _set([(_cut(whole, length),)], n - 1, measure, width, stacked=False)
        if len(lines) <= max_lines:
            return lines
    return ["…"]


def _cut(text: str, length: int) -> str:
    """Cut the text off at `length`, between words if possible, and append an ellipsis."""
    start = text[:length]
    return (start[: start.rfind(" ")] if " " in start else start) + " …"


def _set(
    shown: Sequence[Conditions], n_more: int, measure: Measure, width: float, stacked: bool
) -> list[str]:
    """Break alternatives into lines; each starts a line, and so does each condition if stacked."""
    lines = []
    for i, conditions in enumerate(shown):
        # Keep an operator with the value after it.
        bound = [re.sub(" (<=|<|>) ", rf" \1{NO_BREAK}", condition) for condition in conditions]
        first = "or " * (i > 0) + bound[0]
        if stacked:
            lines += wrap(first, measure, width, INDENT)
            for condition in bound[1:]:
                lines += wrap(f"{INDENT}and {condition}", measure, width, 2 * INDENT)
        else:
            lines += wrap(" and ".join([first, *bound[1:]]), measure, width, INDENT)
    if n_more:
        lines.append(f"or {n_more} more")
    return [line.replace(NO_BREAK, " ") for line in lines]


def wrap(text: str, measure: Measure, width: float, indent: str = "") -> list[str]:
    """Break the text into lines no wider than `width`, between words where possible."""
    lines: list[str] = []
    line = text[: len(text) - len(text.lstrip(" "))]
    is_empty = True
    for word in text.strip(" ").split(" "):
        for k, part in enumerate(_parts(word, measure, width - measure(indent + "x"))):
            joint = "" if is_empty or k > 0 else " "
            if not is_empty and measure(line + joint + part) > width:
                lines.append(line)
                line, joint = indent, ""
            line += joint + part
            is_empty = False
    return [*lines, line]


def _parts(word: str, measure: Measure, width: float) -> Iterator[str]:
    """Yield the word, or parts that fit: split after `_` and no-break spaces, else characters."""
    if measure(word) <= width or len(word) == 1:
        yield word
        return
    parts = re.findall(f"[^_{NO_BREAK}]*[_{NO_BREAK}]|[^_{NO_BREAK}]+", word)
    for part in parts if len(parts) > 1 else word:
        yield from _parts(part, measure, width)


def format_weight(weight: float) -> str:
    """Format a sum of weights, with one decimal if it is fractional and below 1000."""
    return (
        f"{weight:,.0f}"
        if weight >= 1000 or abs(weight - round(weight)) < 1e-9
        else f"{weight:,.1f}"
    )


def format_rate(rate: float) -> str:
    """Format an event rate in percent, with two decimals if it is small."""
    return f"{rate:.2%}" if 0 < rate < 0.01 else f"{rate:.1%}"


def format_strata(strata: Sequence[int]) -> str:
    """Format numbers of strata with runs as ranges, or only their count if there are many runs."""
    runs: list[list[int]] = []
    for stratum in sorted(strata):
        if runs and stratum == runs[-1][1] + 1:
            runs[-1][1] = stratum
        else:
            runs.append([stratum, stratum])
    if len(runs) > 2:
        return f"{len(strata)} strata"
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in runs)
