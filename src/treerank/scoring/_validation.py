"""validate: how optimistic a model's apparent measures are, and how stable its predictions are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from treerank._input.frames import frame_of
from treerank._input.label_order import class_codes, label_order_of
from treerank._input.labels import check_known_labels
from treerank._input.parameters import check_integer, check_n_jobs
from treerank._input.seed import seed_of
from treerank._input.types import FittedClassifier, Floats, RandomStateLike, TableLike
from treerank.metrics._input import check_level, check_weights
from treerank.scoring._bootstrap import (
    Predictions,
    Rows,
    fit_procedure,
    measure_names,
    measures,
    no_information,
    predict,
    refits,
)
from treerank.scoring._held_out import held_out_scores

N_FOLDS = 10
DRAWN_SHARE = 0.632  # expected share of the rows in a bootstrap sample: 1 - 1 / e


@dataclass(frozen=True, eq=False)
class Validation:
    """Result of :func:`validate`; it prints as a table of optimism.

    Attributes
    ----------
    names : list of str
        Measures: AUC, Brier score and calibration slope; only the AUC for a model without
        probabilities, and the VUS for more than two classes.
    apparent : array of shape (n_measures,)
        Measures on the rows that the model was fitted to.
    training, test, out_of_bag : arrays of shape (n_boot, n_measures)
        Measures of the model of each bootstrap sample: on the sample, on all rows, and on the rows
        that are not in the sample.
    optimism, corrected : arrays of shape (n_measures,)
        Harrell's: the mean of training minus test, and the apparent measures minus this optimism.
    corrected_632plus : array of shape (n_measures,)
        Efron and Tibshirani's .632+ estimate.
    prediction : array of shape (n_samples,)
        Prediction of the model itself for each row: the probability of the event, or the score.
    predictions : array of shape (n_boot, n_samples)
        Predictions of the models of the bootstrap samples.
    is_probability : bool
        Whether predictions are probabilities.
    held_out : array of shape (n_measures,)
        Measures on held-out folds, or out of bag for a forest: a check, and the better guide for
        models that memorise their rows, whose optimism the bootstrap underestimates.
    """

    names: list[str]
    apparent: Floats
    training: Floats
    test: Floats
    out_of_bag: Floats
    no_information: Floats
    prediction: Floats
    predictions: Floats
    is_probability: bool
    held_out: Floats

    @property
    def n_boot(self) -> int:
        """Number of bootstrap samples."""
        return len(self.training)

    @property
    def optimism(self) -> Floats:
        """How much better a model looks on its own sample than on all rows, on average."""
        return np.asarray(np.nanmean(self.training - self.test, axis=0))

    @property
    def corrected(self) -> Floats:
        """The apparent measures minus their optimism."""
        return np.asarray(self.apparent - self.optimism)

    @property
    def corrected_632plus(self) -> Floats:
        """The .632+ estimates: between apparent and out of bag, near the latter if overfitted."""
        out, none = np.nanmean(self.out_of_bag, axis=0), self.no_information
        room = self.apparent - none
        lost = np.divide(self.apparent - out, room, out=np.zeros_like(room), where=room != 0)
        overfitting = np.clip(lost, 0.0, 1.0)
        out = np.where(lost > 1.0, none, out)
        weight = DRAWN_SHARE / (1 - (1 - DRAWN_SHARE) * overfitting)
        return np.asarray((1 - weight) * self.apparent + weight * out)

    @property
    def mape(self) -> Floats:
        """Mean absolute difference of the bootstrap predictions of each row from the model's."""
        return np.asarray(np.mean(np.abs(self.predictions - self.prediction), axis=0))

    def limits(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return limits that contain a share `level` of the bootstrap predictions of each row."""
        tail = (1 - check_level(level)) / 2
        lower, upper = np.quantile(self.predictions, [tail, 1 - tail], axis=0)
        return lower, upper

    def classification_instability(self, cutoff: float = 0.5) -> Floats:
        """Share of the bootstrap models that put each row on the other side of a cut-off."""
        if self.is_probability and not 0 < cutoff < 1:
            raise ValueError(f"Got cutoff={cutoff!r}; expected a probability between 0 and 1.")
        return np.asarray(
            np.mean((self.predictions >= cutoff) != (self.prediction >= cutoff), axis=0)
        )

    def columns(self) -> dict[str, Any]:
        """Return the table of :meth:`to_frame`, column by column."""
        return {
            "measure": self.names,
            "apparent": self.apparent,
            "training": np.nanmean(self.training, axis=0),
            "test": np.nanmean(self.test, axis=0),
            "optimism": self.optimism,
            "corrected": self.corrected,
            "out_of_bag": np.nanmean(self.out_of_bag, axis=0),
            "corrected_632plus": self.corrected_632plus,
            "held_out": self.held_out,
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the table of optimism as a data frame, one row per measure.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            By default the first of these that is installed.
        """
        return frame_of(self.columns(), backend)

    def __repr__(self) -> str:
        table = self.columns()
        shown = {"apparent": "apparent", "optimism": "optimism", "corrected": "corrected",
                 "corrected_632plus": ".632+", "held_out": "held out"}  # fmt: skip
        lines = [f"{'':18} " + " ".join(f"{title:>9}" for title in shown.values())]
        for k, name in enumerate(self.names):
            row = (table[column][k] for column in shown)
            lines.append(f"{name:18} " + " ".join(f"{value:9.4f}" for value in row))
        what = "probability" if self.is_probability else "score"
        lines.append(
            f"{self.n_boot} bootstrap samples; from one to another, the {what} of a row moves by "
            f"{self.mape.mean():.4f} on average."
        )
        return "\n".join(lines)


def validate(
    estimator: Any,
    X: TableLike,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    n_boot: int = 200,
    n_jobs: int | None = None,
    random_state: RandomStateLike = 0,
) -> Validation:
    """Estimate the optimism of a model's apparent measures, and the stability of its predictions.

    The whole procedure, including any tuning, is repeated on bootstrap samples. The optimism of
    each model is how much better it looks on its own sample than on all rows; the mean optimism is
    subtracted from the apparent measures [1]_ [2]_. The .632+ estimate [3]_ weighs the apparent
    measures against those on rows outside the samples. The same models show how unstable the
    prediction of each row is [4]_.

    Both corrections were developed for regression models. For a model that memorises its rows, as a
    deep tree or a forest does, they are still too optimistic; held-out measures are given as well.

    Parameters
    ----------
    estimator : estimator
        The procedure, not yet fitted: a model of this library, any binary classifier, or a search
        over its parameters. Copies of a row stay in the same inner fold: models of this library
        take them as weights, and a search whose ``cv`` is a number gets folds that keep them
        together; other procedures get repeated rows.
    X : array-like or data frame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    sample_weight : array-like of shape (n_samples,), optional
    n_boot : int, default=200
        Number of bootstrap samples.
    n_jobs : int, optional
        Number of threads, each of which fits to different samples; -1 for all cores.
    random_state : int, default=0
        Seed of the samples. The result does not depend on `n_jobs`.

    Returns
    -------
    Validation

    References
    ----------
    .. [1] Efron (1983), "Estimating the error rate of a prediction rule", Journal of the American
       Statistical Association 78.
    .. [2] Harrell, Lee and Mark (1996), "Multivariable prognostic models", Statistics in
       Medicine 15.
    .. [3] Efron and Tibshirani (1997), "Improvements on cross-validation: the .632+ bootstrap
       method", Journal of the American Statistical Association 92.
    .. [4] Riley and Collins (2023), "Stability of clinical prediction models developed using
       statistical or machine learning methods", Biometrical Journal 65.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from treerank import TreeRank
    >>> from treerank.scoring import validate
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = validate(TreeRank(), X, y, n_boot=20)
    >>> apparent, corrected = found.apparent[0], found.corrected[0]
    >>> bool(corrected < apparent)
    True
    """
    samples = check_integer("n_boot", n_boot, 2)
    seed, threads = seed_of(random_state), check_n_jobs(n_jobs)
    weight = None if sample_weight is None else check_weights(sample_weight, np.shape(y)[0])
    model, rows = _fit(estimator, X, y, weight)
    said = predict(model, rows)
    found = refits(estimator, rows, samples, seed, threads)
    has_probability = said.probability is not None
    predictions = [one.said.probability if has_probability else one.said.score for one in found]
    return Validation(
        names=measure_names(rows, has_probability),
        apparent=measures(rows, said, rows.weight),
        training=np.stack([one.training for one in found]),
        test=np.stack([one.test for one in found]),
        out_of_bag=np.stack([one.out_of_bag for one in found]),
        no_information=no_information(rows, said),
        prediction=said.score if said.probability is None else said.probability,
        predictions=np.stack([np.asarray(one) for one in predictions]),
        is_probability=has_probability,
        held_out=_held_out(model, rows, has_probability),
    )


def _held_out(model: FittedClassifier, rows: Rows, has_probability: bool) -> Floats:
    """Return the measures on rows that the models were not fitted to."""
    found = held_out_scores(model, rows.X, rows.labels, rows.weight, N_FOLDS)
    known = np.isfinite(found.score)
    weight = np.where(known, 1.0 if rows.weight is None else rows.weight, 0.0)
    if has_probability and found.probability is None:  # out-of-bag ranks of a consensus
        only = measures(rows, Predictions(found.score, None), weight)
        return np.append(only, [np.nan, np.nan])
    return measures(rows, Predictions(found.score, found.probability), weight)


def _fit(estimator: Any, X: TableLike, y: ArrayLike, weight: Floats | None) -> tuple[Any, Rows]:
    """Fit to all rows, which also determines the classes and their order."""
    first = Rows(X, np.asarray(y), np.array([]), np.array([], dtype=np.intp), weight)
    model = fit_procedure(clone(estimator), first)
    check_is_fitted(model)
    classes = label_order_of(model)
    labels = check_known_labels(y, classes)
    code = class_codes(labels, classes)
    smallest = int(np.bincount(code, minlength=len(classes)).min())
    if smallest < 2:
        raise ValueError(
            f"Got {smallest} row of one of the classes {classes.tolist()}; expected at least 2 of "
            "each, so that bootstrap samples can leave some out."
        )
    return model, Rows(X, labels, classes, code, weight)
