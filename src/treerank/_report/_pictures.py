"""Pictures as plain data: lines, areas and marks in pixels, which the template draws."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Finest raster that a screen shows, in pixels. Only the first of consecutive points in one place
# of the raster is drawn.
FINEST = 0.4


@dataclass
class Picture:
    """A framed plot of numbers.

    Attributes
    ----------
    title : str
        Text alternative for readers who cannot see the picture.
    x_label, y_label : str
    x_range, y_range : tuple of two floats
    x_ticks, y_ticks : list of (value, text)
    width, height : int
    full_names : dict of str to str
        Full names of ticks that are shortened.
    """

    title: str
    x_label: str
    y_label: str
    x_range: tuple[float, float] = (0.0, 1.0)
    y_range: tuple[float, float] = (0.0, 1.0)
    x_ticks: list[tuple[float, str]] | None = None
    y_ticks: list[tuple[float, str]] | None = None
    width: int = 400
    height: int = 340
    left: int = 54
    top: int = 12
    right: int = 14
    bottom: int = 46
    marks: list[dict[str, Any]] = field(default_factory=list)
    full_names: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.x_range, self.y_range = widened(*self.x_range), widened(*self.y_range)
        self.x_ticks = self.x_ticks or nice_ticks(*self.x_range)
        self.y_ticks = self.y_ticks or nice_ticks(*self.y_range)

    @property
    def box(self) -> dict[str, float]:
        """The frame, for the script that moves marks within it."""
        return {
            "x": self.left,
            "y": self.top,
            "w": self.width - self.left - self.right,
            "h": self.height - self.top - self.bottom,
        }

    def x(self, value: ArrayLike) -> Any:
        """Pixels from the left."""
        low, high = self.x_range
        return self.left + self.box["w"] * (np.asarray(value, dtype=float) - low) / (high - low)

    def y(self, value: ArrayLike) -> Any:
        """Pixels from the top."""
        low, high = self.y_range
        share = (np.asarray(value, dtype=float) - low) / (high - low)
        return self.top + self.box["h"] * (1 - share)

    def line(self, x: ArrayLike, y: ArrayLike, kind: str, name: str = "") -> None:
        """Add a polyline."""
        self.marks.append(
            {"tag": "path", "d": path(self.x(x), self.y(y)), "kind": kind} | _id(name)
        )

    def area(self, x: ArrayLike, lower: ArrayLike, upper: ArrayLike, kind: str, name: str) -> None:
        """Add the area between two lines."""
        there = path(self.x(x), self.y(upper))
        back = path(np.asarray(self.x(x))[::-1], np.asarray(self.y(lower))[::-1])
        d = f"{there}L{back[1:]}Z"
        self.marks.append({"tag": "path", "d": d, "kind": kind} | _id(name))

    def dots(self, x: ArrayLike, y: ArrayLike, kind: str, name: str = "", radius: int = 4) -> None:
        """Add round marks."""
        for at, height in zip(np.ravel(self.x(x)), np.ravel(self.y(y)), strict=True):
            place = {"cx": pixels(at), "cy": pixels(height), "r": radius}
            self.marks.append({"tag": "circle", "kind": kind} | place | _id(name))

    def whiskers(self, x: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> None:
        """Add vertical lines."""
        ends = zip(
            np.ravel(self.x(x)), np.ravel(self.y(lower)), np.ravel(self.y(upper)), strict=True
        )
        for at, low, high in ends:
            d = f"M{pixels(at)} {pixels(low)}V{pixels(high)}"
            self.marks.append({"tag": "path", "d": d, "kind": "whisker"})

    def rectangle(
        self, x: tuple[float, float], y: tuple[float, float], kind: str, opacity: float = 1.0
    ) -> None:
        """Add a filled rectangle."""
        left, right = sorted(np.ravel(self.x(x)).tolist())
        top, bottom = sorted(np.ravel(self.y(y)).tolist())
        place = {"x": pixels(left), "y": pixels(top), "width": pixels(right - left),
                 "height": pixels(bottom - top)}  # fmt: skip
        self.marks.append({"tag": "rect", "kind": kind, "fill-opacity": f"{opacity:.3f}"} | place)


def pixels(value: float) -> str:
    """Format a length with tenths of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


def path(x: Any, y: ArrayLike) -> str:
    """Return the path of a polyline, without points that are too close to be distinguished."""
    points = np.column_stack([x, y])
    kept = points[_seen(points)]
    return "M" + "L".join(f"{pixels(a)} {pixels(b)}" for a, b in kept)


def _seen(points: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mark the first point of each run in one place of the raster, and the last point."""
    raster = np.rint(points / FINEST)
    seen = np.append(True, (np.diff(raster, axis=0) != 0).any(axis=1))
    seen[-1] = True
    return np.asarray(seen)


def short_name(name: str, longest: int = 18) -> str:
    """Shorten a name that is too long, by default for an axis."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def widened(low: float, high: float) -> tuple[float, float]:
    """Return the range, widened if it is empty."""
    if high > low:
        return float(low), float(high)
    reach = abs(low) * 0.1 or 0.5
    return float(low) - reach, float(low) + reach


def nice_ticks(low: float, high: float, wanted: int = 5) -> list[tuple[float, str]]:
    """Round numbers within a range."""
    rough = (high - low) / wanted
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * min((m for m in (1, 2, 5, 10) if m * power >= rough * 0.999), default=10)
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    values = np.arange(first, last + 1) * step
    return [(float(v), f"{v:.6g}" if abs(v) > step / 1e6 else "0") for v in values]


def _id(name: str) -> dict[str, str]:
    return {"id": name} if name else {}
