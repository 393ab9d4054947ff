"""The ROC curve with its band, and the cut-offs that can be chosen on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._input.types import Floats
from treerank._report._pictures import Picture
from treerank._report._sample import ScoredRows
from treerank.metrics import auc_interval, gini_score, ks_score, roc_band
from treerank.metrics._input import BinarySample
from treerank.metrics._ties import cumulated_weights

# Most cut-offs along the curve: dragging has no finer resolution.
MAX_CUTS = 200


@dataclass(frozen=True)
class Cuts:
    """Cut-offs, strictest first, with the class weights at or above each score.

    The first one flags no row, and has no score.
    """

    score: list[float | None]
    negative: Floats
    positive: Floats
    has_all: bool = True  # not thinned

    @property
    def best(self) -> int:
        """Index of the cut-off with the largest difference of the rates (KS, Youden)."""
        gap = self.positive / self.positive[-1] - self.negative / self.negative[-1]
        return int(np.argmax(gap))

    def numbers(self, i: int) -> dict[str, float | None]:
        """Return the figures of one cut-off; the script computes the same."""
        total_negative, total_positive = float(self.negative[-1]), float(self.positive[-1])
        fp, tp = float(self.negative[i]), float(self.positive[i])
        flagged, total = fp + tp, total_negative + total_positive
        return {
            "score": self.score[i],
            "tp": tp,
            "fp": fp,
            "fn": total_positive - tp,
            "tn": total_negative - fp,
            "tpr": tp / total_positive,
            "fpr": fp / total_negative,
            "precision": tp / flagged if flagged else None,
            "flagged": flagged / total,
            "approved": 1 - flagged / total,
            "missed": (total_positive - tp) / (total - flagged) if flagged < total else None,
        }

    def data(self) -> dict[str, Any]:
        """Return the data for the script."""
        return {
            "score": self.score,
            "negative": plain(self.negative),
            "positive": plain(self.positive),
        }


def cuts_of_sample(sample: ScoredRows) -> Cuts:
    """Cut-offs at all scores, thinned to what dragging can resolve."""
    rows = BinarySample(sample.code == 1, sample.score, sample.weight)
    negative, positive, score = cumulated_weights(rows)
    along = negative / negative[-1] + positive / positive[-1]
    kept = np.arange(len(along))
    if len(along) > MAX_CUTS:
        wanted = np.linspace(0, along[-1], MAX_CUTS)
        best = np.argmax(positive / positive[-1] - negative / negative[-1])
        kept = np.unique(np.append(np.searchsorted(along, wanted - 1e-12), best))
    scores = [
        None if i == 0 or not np.isfinite(score[i - 1]) else float(score[i - 1]) for i in kept
    ]
    return Cuts(scores, negative[kept], positive[kept], len(along) <= MAX_CUTS)


def cuts_of_cells(counts: Floats, scores: Floats) -> Cuts:
    """Cut-offs between strata (class counts, best first), not between strata of equal score."""
    ends = np.append(np.diff(scores) != 0, True)
    sums = np.vstack([np.zeros(2), np.cumsum(counts, axis=0)[ends]])
    return Cuts([None, *scores[ends].tolist()], sums[:, 0], sums[:, 1])


def roc_picture(sample: ScoredRows, cuts: Cuts, training: Cuts | None, level: float) -> Picture:
    """Draw the curve with its simultaneous band, and the curve of the training rows."""
    picture = Picture(
        "ROC curve: share of events found against share of non-events flagged, with its band",
        "false positive rate",
        "true positive rate",
    )
    band = roc_band(sample.code, sample.score, level, sample_weight=sample.weight)
    picture.area(band.fpr, band.lower, band.upper, "band", "roc-band")
    picture.line([0, 1], [0, 1], "chance")
    if training is not None:
        picture.line(*_rates(training), "training", "roc-training")
    fpr, tpr = band.fpr, band.tpr
    if cuts.has_all:
        fpr, tpr = _rates(cuts)
    picture.line(fpr, tpr, "kept", "roc-kept")
    picture.line(fpr, tpr, "curve", "roc-curve")
    picture.dots([0], [0], "node", "roc-node", 6)
    x, y = _rates(cuts)
    picture.dots(x[[cuts.best]], y[[cuts.best]], "cut", "roc-cut", 7)
    return picture


def roc_summary(sample: ScoredRows, level: float) -> dict[str, Any]:
    """AUC with its interval, Gini and KS."""
    interval = auc_interval(sample.code, sample.score, sample_weight=sample.weight, level=level)
    arguments = (sample.code, sample.score)
    return {
        "auc": interval.auc,
        "lower": interval.lower,
        "upper": interval.upper,
        "gini": gini_score(*arguments, sample_weight=sample.weight),
        "ks": ks_score(*arguments, sample_weight=sample.weight),
    }


def _rates(cuts: Cuts) -> tuple[Floats, Floats]:
    return cuts.negative / cuts.negative[-1], cuts.positive / cuts.positive[-1]


def plain(values: NDArray[Any]) -> list[Any]:
    """Return numbers for JSON, integers without a decimal point."""
    return [int(v) if v == int(v) else v for v in np.asarray(values, dtype=float).round(9).tolist()]
