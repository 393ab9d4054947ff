"""A fitted model keeps the thresholds that its tests use, and says the same as with all."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples

from treerank import LeafRank, RankingForest, TreeRank, _core, _forest
from treerank.inspection import explain, partial_dependence


def loans(n=600, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "income": rng.normal(size=n).round(3),
            "age": rng.integers(18, 80, n).astype(float),
            "home": rng.choice(["owns", "rents", "family"], n),
        }
    )
    y = (frame.income + 0.03 * frame.age + (frame.home == "rents") + rng.normal(size=n) > 2).astype(
        int
    )
    frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    frame.loc[rng.random(n) < 0.1, "home"] = None
    return frame, y


MODELS = {
    "tree": TreeRank(),
    "deep": TreeRank(LeafRank(max_depth=3), pruning=None, max_depth=4),
    "cell mean": TreeRank(missing="cell_mean"),
    "monotone": TreeRank(monotonic_cst={"income": 1}, shrinkage=5.0),
    "leafrank": LeafRank(max_depth=3),
    "forest": RankingForest(n_estimators=10),
    "whole trees": RankingForest(LeafRank(max_depth=None), n_estimators=5),
    "ranks": RankingForest.preset("rf5", n_estimators=5),
}


def with_all_thresholds(model, X, y, monkeypatch):
    with monkeypatch.context() as patch, oracles.all_thresholds():
        patch.setattr(_forest, "keep_used_in_forest", lambda binning, forest, _: (binning, forest))
        return model.fit(X, y)


@pytest.mark.parametrize("name", MODELS)
def test_scores_are_the_same_as_with_all_thresholds(name, monkeypatch):
    X, y = loans()
    new, _ = loans(2000, seed=1)
    model = MODELS[name]
    whole = with_all_thresholds(model, X, y, monkeypatch)
    expected, size = whole.score_samples(new), sum(map(len, whole._binning.thresholds))
    model.fit(X, y)
    np.testing.assert_array_equal(model.score_samples(new), expected)
    assert sum(map(len, model._binning.thresholds)) < size


@pytest.mark.parametrize("name", ["tree", "deep", "cell mean", "monotone", "leafrank"])
def test_rules_explanations_and_dependence_are_the_same(name, monkeypatch):
    X, y = loans()
    model = MODELS[name]

    def said(model):
        return (
            model.partition_.rules(),
            explain(model, X.head(20)),
            [partial_dependence(model, X, f).average.tolist() for f in (0, "home", (0, 2))],
        )

    expected = said(with_all_thresholds(model, X, y, monkeypatch))
    assert said(model.fit(X, y)) == expected


def test_unpruned_tree_cuts_at_the_same_values(monkeypatch):
    X, y = loans()

    def cut_values(model):
        tests = model.unpruned_tree_.tests
        tests = tests[(tests["left"] >= 0) & (tests["categorical"] == 0)]
        thresholds = model._binning.thresholds
        return [
            (int(f), float(np.append(thresholds[f], np.inf)[c - 1]) if c else None)
            for f, c in zip(tests["feature"], tests["cut"], strict=True)
        ]

    expected = cut_values(with_all_thresholds(TreeRank(), X, y, monkeypatch))
    assert cut_values(TreeRank().fit(X, y)) == expected


def test_a_warm_forest_keeps_all_thresholds_and_goes_on():
    X, y = loans()
    cold = RankingForest(n_estimators=12).fit(X, y)
    warm = RankingForest(n_estimators=6, warm_start=True).fit(X, y)
    warm.set_params(n_estimators=12).fit(X, y)
    np.testing.assert_array_equal(warm.score_samples(X), cold.score_samples(X))


def test_codes_take_one_byte_where_few_thresholds_are_left():
    X, y = loans(2000)
    assert TreeRank().fit(X, y)._binning.code_type == np.uint8


def packed_forest(n_trees, n_rows, depth, seed):
    """Trees with numbers and categories, merged cells or not, before their shrinkage is chosen."""
    X, y = loans(n_rows, seed)
    leafrank = LeafRank(max_depth=depth)
    model = RankingForest(
        leafrank, n_estimators=n_trees, max_depth=1 if depth is None else 3, warm_start=True,
        random_state=seed,
    )  # fmt: skip
    model.fit(X, y)
    return model._binning, model._before_shrinkage


FORESTS = {
    "n_trees": st.integers(1, 6), "n_rows": st.integers(60, 200),
    "depth": st.sampled_from([1, 2, None]), "n_jobs": st.integers(1, 4),
    "seed": st.integers(0, 10_000),
}  # fmt: skip


@given(**FORESTS)
@examples(15)
def test_cuts_in_use_are_those_of_the_slots_for_any_number_of_threads(
    n_trees, n_rows, depth, n_jobs, seed
):
    binning, trees = packed_forest(n_trees, n_rows, depth, seed)
    n_cuts = np.array([len(t) + 2 for t in binning.thresholds], dtype=np.int64)
    first = np.append(0, np.cumsum(n_cuts))
    used = np.zeros(first[-1], dtype=np.uint8)
    new_cut = np.random.default_rng(seed).integers(1, 100, len(used)).astype(np.int32)
    wanted = []
    for tested in oracles.tested_cuts(trees):
        wanted.append(None)
        if tested is not None:
            place = first[tested[0]] + tested[1]
            used[place] = 1
            wanted[-1] = tested[0], new_cut[place]
    found = _core.used_cuts(trees.starts, trees.slots, n_cuts, n_jobs)
    np.testing.assert_array_equal(found, used)
    slots = _core.renumber_cuts(trees.starts, trees.slots, n_cuts, new_cut, n_jobs)
    assert oracles.tested_cuts(replace(trees, slots=slots)) == wanted


def test_cuts_that_are_not_there_are_refused():
    binning, trees = packed_forest(2, 100, 2, seed=0)
    n_cuts = np.ones(len(binning.thresholds), dtype=np.int64)
    with pytest.raises(ValueError, match="damaged"):
        _core.used_cuts(trees.starts, trees.slots, n_cuts, 1)
    with pytest.raises(ValueError, match="damaged"):
        _core.renumber_cuts(
            trees.starts, trees.slots, n_cuts, np.ones(len(n_cuts), dtype=np.int32), 1
        )


@given(shrinkage=st.floats(0, 100), scale=st.floats(1, 10), **FORESTS)
@examples(15)
def test_baked_steps_are_sums_along_the_walks_for_any_number_of_threads(
    shrinkage, scale, n_trees, n_rows, depth, n_jobs, seed
):
    _, trees = packed_forest(n_trees, n_rows, depth, seed)
    baked = trees.bake_shrinkage(shrinkage, scale, n_jobs)
    sums, steps = oracles.baked_values(trees, shrinkage, scale)
    for tree, (start, end) in enumerate(pairwise(trees.starts)):
        whole = all(value is not None for value in sums[start:end])
        wanted = sums[start:end] if whole else steps[start:end]
        np.testing.assert_array_equal(baked.step[start:end], np.array(wanted))
        assert bool(baked.at_end[tree]) == whole
