"""Base class of the kernel baselines: standardise, map to features, fit a linear model."""

from __future__ import annotations

import numpy as np
from sklearn.preprocessing import StandardScaler

from treerank._input.parameters import check_choice, check_integer
from treerank._input.types import Floats
from treerank.baselines._kernel_features import (
    MAX_EXACT_ROWS,
    CholeskyFeatures,
    KernelScore,
    LinearFeatures,
    LinearScore,
    NystroemFeatures,
    cholesky_features,
    nystroem_features,
)
from treerank.baselines._parameters import check_positive
from treerank.baselines._ranking_classifier import RankingClassifier, TrainingRows, fit_scaler


class KernelRanker(RankingClassifier):
    """Base class of the kernel baselines; subclasses implement `_fit_linear`.

    Features are first standardised (weighted mean 0, variance 1). ``gamma="scale"`` is one over
    the number of features that vary.
    """

    kernel: str
    gamma: float | str
    approximation: str
    n_components: int
    random_state: int | np.random.RandomState | None
    scaler_: StandardScaler
    scoring_rule_: LinearScore | KernelScore

    def __sklearn_tags__(self):  # type: ignore[no-untyped-def]
        tags = super().__sklearn_tags__()
        # A linear score cannot rank three clusters in an arbitrary order.
        tags.classifier_tags.poor_score = self.kernel == "linear"
        return tags

    def _check_parameters(self) -> None:
        check_choice("kernel", self.kernel, ("linear", "rbf"))
        if not isinstance(self.gamma, str):
            check_positive("gamma", self.gamma)
        elif self.gamma != "scale":
            raise ValueError(f"Got gamma={self.gamma!r}; expected a number > 0 or 'scale'.")
        check_choice("approximation", self.approximation, ("auto", "exact", "nystroem"))
        check_integer("n_components", self.n_components, 1)

    def _fit_rows(self, rows: TrainingRows) -> Floats:
        self.scaler_ = fit_scaler(rows)
        features = self._map_features(self.scaler_.transform(rows.X))
        coef, scores = self._fit_linear(features.values, rows)
        self.scoring_rule_ = features.score_of(coef)
        return scores

    def _map_features(self, X: Floats) -> LinearFeatures | CholeskyFeatures | NystroemFeatures:
        if self.kernel == "linear":
            return LinearFeatures(X)
        gamma = self.gamma
        if isinstance(gamma, str):
            gamma = 1.0 / max(1, int(np.count_nonzero(np.ptp(X, axis=0))))
        few = len(X) <= MAX_EXACT_ROWS
        if self.approximation == "exact" or (self.approximation == "auto" and few):
            return cholesky_features(X, gamma)
        return nystroem_features(X, gamma, self.n_components, self.random_state)

    def _fit_linear(self, features: Floats, rows: TrainingRows) -> tuple[Floats, Floats]:
        """Return the coefficients, and the training scores that set the cut-offs."""
        raise NotImplementedError

    def _raw_scores(self, X: Floats) -> Floats:
        return self.scoring_rule_(self.scaler_.transform(X))
