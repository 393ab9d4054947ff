"""Classifiers of others get sample weights, wrapped as they may be."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treerank import LeafRank, TreeRank, compare
from treerank._input.classifiers import fit_weighted
from treerank.scoring import Scorecard, validate

LINEAR = LogisticRegression(C=0.1)
BOTH = [("tree", LeafRank()), ("linear", LINEAR)]
WRAPPED = {
    "alone": LINEAR,
    "pipeline": make_pipeline(StandardScaler(), LINEAR),
    "search": GridSearchCV(LINEAR, {"C": [0.1, 1]}, cv=2),
    "search in pipeline": make_pipeline(StandardScaler(), GridSearchCV(LINEAR, {}, cv=2)),
    "pipeline in search": GridSearchCV(make_pipeline(StandardScaler(), LINEAR), {}, cv=2),
    "vote": VotingClassifier(BOTH, voting="soft"),
    "stack": StackingClassifier(BOTH, cv=2),
}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 2))
    return x, (x[:, 0] + rng.normal(size=120) > 0).astype(int), rng.integers(1, 4, 120) * 1.0


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("name", WRAPPED)
def test_weights_reach_the_classifier(name, routing, rows):
    x, y, weight = rows
    model = clone(WRAPPED[name])
    plain = clone(model).fit(x, y).predict_proba(x)
    with config_context(enable_metadata_routing=routing):
        fit_weighted(model, x, y, weight)
        card = Scorecard(clone(model), grades=2, cv=2).fit(x, y, sample_weight=weight)
    assert not np.allclose(model.predict_proba(x), plain)
    assert np.allclose(card.estimator_.predict_proba(x), model.predict_proba(x))


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("name", ["pipeline", "search", "vote"])
def test_what_fits_classifiers_hands_weights_on(name, routing, rows):
    x, y, weight = rows
    with config_context(enable_metadata_routing=routing):
        compare({"a": WRAPPED[name], "b": LeafRank()}, x, y, sample_weight=weight, cv=2)
        validation = validate(WRAPPED[name], x, y, sample_weight=weight, n_boot=2)
        tree = TreeRank(WRAPPED[name], max_depth=1, cv=2).fit(x, y, sample_weight=weight)
    assert np.isfinite(validation.apparent).all()
    assert len(tree.unpruned_tree_.leaves) == 2


def test_a_vote_with_neighbours_takes_no_weights(rows):
    vote = VotingClassifier([("near", KNeighborsClassifier()), ("linear", LINEAR)])
    with pytest.raises(ValueError, match="VotingClassifier takes no sample_weight"):
        fit_weighted(vote, *rows)
