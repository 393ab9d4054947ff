"""Average ranks of models over sets, and how far apart they must be to differ."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, studentized_range

FloatArray = NDArray[np.float64]


def average_ranks(values: FloatArray) -> FloatArray:
    """Mean rank of each model (columns) over the sets (rows); 1 is the best, ties share."""
    return np.asarray(rankdata(-values, axis=1).mean(axis=0))


def critical_difference(n_models: int, n_sets: int, level: float = 0.95) -> float:
    """Nemenyi's: two models whose average ranks are closer do not differ at this level."""
    quantile = studentized_range.ppf(level, n_models, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_models * (n_models + 1) / (6 * n_sets)))


def cliques(ranks: FloatArray, difference: float) -> list[tuple[int, int]]:
    """Return the longest runs of sorted ranks that lie within the difference, as first and last."""
    ranks = np.sort(ranks)
    runs: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = int(np.searchsorted(ranks, ranks[first] + difference, side="right")) - 1
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs


def draw_ranks(names: list[str], ranks: FloatArray, difference: float, path: Path) -> None:
    """Draw the models on a line by average rank; a bar joins those that do not differ."""
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    order = np.argsort(ranks, kind="stable")
    n, half = len(names), (len(names) + 1) // 2
    runs = cliques(ranks, difference)
    fig = plt.figure(figsize=(8, 0.9 + 0.26 * half + 0.14 * len(runs)))
    ax = fig.add_axes((0, 0, 1, 1))
    low = np.floor(ranks.min())
    high = max(np.ceil(ranks.max()), low + 1)
    ax.hlines(0, low, high, color="black", lw=1)
    for tick in np.arange(low, high + 1):
        ax.vlines(tick, 0, 0.15, color="black", lw=1)
        ax.text(tick, 0.25, f"{tick:g}", ha="center", va="bottom", fontsize=9)
    first_line = 0.6 + 0.35 * len(runs)
    for place, i in enumerate(order):
        left = place < half
        depth = -(first_line + 0.6 * (place if left else n - 1 - place))
        edge = low - 0.2 if left else high + 0.2
        ax.plot([ranks[i], ranks[i], edge], [0, depth, depth], color="0.4", lw=0.8)
        text = f"{names[i]}  {ranks[i]:.1f}" if left else f"{ranks[i]:.1f}  {names[i]}"
        ax.text(edge, depth, text + " " if left else " " + text,
                ha="right" if left else "left", va="center", fontsize=9)  # fmt: skip
    values = np.sort(ranks)
    for k, (a, b) in enumerate(runs):
        ax.hlines(-0.35 * (k + 1), values[a] - 0.04, values[b] + 0.04, color="C0", lw=3)
    ax.hlines(1.5, low, low + difference, color="C0", lw=3)
    ax.text(low + difference / 2, 1.6, f"critical difference {difference:.1f}", ha="center",
            va="bottom", fontsize=9)  # fmt: skip
    margin = 0.45 * (high - low)
    ax.set_xlim(low - margin, high + margin)
    ax.set_ylim(-(first_line + 0.6 * half), 2.5)
    ax.axis("off")
    path.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(path, dpi=150, bbox_inches="tight")
    plt.close(fig)
