"""The function compare: several models on the same held-out rows of one table."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_regressor
from sklearn.metrics import roc_auc_score

from treerank import _core
from treerank._comparison.folds import Fold, make_folds
from treerank._comparison.result import Comparison
from treerank._input.classifiers import fit_weighted, own_label_order, with_label_order
from treerank._input.frames import take_rows_of
from treerank._input.labels import check_labels
from treerank._input.parameters import invalid_parameter
from treerank._input.seed import seed_of
from treerank._input.types import Floats, LabelOrder, RandomStateLike, TableLike
from treerank._input.weights import check_weights
from treerank.metrics import ordinal_vus_score
from treerank.metrics._input import check_level


def compare(
    estimators: Any,
    X: TableLike,
    y: ArrayLike,
    *,
    cv: Any = 10,
    n_repeats: int = 1,
    groups: ArrayLike | None = None,
    time: Any = None,
    sample_weight: ArrayLike | None = None,
    label_order: LabelOrder = None,
    baseline: str | None = None,
    level: float = 0.95,
    n_jobs: int | None = None,
    random_state: RandomStateLike = None,
) -> Comparison:
    """Compare ranking models on your own data by cross-validated AUC (VUS if over two classes).

    All models are trained and tested on the same folds. The result of a model is the mean over
    the folds; scores are only compared within a fold, since the scores of two fits need not have
    the same scale. Folds share most of their training rows, so a plain t interval over the folds
    is too narrow. Therefore, the variance is multiplied by ``1 / J + n_test / n_train`` instead
    of ``1 / J`` for J folds [1]_. The interval accounts for new rows *and* new training samples,
    unlike DeLong's test on pooled scores, which takes the fitted models as given. The same holds
    for the paired differences from the baseline. Their p-values are also adjusted by Holm's
    method, since several models are compared at once.

    Parameters
    ----------
    estimators : dict or list of (name, estimator)
        Classifiers or rankers; each is cloned. Scores are taken from `score_samples`; from
        `predict` for regressors; from `decision_function` for two classes; or else from
        `predict_proba`, as its last column or, with more than two classes, as the expected class
        number.
    X : array-like or data frame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels. Classes are ranked in the order of ordered categories, or else of the values, best
        last. The models are fitted to class numbers, starting at 0.
    cv : int or cross-validation splitter, default=10
        Number of stratified folds, or a cross-validation splitter of scikit-learn.
    n_repeats : int, default=1
        Number of times that the rows are divided into folds, if `cv` is an integer.
    groups : array-like of shape (n_samples,), optional
        Rows of one group, such as a customer, stay in one fold, so that models are tested on
        unseen groups.
    time : array-like of shape (n_samples,), optional
        Dates, numbers, text with the year first (2024-03-31), or an ordered categorical. The rows
        are divided into ``cv + 1`` blocks in order of time. Each block but the first is a test
        set, and the training set is all blocks before it, as when a model is in use. Rows of equal
        time stay together.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows, for fitting and for measuring.
    label_order : array-like, optional
        Every class once, worst first. By default the `label_order` of the models, if they have one.
    baseline : str, optional
        The model that the others are compared with: a name, or "best" for the one with the
        highest mean. By default the first. A best model chosen on the same folds looks better
        than it is.
    level : float, default=0.95
        Confidence level of the intervals.
    n_jobs : int, optional
        Number of fits that run in parallel (joblib). For measuring times, use 1.
    random_state : int, RandomState or None, default=None
        Seed of the folds; None means 0. The models keep their own seeds.

    Returns
    -------
    Comparison
        Prints as a table; see its attributes for the scores of each fold.

    References
    ----------
    .. [1] C. Nadeau, Y. Bengio, "Inference for the generalization error", Machine Learning 52,
       2003.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from treerank import TreeRank, compare
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> rivals = {"TreeRank": TreeRank(), "CART": DecisionTreeClassifier(random_state=0)}
    >>> found = compare(rivals, X, y, cv=5)
    >>> found.names, bool(found.mean[0] > found.mean[1])
    (['TreeRank', 'CART'], True)
    """
    models = _check_estimators(estimators)
    if label_order is None:
        label_order = _order_of_models(models)
    numbers, classes = check_labels(y, _n_rows(X), label_order, _core.MAX_CLASSES)
    labels = numbers.astype(np.intp)
    weight = check_weights(sample_weight, len(labels))
    level = check_level(level)
    if baseline not in (None, "best", *models):
        raise invalid_parameter("baseline", baseline, "None, 'best' or one of " + ", ".join(models))
    seed = seed_of(random_state)
    folds = make_folds(labels, classes, cv, n_repeats, seed, groups, time)
    data = _Data(X, labels, weight, len(classes))
    tasks = [(name, k) for name in models for k in range(len(folds))]
    done: list[_Outcome] = Parallel(n_jobs=n_jobs)(
        delayed(_run)(name, models[name], data, folds[k], k, len(folds)) for name, k in tasks
    )
    shape = len(models), len(folds)
    return Comparison(
        names=list(models),
        metric="AUC" if len(classes) == 2 else "VUS",
        fold_scores=np.reshape([o.quality for o in done], shape),
        fit_times=np.reshape([o.fit_time for o in done], shape),
        score_times=np.reshape([o.score_time for o in done], shape),
        folds=[test for _, test in folds],
        held_out={
            name: [o.scores for o, (owner, _) in zip(done, tasks, strict=True) if owner == name]
            for name in models
        },
        overlap=float(np.mean([len(test) / len(train) for train, test in folds])),
        smallest_class=_smallest_class(labels, weight),
        baseline=baseline,
        level=level,
    )


class _Data(NamedTuple):
    X: TableLike
    labels: NDArray[np.intp]
    weight: Floats | None
    n_classes: int


class _Outcome(NamedTuple):
    """Result of one model on one fold."""

    quality: float
    fit_time: float
    score_time: float
    scores: Floats


def _check_estimators(estimators: Any) -> dict[str, Any]:
    pairs = list(estimators.items()) if isinstance(estimators, Mapping) else estimators
    expected = "a dict {name: estimator} or a list of (name, estimator), at least one"
    try:
        named = [(name, model) for name, model in pairs]
    except (TypeError, ValueError):
        raise ValueError(f"Got estimators={estimators!r}; expected {expected}.") from None
    models = dict(named)
    if not models:
        raise ValueError(f"Got no estimators; expected {expected}.")
    for name, model in named:
        if not isinstance(name, str) or isinstance(model, type) or not hasattr(model, "fit"):
            raise ValueError(f"Got {name!r}: {model!r} among the estimators; expected {expected}.")
    if len(models) < len(named):
        raise ValueError(f"Got the names {[name for name, _ in named]}; expected each name once.")
    return models


def _order_of_models(models: dict[str, Any]) -> list[Any] | None:
    """Return the order of the classes that was given to the models; raise if there are several."""
    given = {name: own_label_order(model) for name, model in models.items()}
    orders = {name: order for name, order in given.items() if order is not None}
    if not orders:
        return None
    first, order = next(iter(orders.items()))
    for name, other in orders.items():
        if other != order:
            raise ValueError(
                f"Got label_order={order!r} in the model {first!r} and {other!r} in {name!r}; "
                "expected one order: pass label_order to compare."
            )
    return order


def _n_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _run(name: str, model: Any, data: _Data, fold: Fold, number: int, n_folds: int) -> _Outcome:
    """Fit and evaluate one model on one fold; an error names both."""
    try:
        return _fit_and_judge(model, data, fold)
    except Exception as error:
        raise ValueError(
            f"Model {name!r} failed in fold {number + 1} of {n_folds}: "
            f"{type(error).__name__}: {error}"
        ) from error


def _fit_and_judge(model: Any, data: _Data, fold: Fold) -> _Outcome:
    train, test = fold
    model = clone(model)
    if own_label_order(model) is not None:
        model = with_label_order(model, np.arange(data.n_classes))
    start = perf_counter()
    training_weight = None if data.weight is None else data.weight[train]
    fit_weighted(model, take_rows_of(data.X, train), data.labels[train], training_weight)
    fitted = perf_counter()
    scores = _scores(model, take_rows_of(data.X, test), data.n_classes)
    scored = perf_counter()
    weight = None if data.weight is None else data.weight[test]
    if data.n_classes == 2:
        quality = roc_auc_score(data.labels[test], scores, sample_weight=weight)
    else:
        order = np.arange(data.n_classes)
        quality = ordinal_vus_score(data.labels[test], scores, weight, labels=order)
    return _Outcome(float(quality), fitted - start, scored - fitted, scores)


def _scores(model: Any, X: TableLike, n_classes: int) -> Floats:
    """One score per row, higher is better."""
    if hasattr(model, "score_samples"):
        scores = model.score_samples(X)
    elif is_regressor(model):
        scores = model.predict(X)
    elif n_classes == 2 and hasattr(model, "decision_function"):
        scores = model.decision_function(X)
    elif hasattr(model, "predict_proba"):
        scores = np.asarray(model.predict_proba(X)) @ np.asarray(model.classes_, dtype=np.float64)
    else:
        raise ValueError(
            f"Got a {type(model).__name__}, which gives no score; expected score_samples, "
            "decision_function or predict_proba."
        )
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 1 or not np.isfinite(scores).all():
        raise ValueError(
            f"Got scores of shape {scores.shape} that are not one finite number per row."
        )
    return scores


def _smallest_class(labels: NDArray[np.intp], weight: Floats | None) -> float:
    """Effective number of rows of the smallest class."""
    weight = np.ones(len(labels)) if weight is None else weight
    sums, squares = (np.bincount(labels, weight**k) for k in (1, 2))
    return float(np.min(sums**2 / squares))
