"""Distribution of the scores of each class."""

from __future__ import annotations

import numpy as np

from treerank._report._pictures import Picture, short_name, widened
from treerank._report._sample import ScoredRows

N_BINS = 50
STRIP = 46  # height of the strip of a class, in pixels


def score_histogram(sample: ScoredRows, names: list[str]) -> Picture:
    """Draw a strip for each class, the highest on top.

    The highest bar of each class fills its strip, so that rare classes are readable too.
    """
    edges = np.linspace(*widened(float(sample.score.min()), float(sample.score.max())), N_BINS + 1)
    n_classes = len(names)
    counts = [
        np.histogram(sample.score, edges, weights=sample.weight * (sample.code == k))[0]
        for k in range(n_classes)
    ]
    labels = [short_name(name) for name in names]
    picture = Picture(
        "Histogram of the scores of each class",
        "score", "", x_range=(float(edges[0]), float(edges[-1])), y_range=(0.0, float(n_classes)),
        y_ticks=list(zip(np.arange(float(n_classes)).tolist(), labels, strict=True)),
        full_names=dict(zip(labels, names, strict=True)),
        width=460, height=STRIP * n_classes + 58, left=int(22 + 6.8 * max(map(len, labels))),
    )  # fmt: skip
    for k, row in enumerate(counts):
        for i in np.flatnonzero(row):
            top = k + 0.94 * float(row[i] / row.max())
            picture.rectangle((edges[i], edges[i + 1]), (float(k), top), "bar", shade(k, n_classes))
    return picture


def shade(k: int, n_classes: int) -> float:
    """Strength of the colour of a class: the higher the class, the stronger."""
    return 0.3 + 0.7 * k / max(n_classes - 1, 1)
