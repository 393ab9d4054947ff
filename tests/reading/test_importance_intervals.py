"""Global importance with intervals."""

import numpy as np
import polars as pl
import pytest
import samples
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from treerank import RankingForest, TreeRank
from treerank.inspection import attribution_importance, attributions, auc_importance
from treerank.metrics import compare_auc, ordinal_vus_score


@pytest.fixture(scope="module")
def table():
    return samples.frame(400, 1)


@pytest.fixture(scope="module")
def forest(table):
    x, y = table
    return RankingForest(n_estimators=10).fit(x[:200], y[:200])


def test_attribution_importance_is_the_mean_absolute_attribution(table, forest):
    x, _ = table
    found = attribution_importance(forest, x, baseline=x[:50])
    size = np.abs(attributions(forest, x, baseline=x[:50]).values).mean(axis=0)
    assert found.names == [x.columns[j] for j in np.argsort(-size)]
    np.testing.assert_allclose(found.values, np.sort(size)[::-1])
    assert (found.lower < found.values).all()
    assert (found.values < found.upper).all()
    # The bootstrap's error is that of a mean.
    values = np.abs(attributions(forest, x, baseline=x[:50]).values)
    error = values.std(axis=0)[np.argsort(-size)] / np.sqrt(len(x))
    np.testing.assert_allclose(found.upper - found.lower, 2 * 1.96 * error, rtol=0.15)


def test_groups_are_added_up_and_shuffled_together(table, forest):
    x, y = table
    groups = {"numbers": ["a", "b", "c"]}
    found = attribution_importance(forest, x, groups=groups)
    values = attributions(forest, x).values
    assert dict(zip(found.names, found.values, strict=True))["numbers"] == pytest.approx(
        np.abs(values[:, :3].sum(axis=1)).mean()
    )
    together = auc_importance(forest, x[200:], y[200:], groups=groups)
    assert sorted(together.names) == ["level", "numbers"]
    every = auc_importance(forest, x[200:], y[200:], groups={"all": list(x.columns)})
    assert every.names == ["all"]
    # Rows shuffled as a whole are ranked by chance.
    assert every.values[0] == pytest.approx(forest.score(x[200:], y[200:]) - 0.5, abs=0.06)


def test_auc_importance_is_the_loss_of_auc_with_delongs_interval(table, forest):
    x, y = table
    x, y = x[200:].reset_index(drop=True), y[200:].to_numpy()
    found = auc_importance(forest, x, y, n_repeats=1, random_state=3)
    order = np.random.default_rng(3).permutation(len(y))
    score = forest.score_samples(x)
    for name, value, lower, upper in zip(
        found.names, found.values, found.lower, found.upper, strict=True
    ):
        shuffled = forest.score_samples(x.assign(**{name: x[name].to_numpy()[order]}))
        compared = compare_auc(y, score, shuffled)
        assert value == pytest.approx(roc_auc_score(y, score) - roc_auc_score(y, shuffled))
        assert (lower, upper) == pytest.approx((compared.lower, compared.upper))


def test_classifiers_of_others_lose_auc_too():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2))
    y = np.where(x[:, 0] + rng.normal(size=200) > 0, "yes", "no")
    for model in (LogisticRegression(), DecisionTreeClassifier(max_depth=2)):
        found = auc_importance(model.fit(x, y), x, y)
        assert found.names == ["x0", "x1"]
        assert found.values[0] > 0.1 > abs(found.values[1])


def test_grades_lose_vus(table):
    x, y = table
    y = y.to_numpy() + (x["c"].fillna(0).to_numpy() > 0.5)
    model = TreeRank().fit(x[:200], y[:200])
    found = auc_importance(model, x[200:], y[200:], groups={"all": list(x.columns)}, n_repeats=20)
    assert found.kind == "loss of VUS"
    vus = ordinal_vus_score(y[200:], model.score_samples(x[200:]))
    assert found.values[0] == pytest.approx(vus - 1 / 6, abs=0.05)


def test_frames_of_all_kinds_and_arrays_give_the_same(table):
    x, y = table
    plain = x[["a", "b", "c"]]
    by_frame = RankingForest(n_estimators=5).fit(plain, y)
    by_array = RankingForest(n_estimators=5).fit(plain.to_numpy(), y)
    found = auc_importance(by_frame, plain.set_index(np.arange(400)[::-1]), y)
    polars = auc_importance(by_frame, pl.from_pandas(plain), y)
    array = auc_importance(by_array, plain.to_numpy(), y)
    np.testing.assert_array_equal(found.values, polars.values)
    np.testing.assert_array_equal(found.values, array.values)
    assert array.names == [f"x{'abc'.index(name)}" for name in found.names]
    assert list(found.to_frame("pandas")["feature"]) == found.names


def test_columns_that_are_not_used_have_no_importance(table):
    x, y = table
    x = x.assign(constant=1.0)
    model = RankingForest(n_estimators=5).fit(x, y)
    found = auc_importance(model, x, y)
    at = found.names.index("constant")
    assert found.values[at] == found.lower[at] == found.upper[at] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": {"g": ["z"]}}, "Got feature 'z' in group 'g'"),
        ({"level": 95}, "Got level=95"),
    ],
)
def test_bad_input_gets_one_clear_error(table, forest, options, message):
    x, y = table
    with pytest.raises(ValueError, match=message):
        attribution_importance(forest, x, **options)
    with pytest.raises(ValueError, match=message):
        auc_importance(forest, x, y, **options)
    with pytest.raises(ValueError, match="Got n_bootstrap=1"):
        attribution_importance(forest, x, n_bootstrap=1)
    with pytest.raises(ValueError, match="Got n_repeats=0"):
        auc_importance(forest, x, y, n_repeats=0)
