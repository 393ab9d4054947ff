"""Estimators inside the ensembles of scikit-learn, and splitters inside estimators."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import cross_val_predict

from treerank import BoostedTreeRank, LeafRank, RankingForest, TreeRank


@pytest.mark.parametrize(
    "model",
    [TreeRank(LeafRank(max_features=1)), RankingForest(LeafRank(), n_estimators=3)],
    ids=["tree", "forest"],
)
def test_ensembles_of_scikit_learn_may_seed_the_splitter_too(model: Any) -> None:
    x, y = make_classification(200, 4, random_state=0)
    bagged = BaggingClassifier(model, n_estimators=2, random_state=0).fit(x, y)
    inner = bagged.estimators_[0]
    assert inner.splitter.random_state is not None
    unseeded = clone(inner).set_params(splitter__random_state=None).fit(x, y)
    seeded = clone(inner).fit(x, y)
    np.testing.assert_array_equal(seeded.score_samples(x), unseeded.score_samples(x))


@pytest.mark.parametrize("parameter", [{"random_state": 1}, {"class_weight": "balanced"}])
@pytest.mark.parametrize("make", [TreeRank, RankingForest])
def test_a_splitter_takes_no_parameter_of_its_owner(make: Any, parameter: dict[str, Any]) -> None:
    [name] = parameter
    x, y = make_classification(60, 4, random_state=0)
    with pytest.raises(ValueError, match=f"set {name} on {make.__name__} instead"):
        make(LeafRank(**parameter)).fit(x, y)


def test_a_forest_refuses_a_splitter_with_missing_which_forests_do_not_have() -> None:
    x, y = make_classification(60, 4, random_state=0)
    with pytest.raises(ValueError, match="expected the default, as RankingForest has no missing"):
        RankingForest(LeafRank(missing="cell_mean")).fit(x, y)


@pytest.mark.parametrize(
    "model", [TreeRank(LeafRank()), BoostedTreeRank(5)], ids=["tree", "boosting"]
)
def test_probabilities_calibrated_by_cross_validation_are_of_the_calibrated_scores(
    model: Any,
) -> None:
    x, y = make_classification(300, 4, random_state=0)
    calibrated = CalibratedClassifierCV(model, method="isotonic", ensemble=False).fit(x, y)
    scores = cross_val_predict(model, x, y, method="decision_function")
    curve = IsotonicRegression(out_of_bounds="clip").fit(scores, y)
    wanted = curve.predict(clone(model).fit(x, y).decision_function(x))
    np.testing.assert_allclose(calibrated.predict_proba(x)[:, 1], wanted)
