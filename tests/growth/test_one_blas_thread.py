"""Classifiers that split cells compute on one thread of BLAS, and others do not after the fit."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_info, threadpool_limits

from treerank import RankingForest, TreeRank

seen = []


class Observed(LogisticRegression):
    """A classifier that notes how many threads it has."""

    def fit(self, X, y, sample_weight=None):
        seen.append(blas_threads())
        return super().fit(X, y, sample_weight)


def blas_threads():
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


@pytest.fixture
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("BLAS has no threads here")
        seen.clear()
        yield


@pytest.mark.parametrize("model", [
    TreeRank(Observed(), max_depth=2, cv=2),
    RankingForest(Observed(), n_estimators=3, max_depth=2),
], ids=["tree", "forest"])  # fmt: skip
def test_the_classifiers_of_cells_have_one_thread(two_threads, model):
    x = np.random.default_rng(0).normal(size=(200, 3))
    model.fit(x, x[:, 0] > 0.2)
    assert len(seen) > 2
    assert set().union(*seen) == {1}
    assert blas_threads() == {2}
