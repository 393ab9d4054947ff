"""Simulated models with their posterior, optimal score and optimal ROC curve or surface.

Binary labels are 0 and 1, ordinal labels 1 < 2 < … < K. A threshold always selects the rows
**above** it, and curves are listed best first, as everywhere in this library.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, softmax
from sklearn.utils import check_array, check_random_state

from treerank._input.types import Floats, Ints, RandomStateLike

from ._roc_surface import RocSurface

TruthT = TypeVar("TruthT", bound="Truth")


@dataclass(frozen=True, eq=False)
class SimulatedSample(Generic[TruthT]):
    """Rows drawn from a simulated model, together with the model.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        Labels: 0 and 1, or 1 < 2 < … < K.
    eta : ndarray of shape (n_samples,) or (n_samples, K)
        Posterior probability of label 1 at each row; for ordinal labels, of every class.
    truth : BinaryTruth or OrdinalTruth
        The model. ``truth.sample(n)`` draws a test sample from it.
    """

    X: Floats
    y: Ints
    eta: Floats
    truth: TruthT


class RocCurve(NamedTuple):
    """Points of a ROC curve, as `sklearn.metrics.roc_curve` returns them.

    Attributes
    ----------
    fpr, tpr : ndarray
        False and true positive rate, both increasing from 0 to 1.
    thresholds : ndarray
        Likelihood ratio above which a row is selected; the slope of the curve at that point.
    """

    fpr: Floats
    tpr: Floats
    thresholds: Floats


class Truth(ABC):
    """A distribution of labelled rows that is known exactly.

    Attributes
    ----------
    class_shares : ndarray of shape (n_classes,)
        Probability of each label.
    classes : ndarray of shape (n_classes,)
        The labels.
    """

    class_shares: Floats
    on_unit_square = False

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of columns of X."""

    @property
    @abstractmethod
    def classes(self) -> Ints:
        """The labels, worst first."""

    @abstractmethod
    def posterior(self, X: ArrayLike) -> Floats:
        """Return the probability of the labels at given rows."""

    @abstractmethod
    def score(self, X: ArrayLike) -> Floats:
        """Return an optimal score: no score ranks better."""

    @abstractmethod
    def _draw(self, which: int, size: int, random: np.random.RandomState) -> Floats:
        """Draw rows of the class at position `which`."""

    def _check_rows(self, X: ArrayLike) -> Floats:
        rows: Floats = check_array(X, dtype=np.float64)
        if rows.shape[1] != self.n_features:
            raise ValueError(f"Got {rows.shape[1]} columns in X; expected {self.n_features}.")
        if self.on_unit_square and np.any((rows < 0) | (rows > 1)):
            row = int(np.argmax(np.any((rows < 0) | (rows > 1), axis=1)))
            raise ValueError(f"Got row {row} outside the unit square, where the model has no mass.")
        return rows

    def sample(
        self, n_samples: int, *, random_state: RandomStateLike = None
    ) -> "SimulatedSample[Self]":
        """Draw independent labelled rows.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        random_state : int, RandomState or None, default=None
            The same number gives the same sample.

        Returns
        -------
        SimulatedSample
        """
        if not isinstance(n_samples, int | np.integer) or n_samples < 1:
            raise ValueError(f"Got n_samples={n_samples!r}; expected an integer >= 1.")
        random = check_random_state(random_state)
        which = random.choice(self.class_shares.size, size=n_samples, p=self.class_shares)
        X = np.empty((n_samples, self.n_features))
        for k in range(self.class_shares.size):
            members = which == k
            X[members] = self._draw(k, int(members.sum()), random)
        return SimulatedSample(X, self.classes[which], self.posterior(X), self)


class BinaryTruth(Truth):
    """A model of two classes, ranked by their likelihood ratio (Neyman and Pearson)."""

    @property
    def classes(self) -> Ints:
        """The labels, 0 and 1."""
        return np.arange(2)

    @property
    def positive_rate(self) -> float:
        """Probability of label 1."""
        return float(self.class_shares[1])

    @abstractmethod
    def score(self, X: ArrayLike) -> Floats:
        """Return the log likelihood ratio of positives to negatives at given rows."""

    @abstractmethod
    def rates(self, ratio: ArrayLike) -> tuple[Floats, Floats]:
        """Return false and true positive rate of the rows whose likelihood ratio is above `ratio`.

        The optimal curve has slope `ratio` at that point.
        """

    @property
    @abstractmethod
    def roc(self) -> RocCurve:
        """The optimal ROC curve."""

    @property
    @abstractmethod
    def auc(self) -> float:
        """The area under the optimal ROC curve, which no score exceeds."""

    def posterior(self, X: ArrayLike) -> Floats:
        """Return the probability of label 1 at given rows."""
        eta: Floats = expit(self.score(X) + logit(self.positive_rate))
        return eta


