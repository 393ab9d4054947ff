"""Scorecard: a model with grades, points and calibrated probabilities."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from treerank._base import RankingModel
from treerank._input.classifiers import fit_weighted
from treerank._input.frames import frame_of
from treerank._input.label_order import by_class, by_rank, label_order_of
from treerank._input.labels import check_known_labels
from treerank._input.parameter_docs import insert_shared_docs
from treerank._input.parameters import check_choice, invalid_parameter, is_whole
from treerank._input.types import FittedClassifier, Floats, TableLike
from treerank._input.warn import warn
from treerank._reading.rules import group_rules
from treerank._select.scores import ranking_scores, shares_by_rank
from treerank._trees.ranking_tree import RankTree
from treerank.metrics._input import check_weights
from treerank.scoring._calibrator import METHODS, Calibrator, check_population_rate
from treerank.scoring._grades import Grades
from treerank.scoring._held_out import held_out_scores
from treerank.scoring._model_scores import grade_cuts, partition_of, scale_of, strata_scores
from treerank.scoring._point_steps import steps_of_range, steps_of_strata
from treerank.scoring._points import Points
from treerank.scoring._steps import step_of
from treerank.scoring._training_rows import are_training_rows


@insert_shared_docs
class Scorecard(RankingModel):
    """Add grades, points and calibrated probabilities to a model.

    The model is fitted to all rows. Grades, points and calibration are fitted to scores of rows by
    models that have not seen them: by out-of-bag trees for a forest of bootstrap samples, otherwise
    by cross-validation. A forest without ``oob_score=True`` is grown once more for this if it has
    at least 50 trees, and is cross-validated if it has fewer. With ``cv="prefit"`` the model is
    already fitted, and `fit` takes rows that it has not seen: on training rows the event rates of
    the grades and the probabilities would be too extreme. `fit` warns if it recognises the training
    rows of a tree or of a forest; for other models it cannot. The ranking does not change:
    `score_samples` and the AUC are those of the model.

    Parameters
    ----------
    estimator : estimator
        A model of this library, or any binary classifier.
    grades : int, Grades or None, default=7
        Maximum number of grades, or the way to choose them.
    points : Points or None, default=None
        Scale of points; two classes only. Strata of a tree with different scores get different
        points. For other models, scores beyond those of the held-out rows get the points of the
        last of them.
    calibration : {"auto", "beta", "sigmoid", "isotonic"} or None, default="auto"
        How probabilities are calibrated; see :class:`Calibrator`. "auto" is "beta" for two classes
        and None for more.
    population_rate : float or None, default=None
        Event rate of the population that the probabilities and points are for, if it differs from
        that of the rows.
    cv : int, splitter or "prefit", default=5
        Folds, for models without out-of-bag scores; "prefit" for a fitted `estimator`.

    Attributes
    ----------
    estimator_ : estimator
        The fitted model.
    grades_ : Grades or None
    calibrator_ : Calibrator or None
    point_cuts_, point_values_ : arrays
        Scores at which the points change, ascending, and the points of each step.
    {classes}
    held_out_ : str
        Description of the rows that the scores came from.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from treerank import TreeRank
    >>> from treerank.scoring import Points, Scorecard
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> card = Scorecard(TreeRank(), grades=3, points=Points(base_odds=1)).fit(X, y)
    >>> print(card.to_frame()[["grade", "rows", "event_rate", "points_from", "points_to"]].round(2))
      grade   rows  event_rate  points_from  points_to
    0     1  296.0        0.99          695        732
    1     2   90.0        0.68          581        669
    2     3  183.0        0.02          459        539
    >>> card.predict_grade(X[:3]).tolist(), card.predict_points(X[:3]).tolist()
    (['3', '3', '3'], [484, 459, 459])
    """

    def __init__(
        self,
        estimator: Any,
        *,
        grades: Any = 7,
        points: Points | None = None,
        calibration: str | None = "auto",
        population_rate: float | None = None,
        cv: Any = 5,
    ) -> None:
        self.estimator = estimator
        self.grades = grades
        self.points = points
        self.calibration = calibration
        self.population_rate = population_rate
        self.cv = cv

    estimator_: Any
    grades_: Grades | None
    calibrator_: Calibrator | None
    point_cuts_: Floats
    point_values_: NDArray[np.int64]
    held_out_: str

    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model, then grades, calibration and points to scores of held-out rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        self._checked()
        if isinstance(self.cv, str):
            check_is_fitted(self.estimator)
            scores = ranking_scores(self.estimator, X)
            self._warn_of_training_rows(X, y, sample_weight)
            return self.fit_scores(self.estimator, scores, y, sample_weight, "rows given")
        model = fit_weighted(clone(self.estimator), X, y, sample_weight)
        found = held_out_scores(
            model, X, check_known_labels(y, model.classes_),
            None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64),
            self.cv,
        )  # fmt: skip
        return self.fit_scores(model, found.score, y, sample_weight, found.said)

    def fit_scores(
        self,
        model: FittedClassifier,
        s: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        held_out: str = "rows given",
    ) -> Self:
        """Fit grades, calibration and points of a fitted model to given scores.

        Parameters
        ----------
        model : estimator
            A fitted model.
        s : array-like of shape (n_samples,)
            Scores of rows that the model was not trained on; NaN if a row has none.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        held_out : str, default="rows given"
            Description of the rows that the scores come from.

        Returns
        -------
        self
        """
        grades, calibration = self._checked()
        classes = label_order_of(model)
        if calibration == "auto":
            calibration = "beta" if len(classes) == 2 else None
        self._check_possible(classes, calibration)
        scores = np.asarray(s, dtype=np.float64)
        known = np.isfinite(scores)
        labels = check_known_labels(y, classes)
        weight = check_weights(sample_weight, len(labels))[known]
        rows = scores[known], labels[known], weight
        calibrator = None
        if calibration is not None:
            calibrator = Calibrator(
                calibration, scale=scale_of(model), population_rate=self.population_rate
            ).fit(*rows, pos_label=classes[-1])
        steps = None if self.points is None else self._point_steps(model, calibrator, rows[0])
        if grades is not None:
            cuts = grade_cuts(model, steps, rows[0], weight)
            grades.fit(*rows, candidates=cuts, labels=classes)
        self.estimator_, self.label_order_, self.held_out_ = model, classes, held_out
        self.grades_, self.calibrator_ = grades, calibrator
        self._keep_points(steps)
        return self

    def _warn_of_training_rows(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> None:
        labels = check_known_labels(y, self.estimator.classes_)
        weight = check_weights(sample_weight, len(labels))
        if are_training_rows(self.estimator, X, labels, weight):
            warn(
                "Got cv='prefit' with the rows that the model was fitted to; expected rows that it "
                "has not seen: on training rows the event rates of the grades and the "
                "probabilities are too extreme. Leave out cv, or pass other rows."
            )

    def _checked(self) -> tuple[Grades | None, str | None]:
        """Check the parameters; return unfitted grades and the method of calibration."""
        if isinstance(self.cv, str) and self.cv != "prefit":
            raise invalid_parameter("cv", self.cv, "an integer >= 2, a splitter or 'prefit'")
        check_population_rate(self.population_rate)
        check_choice("calibration", self.calibration, ("auto", *METHODS, None))
        if self.points is not None and not isinstance(self.points, Points):
            raise invalid_parameter("points", self.points, "Points(...) or None")
        if self.calibration is None and (self.points or self.population_rate is not None):
            raise ValueError(
                "Got calibration=None with points or population_rate; expected a calibration: "
                "both are made of probabilities. Leave it at 'auto'."
            )
        if self.grades is None:
            return None, self.calibration
        if is_whole(self.grades):
            reverse = False if self.points is None else bool(self.points.reverse)
            return Grades(int(self.grades), reverse=reverse), self.calibration
        if not isinstance(self.grades, Grades):
            raise invalid_parameter("grades", self.grades, "an integer >= 2, Grades(...) or None")
        return clone(self.grades), self.calibration

    def _check_possible(self, classes: NDArray[Any], calibration: str | None) -> None:
        if len(classes) > 2 and (calibration is not None or self.points is not None):
            raise ValueError(
                f"Got {len(classes)} classes with points or a calibration; expected two: with more "
                "there are no odds of one event. Leave out both, or rank one class."
            )

    def _point_steps(
        self, model: FittedClassifier, calibrator: Calibrator | None, scores: Floats
    ) -> tuple[Floats, NDArray[np.int64]]:
        assert calibrator is not None
        assert self.points is not None
        strata = strata_scores(model)
        if strata is not None:
            return steps_of_strata(self.points, calibrator, strata)
        low, high = float(scores.min()), float(scores.max())
        return steps_of_range(self.points, calibrator, low, high)

    def _keep_points(self, steps: tuple[Floats, NDArray[np.int64]] | None) -> None:
        for name in ("point_cuts_", "point_values_"):
            if hasattr(self, name):
                delattr(self, name)
        if steps is not None:
            self.point_cuts_, self.point_values_ = steps

    @property
    def n_features_in_(self) -> int:  # type: ignore[override]
        """Number of columns that the model was fitted on."""
        return int(self.estimator_.n_features_in_)

    def __getattr__(self, name: str) -> Any:
        # Only present if the model has names, as scikit-learn expects.
        if name == "feature_names_in_" and "estimator_" in self.__dict__:
            return self.estimator_.feature_names_in_
        return object.__getattribute__(self, name)  # raises, and says why a method is not there

    def __sklearn_is_fitted__(self) -> bool:
        return "estimator_" in self.__dict__

    def score_samples(self, X: TableLike) -> Floats:
        """Return the ranking score of each row, which is that of the model: shape (n_samples,)."""
        check_is_fitted(self)
        return ranking_scores(self.estimator_, X)

    def predict_proba(self, X: TableLike) -> Floats:
        """Return the class probabilities of each row: calibrated, or else those of the model."""
        check_is_fitted(self)
        if self.calibrator_ is None:
            return by_class(shares_by_rank(self.estimator_, X), self.label_order_)
        return self.probabilities_of(self.score_samples(X))

    def probabilities_of(self, scores: ArrayLike) -> Floats:
        """Return the calibrated class probabilities for scores, in the order of `classes_`."""
        return by_class(self._calibrated(scores), self.label_order_)

    def _calibrated(self, scores: ArrayLike) -> Floats:
        """Return the calibrated class probabilities for scores, worst class first."""
        calibrator = self._has("calibrator_", "probabilities", "calibration")
        log_odds = calibrator.decision_function(scores)
        return np.column_stack([1 / (1 + np.exp(log_odds)), 1 / (1 + np.exp(-log_odds))])

    def predict(self, X: TableLike) -> NDArray[Any]:
        """Return the most probable class of each row: shape (n_samples,)."""
        shares = by_rank(self.predict_proba(X), self)
        return np.asarray(self.label_order_[np.argmax(shares, axis=1)])

    def predict_grade(self, X: TableLike) -> NDArray[Any]:
        """Return the name of the grade of each row: shape (n_samples,)."""
        return np.asarray(self._has("grades_", "grades").predict(self.score_samples(X)))

    def predict_points(self, X: TableLike) -> NDArray[np.int64]:
        """Return the points of each row, as integers: shape (n_samples,)."""
        return self.points_of(self.score_samples(X))

    def points_of(self, scores: ArrayLike) -> NDArray[np.int64]:
        """Return the points for scores of the model: an array of the shape of `scores`."""
        values = self._has("point_values_", "points")
        return np.asarray(values[step_of(self.point_cuts_, scores)])

    def _has(self, name: str, what: str, parameter: str | None = None) -> Any:
        check_is_fitted(self)
        found = self.__dict__.get(name)
        if found is None:
            raise ValueError(
                f"Got a Scorecard without {what}; expected one fitted with {parameter or what}=."
            )
        return found

    def columns(self, by: str = "grade") -> dict[str, Any]:
        """Return the table of :meth:`to_frame`, column by column."""
        check_choice("by", by, ("grade", "stratum"))
        return self._grade_columns() if by == "grade" else self._stratum_columns()

    def to_frame(self, by: str = "grade", backend: str | None = None) -> Any:
        """Return the grades, or the strata of a tree, as a data frame, best grade first.

        Parameters
        ----------
        by : {"grade", "stratum"}, default="grade"
            "grade": scores, held-out rows, event rate with interval, points. "stratum": score,
            grade, points, probability and rule of each stratum of a tree.
        backend : {"pandas", "polars", "pyarrow"}, optional
            By default the first of these that is installed.
        """
        return frame_of(self.columns(by), backend)

    def _grade_columns(self) -> dict[str, Any]:
        table: dict[str, Any] = self._has("grades_", "grades").columns()
        if "point_values_" in self.__dict__:
            ends = self._grade_points(table["from_score"], table["below_score"])
            table["points_from"], table["points_to"] = ends
        return table

    def _grade_points(self, low: Floats, high: Floats) -> tuple[Any, Any]:
        """Return the lowest and the highest points in each grade."""
        first = step_of(self.point_cuts_, low)
        # The highest score below the next grade.
        last = step_of(self.point_cuts_, np.nextafter(high, -np.inf))
        strata = strata_scores(self.estimator_)
        if strata is not None:  # only the scores of strata occur
            first = step_of(self.point_cuts_, strata[np.searchsorted(strata, low)])
            last = step_of(self.point_cuts_, strata[np.searchsorted(strata, high) - 1])
        points = np.sort([self.point_values_[first], self.point_values_[last]], axis=0)
        return points[0], points[1]

    def _stratum_columns(self) -> dict[str, Any]:
        check_is_fitted(self)
        partition = partition_of(self.estimator_)
        scores = partition.scores
        table: dict[str, Any] = {"stratum": np.arange(len(partition)), "score": scores}
        if self.grades_ is not None:
            table["grade"] = self.grades_.predict(scores)
        if "point_values_" in self.__dict__:
            table["points"] = self.points_of(scores)
        if self.calibrator_ is not None:
            table["probability"] = self._calibrated(scores)[:, 1]
        table["training_rows"] = partition.counts.sum(axis=1)
        table["rule"] = partition.rules()
        return table

    def rules(self) -> list[str]:
        """Return a description of the rows in each grade, best first; for single trees only."""
        grades = self._has("grades_", "grades")
        partition = partition_of(self.estimator_)
        grade = grades.apply(partition.scores)
        strata = [np.flatnonzero(grade == k) for k in range(len(grades.names_))]
        tree = self.estimator_.tree_
        if not isinstance(tree, RankTree):
            said = partition.rules()
            return [" or ".join(f"({said[k]})" for k in of_grade) for of_grade in strata]
        rules = partition._rules
        leaves = [rules.leaves[of_grade] for of_grade in strata]
        return group_rules(tree, rules.binning, rules.names, leaves)


def unwrap(model: FittedClassifier) -> tuple[Any, Scorecard | None]:
    """Return the model that ranks, and the scorecard around it, if any."""
    if not isinstance(model, Scorecard):
        return model, None
    check_is_fitted(model)
    return model.estimator_, model
