"""A few rows are walked with a check of every slot they pass; the scores are the same."""

import numpy as np
import pytest

from treerank import BoostedTreeRank, RankingForest, _core

pytestmark = pytest.mark.core

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4))
X[:, 3] = rng.integers(0, 6, 300)
X[rng.random(X.shape) < 0.05] = np.nan
Y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
FORESTS = [
    RankingForest(n_estimators=6, categorical_features=[3], random_state=0),
    RankingForest(n_estimators=6, max_depth=4, random_state=0),
    BoostedTreeRank(n_estimators=6, categorical_features=[3]),
]


def arrays(model):
    codes, _ = model._codes(X)
    return *model._trees._folded(), codes


@pytest.mark.parametrize("model", FORESTS)
@pytest.mark.parametrize("n_rows", [1, 2, 16])
def test_few_rows_have_the_sums_that_many_rows_have(model, n_rows):
    *trees, codes = arrays(model.fit(X, Y))
    expected = _core.score_forest(*trees, codes, 1)
    few = np.concatenate(
        [
            _core.score_forest(*trees, np.ascontiguousarray(codes[:, i : i + n_rows]), 1)
            for i in range(0, 48, n_rows)
        ]
    )
    assert np.array_equal(few, expected[:48])


@pytest.mark.parametrize("field", ["next", "feature"])
def test_damaged_slots_on_the_way_of_a_row_are_refused(field):
    starts, slots, *rest, codes = arrays(FORESTS[0].fit(X, Y))
    broken = slots.copy()
    start = int(starts[1])
    view = broken[start].view([("next", "<u4"), ("feature", "<u2"), ("cut", "<u2")])
    view[field] = 60_000 if field == "feature" else 0x0FFFFFFF
    one = np.ascontiguousarray(codes[:, :1])
    for given in (one, codes):
        with pytest.raises(ValueError, match="damaged"):
            _core.score_forest(starts, broken, *rest, given, 1)
