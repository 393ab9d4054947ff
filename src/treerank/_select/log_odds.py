"""Class probabilities from scores: the log-odds of each cut between classes are linear in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

# Smallest slope: a score that ranks no better than chance still needs a cut-off.
LEAST_SLOPE = 1e-6


def log_odds_lines(
    scores: NDArray[np.float64], rank: NDArray[np.intp], weight: NDArray[np.float64], n_classes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fit the log-odds of being above each class but the last; return slopes and intercepts."""
    centred = scores - np.average(scores, weights=weight)
    spread = float(np.sqrt(np.average(centred**2, weights=weight))) or 1.0
    lines = []
    for k in range(n_classes - 1):
        line = LogisticRegression(solver="newton-cholesky", tol=1e-10).fit(
            scores[:, np.newaxis] / spread, rank > k, sample_weight=weight
        )
        lines.append((max(line.coef_[0, 0] / spread, LEAST_SLOPE), line.intercept_[0]))
    slopes, intercepts = np.array(lines).T
    return slopes, intercepts
