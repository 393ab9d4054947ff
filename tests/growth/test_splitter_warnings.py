"""What the classifiers in the cells warn of is said once, at the line of the user's code."""

import warnings

import grumbling
import numpy as np
import pytest
from joblib import parallel_config
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from treerank import RankingForest, TreeRank


@pytest.fixture(scope="module")
def unscaled():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3)) * [1, 1e2, 1e4]
    return x, (x[:, 0] + rng.normal(size=200) > 0).astype(int)


def said(model, rows, action="default"):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)
        model.fit(*rows)
    return caught


def a_tree(splitter, **parameters):
    return TreeRank(splitter, max_depth=2, cv=2, random_state=0, **parameters)


def a_forest(splitter, **parameters):
    return RankingForest(splitter, n_estimators=3, max_depth=2, random_state=0, **parameters)


IMPATIENT = LogisticRegression(max_iter=2)
PIPELINE = make_pipeline(StandardScaler(), LinearSVC(max_iter=1, tol=1e-9))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kind", [a_tree, a_forest])
def test_a_classifier_that_does_not_converge_is_one_warning_here(kind, n_jobs, unscaled):
    [warning] = said(kind(IMPATIENT, n_jobs=n_jobs), unscaled)
    assert warning.category is ConvergenceWarning
    assert warning.filename == __file__
    assert "make_pipeline(StandardScaler(), LogisticRegression(max_iter=2))" in str(warning.message)


def test_threads_of_a_forest_keep_the_filters(unscaled):
    before = warnings.showwarning, list(warnings.filters)
    with parallel_config("threading"):
        assert len(said(a_forest(IMPATIENT, n_jobs=2), unscaled)) == 1
    assert (warnings.showwarning, list(warnings.filters)) == before


@pytest.mark.parametrize(
    "splitter", [PIPELINE, lambda cell: PIPELINE], ids=["pipeline", "function"]
)
def test_the_remedy_of_a_pipeline_is_more_iterations(splitter, unscaled):
    [warning] = said(a_tree(splitter), unscaled)
    assert str(warning.message).endswith("or, if they are scaled, raise max_iter.")


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kind", [a_tree, a_forest])
def test_other_warnings_come_once_from_where_they_were(kind, n_jobs, unscaled):
    [warning] = said(kind(grumbling.Grumbling(C=0.1, max_iter=1000), n_jobs=n_jobs), unscaled)
    assert warning.category is FutureWarning
    assert str(warning.message).endswith(" rows")
    assert warning.filename == grumbling.__file__


def test_the_filters_of_the_user_decide(unscaled):
    assert said(a_tree(IMPATIENT), unscaled, "ignore") == []
    with pytest.raises(ConvergenceWarning) as caught:
        said(a_tree(IMPATIENT), unscaled, "error")
    assert "LogisticRegression(max_iter=2)" in caught.value.__notes__[0]
