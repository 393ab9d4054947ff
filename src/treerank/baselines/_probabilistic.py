"""Baselines that model the probability of the positive class: the score is its log-odds."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from treerank._input.types import Floats
from treerank.baselines._ranking_classifier import RankingClassifier, TrainingRows


class ProbabilisticRanker(RankingClassifier):
    """Base class of the binary baselines whose score is a log-odds, so that 0 is the cut-off."""

    def __sklearn_tags__(self):  # type: ignore[no-untyped-def]
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the probabilities of the two classes.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, 2)
        """
        log_odds = self.score_samples(X)
        return np.column_stack([expit(-log_odds), expit(log_odds)])

    def _set_cut_offs(self, scores: Floats, rows: TrainingRows) -> None:
        self.offset_ = 0.0
        self.cut_offs_ = np.zeros(1)
