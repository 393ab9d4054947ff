"""scikit-learn's own contract, for every estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from treerank import LeafRank, TreeRank


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [TreeRank(), TreeRank(pruning=None, shrinkage=None), TreeRank(shrinkage=None), LeafRank()]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
