"""scikit-learn's own contract, for every estimator."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from treerank import LeafRank, TreeRank
from treerank.splitters import DyadicGrid


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        TreeRank(),
        TreeRank(pruning=None, shrinkage=None),
        TreeRank(shrinkage=None),
        TreeRank(splitter=LogisticRegression()),
        TreeRank(splitter=DyadicGrid(2)),
        LeafRank(),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
