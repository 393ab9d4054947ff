"""The monitoring page: pictures over the periods, tests, and drift of columns."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treerank._report._pictures import Picture, path, short_name
from treerank._report._render import check_page, render_page, write
from treerank._report._sample import with_target
from treerank._report._stability import MOVED, STABLE
from treerank.metrics._proportion import normal_quantile

if TYPE_CHECKING:
    from treerank.scoring._drift import ColumnDrift
    from treerank.scoring._periods import PeriodFigures
    from treerank.scoring.monitoring import Monitoring, SequentialTest

MAX_TICKS = 6
MOST_EVIDENCE = 6.0  # largest power of ten that is drawn
MAX_LEVELS = 8
Numbers = Sequence[float | None]


def monitor_page(found: Monitoring, out: Any, title: str | None) -> Path | str:
    """Build the page; write it, or return its text."""
    target = check_page(out)
    text = render_page("monitor.html.jinja", _context(found, title))
    if target is None:
        return text
    write(text, target)
    return target


def _context(found: Monitoring, title: str | None) -> dict[str, Any]:
    names = [f.name for f in found.periods]
    last = _last_labelled(found)
    return {
        "title": f"Monitoring of a {found.model}" if title is None else str(title),
        "found": found,
        "event": with_target(found.target, found.classes[1]),
        "names": names,
        "last": last,
        "moved": MOVED,
        "stable": STABLE,
        "auc": _auc_picture(found, names),
        "rate": _rate_picture(found, names),
        "shift": _shift_picture(found, names),
        "psi": _psi_picture(found, names),
        "evidence": _evidence_picture(found.tests, names),
        "columns": [_column(column) for column in found.columns],
        "rows": [found.baseline, *found.periods],
        "indices": [None, *found.score.index],
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "versions": [
            ("Python", platform.python_version()),
            ("treerank-ml", version("treerank-ml")),
        ],
    }


def _last_labelled(found: Monitoring) -> PeriodFigures | None:
    """Return the last period whose AUC is known."""
    return next((f for f in reversed(found.periods) if f.auc is not None), None)


def _picture(title: str, label: str, names: list[str], y_range: tuple[float, float]) -> Picture:
    """Frame with a position for each period, and names of some of them below."""
    step = max(1, -(-len(names) // MAX_TICKS))
    ticks = [(float(k), short_name(names[k], 10)) for k in range(0, len(names), step)]
    return Picture(
        title, "", label, x_range=(-0.5, len(names) - 0.5), y_range=y_range, x_ticks=ticks,
        width=440, height=240, bottom=30, right=28,
    )  # fmt: skip


def _range(values: Numbers, *, least: float = 0.0, low: float = -np.inf) -> tuple[float, float]:
    """Range of the known values, with a margin and a minimum width."""
    known = [v for v in values if v is not None]
    if not known:
        return 0.0, 1.0
    bottom, top = min(known), max(known)
    air = max(0.08 * (top - bottom), (least - (top - bottom)) / 2, 1e-9)
    return max(bottom - air, low), top + air


def _draw(
    picture: Picture, values: Numbers, limits: Sequence[tuple[float, float] | None], kind: str
) -> None:
    """Draw a line through the values, interrupted where one is missing, with their limits."""
    known = [k for k, v in enumerate(values) if v is not None]
    for k in known:
        span = limits[k]
        if span is not None:
            picture.whiskers([k], [span[0]], [span[1]])
    runs = np.split(known, np.flatnonzero(np.diff(known) > 1) + 1) if known else []
    for run in runs:
        heights = [values[k] for k in run.tolist()]
        if len(heights) > 1:
            picture.line(run, np.array(heights, dtype=float), kind)
    picture.dots(known, np.array([values[k] for k in known], dtype=float), "dot")


def _level_line(picture: Picture, height: float, kind: str) -> None:
    picture.line(picture.x_range, [height, height], kind)


def _auc_picture(found: Monitoring, names: list[str]) -> Picture:
    periods = [found.baseline, *found.periods]
    limits = [f.auc_limits if f.auc is not None else None for f in periods]
    ends = [v for span in limits if span is not None for v in span]
    picture = _picture("AUC of each period with its interval", "AUC", names, _range(ends))
    lower, upper = found.baseline.auc_limits
    ends_x = picture.x_range
    picture.area(ends_x, [lower, lower], [upper, upper], "band", "")
    _level_line(picture, found.baseline.auc or 0.5, "training")
    _draw(picture, [f.auc for f in found.periods], limits[1:], "curve")
    return picture


def _rate_picture(found: Monitoring, names: list[str]) -> Picture:
    limits = [f.rate_limits for f in found.periods]
    expected = [f.expected_rate for f in found.periods]
    ends = [v for span in limits if span is not None for v in span] + expected
    picture = _picture(
        "Event rate of each period with its interval, and the rate that the model expects",
        "event rate", names, _range([*ends, found.baseline.rate], low=0.0),
    )  # fmt: skip
    _level_line(picture, found.baseline.rate or 0.0, "training")
    known = [k for k, v in enumerate(expected) if v is not None]
    if len(known) > 1:
        picture.line(known, np.array([expected[k] for k in known], dtype=float), "perfect")
    _draw(picture, [f.rate for f in found.periods], limits, "curve")
    return picture


def _shift_picture(found: Monitoring, names: list[str]) -> Picture:
    z = normal_quantile(found.level)
    limits = [
        None
        if f.shift is None or f.shift_error is None
        else (f.shift - z * f.shift_error, f.shift + z * f.shift_error)
        for f in found.periods
    ]
    ends = [v for span in limits if span is not None for v in span]
    picture = _picture(
        "Calibration: by how much the log-odds of an event lie above those at the baseline",
        "shift of the log-odds", names, _range([*ends, 0.0], least=0.2),
    )  # fmt: skip
    _level_line(picture, 0.0, "training")
    _draw(picture, [f.shift for f in found.periods], limits, "curve")
    return picture


def _psi_picture(found: Monitoring, names: list[str]) -> Picture:
    top = max(0.3, 1.08 * max(found.score.index))
    picture = _picture("Stability index of the score", "PSI of the score", names, (0.0, top))
    _level_line(picture, STABLE, "chance")
    _level_line(picture, MOVED, "training")
    _draw(picture, found.score.index, [None] * len(names), "curve")
    return picture


def _evidence_picture(tests: list[SequentialTest], names: list[str]) -> Picture:
    """Draw the evidence of each test on a scale of powers of ten, up to a million."""
    logs = [np.clip(np.log10(np.maximum(t.evidence, 1e-9)), -1, MOST_EVIDENCE) for t in tests]
    needed = float(np.log10(tests[0].threshold))
    top = max(needed + 0.6, max(float(log.max()) for log in logs) + 0.2)
    picture = _picture(
        "Evidence that something has changed, on a scale of powers of ten, and the alarm level",
        "evidence", names, (-1.1, top),
    )  # fmt: skip
    picture.y_ticks = [(float(k), f"{10.0**k:,.10g}") for k in range(-1, int(top) + 1)]
    picture.left = 74
    _level_line(picture, needed, "alarm")
    for k, log in enumerate(logs):
        kind = f"class class-{(2, 1, 3)[k % 3]}"
        picture.line(np.arange(len(log)), log, kind)
        picture.dots([len(log) - 1], [log[-1]], f"end end-{k}", radius=3)
    return picture


def _column(column: ColumnDrift) -> dict[str, Any]:
    """Figures of a column for the table."""
    levels = list(dict.fromkeys(level for found in column.new_levels for level in found))
    height = max(MOVED, *column.index)
    x = np.linspace(2, 98, len(column.index)) if len(column.index) > 1 else np.array([2.0, 98.0])
    y = 22 - 20 * np.array(column.index) / height
    return {
        "name": column.name,
        "last": column.index[-1],
        "largest": max(column.index),
        "where": int(np.argmax(column.index)),
        "has_moved": any(column.has_moved),
        "line": path(x, y if len(y) > 1 else np.repeat(y, 2)),
        "moved_at": round(22 - 20 * MOVED / height, 1),
        "missing_before": column.missing_before,
        "missing": column.missing[-1],
        "levels": levels[:MAX_LEVELS],
        "n_more": max(0, len(levels) - MAX_LEVELS),
    }