class SmoothBinaryTruth(BinaryTruth):
    """A model whose likelihood ratio has a density: its ROC curve is tabulated finely."""

    # Enough for the area below to be accurate to 1e-11 for every model of this package.
    _n_pieces = 2048

    @property
    @abstractmethod
    def log_ratio_range(self) -> tuple[float, float]:
        """Bounds of the log likelihood ratio, up to a mass of about 1e-14."""

    @cached_property
    def roc(self) -> RocCurve:
        """Points of the optimal ROC curve, at thresholds spaced by mass and slope."""
        low, high = self.log_ratio_range
        levels = np.linspace(high, low, 257)
        travelled = np.sum(self.rates(np.exp(levels)), axis=0) + (high - levels) / (high - low)
        even = np.linspace(travelled[0], travelled[-1], self._n_pieces + 1)
        thresholds = np.exp(np.interp(even, travelled, levels))
        # Rounding must not make the curve decrease.
        fpr, tpr = (np.maximum.accumulate(rate) for rate in self.rates(thresholds))
        fpr[[0, -1]] = tpr[[0, -1]] = 0.0, 1.0
        return RocCurve(fpr, tpr, thresholds)

    @cached_property
    def auc(self) -> float:
        """The area under the optimal ROC curve.

        The slope of the curve is known at every knot, so the trapezoidal rule can be corrected to
        fourth order.
        """
        fpr, tpr, slope = self.roc
        step = np.diff(fpr)
        trapezoids = step * (tpr[1:] + tpr[:-1]) / 2
        return float(np.sum(trapezoids - step**2 * np.diff(slope) / 12))


class OrdinalTruth(Truth):
    """A model of K ordered classes with an optimal score: all likelihood ratios increase with it.

    This is Condition 2.1 of Clémençon and Robbiano (2013).
    """

    @property
    def classes(self) -> Ints:
        """The labels 1 < 2 < … < K."""
        return np.arange(1, self.class_shares.size + 1)

    @abstractmethod
    def log_densities(self, X: ArrayLike) -> Floats:
        """Return the log density of every class at given rows, of shape (n_rows, K)."""

    @abstractmethod
    def tails(self, level: ArrayLike) -> Floats:
        """Return, for each class, the probability of a score above `level`."""

    @abstractmethod
    def level(self, pair: int, ratio: ArrayLike) -> Floats:
        """Return the score above which class ``pair + 1`` is `ratio` times as likely as ``pair``.

        `pair` counts from 1. Ratios that are not reached give the end of the scale.
        """

    @property
    @abstractmethod
    def roc_surface(self) -> RocSurface:
        """The optimal ROC surface."""

    @property
    @abstractmethod
    def vus(self) -> float:
        """The volume under the optimal ROC surface, which no score exceeds."""

    def posterior(self, X: ArrayLike) -> Floats:
        """Return the probability of every class at given rows, of shape (n_rows, K)."""
        # An absent class has log density -inf, which softmax handles correctly.
        with np.errstate(divide="ignore"):
            eta: Floats = softmax(self.log_densities(X) + np.log(self.class_shares), axis=1)
        return eta


def two_shares(positive_rate: float) -> Floats:
    """Return the class shares of a binary model."""
    if not 0 < positive_rate < 1:
        raise ValueError(f"Got positive_rate={positive_rate}; expected a number between 0 and 1.")
    return np.array([1 - positive_rate, positive_rate])


def check_shares(class_shares: ArrayLike | None, default: Floats) -> Floats:
    """Return the class shares of an ordinal model."""
    shares = default if class_shares is None else np.asarray(class_shares, dtype=np.float64)
    if shares.shape != default.shape or np.any(shares <= 0) or not np.isclose(shares.sum(), 1):
        raise ValueError(
            f"Got class_shares={class_shares!r}; expected {default.size} positive numbers of sum 1."
        )
    return np.asarray(shares / shares.sum())
