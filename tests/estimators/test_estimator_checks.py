"""scikit-learn's own contract, for every estimator."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from treerank import BoostedTreeRank, GeometricRanker, LeafRank, RankingForest, TreeRank
from treerank.splitters import DyadicGrid

# A bootstrap draws rows, not weights: the same exceptions as for RandomForestClassifier.
DRAWN = "rows are drawn whatever their weight"
# Equal rows may be in different folds, but all weight of one row is in one fold: if it were
# divided, the row would judge itself, and the held-out AUC of a weighted sample would be too high.
IN_ONE_FOLD = "all weight of a row stays in one fold, while repeated rows are in several"


def expected_failures(estimator):
    reason = None
    if isinstance(estimator, RankingForest) or getattr(estimator, "early_stopping", False):
        reason = DRAWN
    elif isinstance(estimator, TreeRank) and "cv" in (estimator.pruning, estimator.shrinkage):
        reason = IN_ONE_FOLD
    if reason is None:
        return {}
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        TreeRank(),
        TreeRank(pruning=None, shrinkage=None),
        TreeRank(shrinkage=None),
        TreeRank(splitter=LogisticRegression(solver="newton-cholesky"), max_depth=2, cv=2),
        TreeRank(splitter=DyadicGrid(2)),
        LeafRank(),
        RankingForest(n_estimators=20),
        RankingForest(n_estimators=5, aggregation="mean_rank"),
        RankingForest(n_estimators=5, aggregation="kendall"),
        BoostedTreeRank(n_estimators=20),
        BoostedTreeRank(n_estimators=5, loss="pairwise"),
        BoostedTreeRank(n_estimators=5, loss="rankboost", early_stopping=True),
        GeometricRanker(DecisionTreeClassifier(random_state=0)),
        GeometricRanker(DecisionTreeClassifier(random_state=0), ranking="local"),
        GeometricRanker(DecisionTreeClassifier(random_state=0), ranking=None, metric="standard"),
        GeometricRanker(TreeRank(min_samples_leaf=1, pruning=None, shrinkage=0.0)),
        GeometricRanker(
            make_pipeline(
                FunctionTransformer(validate=True), DecisionTreeClassifier(random_state=0)
            )
        ),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
