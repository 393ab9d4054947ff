"""Levels that are tuples: one level each, told from levels that share a code."""

import numpy as np
import pandas as pd
import pytest
from saved_models import come_back

import treerank
from treerank import BoostedTreeRank, GeometricRanker, RankingForest, TreeRank
from treerank._input.categories import SharedLevels
from treerank.export import to_sql
from treerank.inspection import explain, partial_dependence


def tuples(n_levels, n=900, odd=()):
    """A column whose levels are tuples, in the order of which the classes change."""
    rng = np.random.default_rng(0)
    levels = [*odd, *((f"town {i:03}", i % 3) for i in range(n_levels - len(odd)))]
    drawn = np.concatenate([np.arange(n_levels), rng.integers(0, n_levels, n - n_levels)])
    X = pd.DataFrame({"place": [levels[i] for i in drawn], "x": rng.normal(size=n)})
    y = (drawn + 0.3 * n_levels * rng.normal(size=n) > n_levels / 2).astype(int)
    return X, y


@pytest.mark.parametrize(
    "model",
    [
        TreeRank(cv=3, max_depth=4),
        RankingForest(n_estimators=3),
        BoostedTreeRank(n_estimators=3),
        GeometricRanker(TreeRank(cv=3, max_depth=3)),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("n_levels", [1, 2, 9, 255, 256, 400])
def test_levels_that_are_tuples_are_learnt_from_as_text_is_and_come_back(tmp_path, model, n_levels):
    X, y = tuples(n_levels)
    if n_levels == 1:  # nothing to learn from the level: without this there is no boundary
        X["x"] += 3 * y
    inner = model.tree if isinstance(model, GeometricRanker) else model
    inner.set_params(categorical_features=["place"], categories="levels")
    as_text = X.assign(place=X["place"].map(str))
    expected = model.fit(as_text, y).score_samples(as_text)
    again = come_back(model.fit(X, y), X, tmp_path)
    np.testing.assert_array_equal(again.score_samples(X), expected)
    fitted = again.tree_ if isinstance(model, GeometricRanker) else again
    levels = fitted._binning.levels[0]
    assert all(type(level) is tuple for level in levels[:254])
    if n_levels > 255:
        assert type(levels[-1]) is SharedLevels
        assert len(levels[-1]) == n_levels - 254
    else:
        assert type(levels[-1]) is tuple


def test_tuples_within_tuples_nothing_and_mixtures_come_back(tmp_path):
    odd = [(), ("a",), ("a", None), ("a", ("b", 1.5)), (1, "a"), "text", 7, True]
    X, y = tuples(40, odd=odd)
    model = TreeRank(cv=3, categorical_features=["place"]).fit(X, y)
    assert model.score(X, y) > 0.8
    again = come_back(model, X, tmp_path)
    assert again._binning.levels == model._binning.levels
    assert again.partition_.rules() == model.partition_.rules()


def test_tuples_are_read_as_other_levels_are():
    X, y = tuples(12)
    model = TreeRank(cv=3, categorical_features=["place"]).fit(X, y)
    assert any("('town 0" in rule for rule in model.partition_.rules())
    assert len(explain(model, X.head(5))) == 5
    found = partial_dependence(model, X, "place")
    assert found.average.shape == (12,)
    points = GeometricRanker(model).fit(X).boundary_point(X.head(20))
    assert {type(point[0]) for point in points.points} == {tuple}
    with pytest.raises(ValueError, match=r"levels such as \('town 000', 0\) in column 'place'"):
        to_sql(model, "t")


@pytest.mark.parametrize(
    "level", [("a", float("nan")), ("a", 1j), ("a", frozenset("b"))], ids=["NaN", "complex", "set"]
)
def test_levels_that_a_file_cannot_hold_are_refused_when_it_is_saved(tmp_path, level):
    X, y = tuples(12)
    X["place"] = [level if i % 7 == 0 else place for i, place in enumerate(X["place"])]
    model = TreeRank(cv=3, categorical_features=["place"]).fit(X, y)
    with pytest.raises(ValueError, match="a model file cannot hold"):
        treerank.save(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
