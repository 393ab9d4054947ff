"""Helpers of the displays: matplotlib on demand, axes, and literal text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Names of columns and models are not formulas: `$` and `_` are shown literally.
LITERAL = {"parse_math": False, "usetex": False}
BELOW_AXES = 0.5  # inches taken by the ticks and the label of the x axis


def require_pyplot() -> Any:
    """Return matplotlib.pyplot, or raise an error that says how to install it."""
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "Plots need matplotlib; install it with: pip install 'treerank-ml[plot]'"
        ) from error
    return plt


def axes_for(ax: Axes, size: tuple[float, float], **layout: Any) -> Any:
    """Return the given axes, or those of a new figure of the given size in inches."""
    if ax is not None:
        return ax
    return require_pyplot().subplots(figsize=size, **layout)[1]


def style_axes(ax: Axes, x_label: str, y_label: str) -> None:
    """Label the axes, and draw a light grid below everything."""
    ax.set_xlabel(x_label, **LITERAL)
    ax.set_ylabel(y_label, **LITERAL)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="0.93", linewidth=0.8)
    ax.set_axisbelow(True)


def lines_of(ax: Axes, gid: str) -> list[Any]:
    """Return the lines that displays have drawn on the axes with a tag."""
    return [line for line in ax.get_lines() if line.get_gid() == gid]


def diagonal(ax: Axes, gid: str) -> None:
    """Draw a grey diagonal, once for all displays on the axes."""
    if not lines_of(ax, gid):
        ax.plot([0, 1], [0, 1], color="0.75", linewidth=1, zorder=1, gid=gid, label="_diagonal")


def slant_of(labels: Sequence[str]) -> dict[str, Any]:
    """Return the options that slant the labels of an x axis, if they would overlap."""
    crowded = sum(map(len, labels)) > 24
    return {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if crowded else {}


def add_legend(ax: Axes, handles: list[Any], labels: list[str], **options: Any) -> Any:
    """Draw a legend whose labels are shown literally.

    The labels are set afterwards, because matplotlib leaves out those that start with `_`.
    """
    legend = ax.legend(handles, ["label"] * len(handles), **options)
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.set(text=label, **LITERAL)
    return legend


def name_lines(ax: Axes, gid: str) -> None:
    """Draw a legend of the lines with a tag."""
    lines = lines_of(ax, gid)
    add_legend_below(ax, lines, [line.get_label() for line in lines])


def add_legend_below(ax: Axes, handles: list[Any], labels: list[str]) -> Any:
    """Draw the legend below the axes, where it covers no curve.

    Only a figure with a layout engine makes room there; in others the legend is put inside.
    """
    if ax.figure.get_layout_engine() is None:
        return add_legend(ax, handles, labels, loc="best")
    from matplotlib.transforms import ScaledTranslation  # noqa: PLC0415

    under_label = ScaledTranslation(0, -BELOW_AXES, ax.figure.dpi_scale_trans)
    return add_legend(
        ax, handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + under_label, borderaxespad=0.0, frameon=False,
    )  # fmt: skip
