"""Models of a cluster are those of memory, to the bit."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from hypothesis_examples import examples

from treerank import BoostedTreeRank, LeafRank, RankingForest, TreeRank, _treerank
from treerank._growth import soft_labels
from treerank._plans import forest as forest_plan
from treerank._select import plan_race

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
from clusters import cut_array, cut_frame, frame, table  # noqa: E402
from random_growth import weights_of  # noqa: E402
from same_models import DEEP, SMALL, assert_same_forest, assert_same_tree  # noqa: E402

from treerank._input import column_stats  # noqa: E402
from treerank.dask import (  # noqa: E402
    DaskBoostedTreeRank,
    DaskRankingForest,
    DaskTreeRank,
    _rows,
)

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")


@examples(5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(30, 400),
    st.integers(2, 4),
    st.lists(st.integers(0, 400), max_size=4),
    st.sampled_from(["none", "whole", "broken", "zeros"]),
    st.booleans(),
    st.integers(0, 1000),
)
def test_any_partitions_give_the_tree_of_memory(
    threads, n, n_classes, cuts, weights, as_frame, seed
):
    x, y = table(n, n_classes, seed)
    weight = weights_of(weights, n, seed)
    given_x = frame(x, seed) if as_frame else x
    cut = cut_frame if as_frame else cut_array
    given_y = pd.Series(y) if as_frame else y
    given_w = weight if weight is None or not as_frame else pd.Series(weight)
    parts = [None if part is None else cut(part, cuts) for part in (given_x, given_y, given_w)]
    local = TreeRank(max_depth=4).fit(given_x, given_y, given_w)
    model = DaskTreeRank(max_depth=4, client=threads).fit(*parts)
    assert_same_tree(local, model)
    scores = model.score_samples(parts[0]).compute()
    assert np.array_equal(np.asarray(scores), local.score_samples(given_x))


@pytest.mark.parametrize("n_workers", [1, 3])  # two in the other tests
def test_any_number_of_workers_gives_the_same_models(n_workers):
    x, y = table(1000)
    with distributed.Client(
        processes=False, n_workers=n_workers, threads_per_worker=1, dashboard_address=None
    ) as client:
        parts = cut_array(x, [200, 500]), cut_array(y, [200, 500])
        assert_same_tree(TreeRank().fit(x, y), DaskTreeRank(client=client).fit(*parts))
        settings_ = {"n_estimators": 3, "oob_score": True, "random_state": 3}
        forest = DaskRankingForest(client=client, **settings_).fit(*parts)
        local = RankingForest(**settings_).fit(x, y)
        assert_same_forest(local, forest)
        assert local.oob_auc_ == forest.oob_auc_


@pytest.mark.parametrize(
    "parameters",
    [
        {"missing": "cell_mean", "pruning": None},
        {"monotonic_cst": [1, 0, 0, 0, 0]},
        {"splitter": LeafRank(max_depth=3, max_features=2, max_leaf_nodes=4), "max_features": 3},
        {"pruning": "penalty", "shrinkage": None},
        {"max_bins": 8, "one_standard_error": True, "shrinkage": 4.0, "cv": 3},
    ],
)
def test_the_parameters_of_a_tree_mean_the_same(threads, parameters, monkeypatch):
    monkeypatch.setattr(_rows, "GATHERED_SHARE", 0.05)
    x, y = table(600)
    model = DaskTreeRank(client=threads, **parameters)
    model.fit(cut_array(x, [150, 400]), cut_array(y, [150, 400]))
    assert_same_tree(TreeRank(**parameters).fit(x, y), model)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_of_few_rows_are_softened_as_in_memory(threads, n_classes, monkeypatch):
    monkeypatch.setattr(soft_labels, "SOFT_ROWS", 20_000)
    x, y = table(500, n_classes)
    model = DaskTreeRank(client=threads).fit(cut_array(x, [150, 400]), cut_array(y, [150, 400]))
    local = TreeRank().fit(x, y)
    assert local.soft_labels_
    assert_same_tree(local, model)


@pytest.mark.parametrize(
    ("n_classes", "parameters"),
    [
        (2, {"monotonic_cst": [1, 0, 0, 0, 0]}),
        (2, {"bootstrap": False, "max_samples": 0.5, "random_cut_share": 1.0}),
        (2, {"splitter": LeafRank(max_depth=None, max_features=2), "max_depth": 1}),
        (2, {"focus": 0.1}),
        (3, {"max_depth": 2}),
    ],
)
def test_the_parameters_of_a_forest_mean_the_same(threads, n_classes, parameters, monkeypatch):
    monkeypatch.setattr(_rows, "GATHERED_SHARE", 0.05)
    x, y = table(600, n_classes)
    weight = np.random.default_rng(0).random(600)
    parts = [cut_array(part, [150, 150, 400]) for part in (x, y, weight)]
    model = DaskRankingForest(client=threads, n_estimators=2, **parameters).fit(*parts)
    assert_same_forest(RankingForest(n_estimators=2, **parameters).fit(x, y, weight), model)


def test_equal_rows_are_in_the_folds_of_memory(threads):
    x, y = table(600)
    x = (x > 0).astype(float)  # 32 distinct rows
    model = DaskTreeRank(LeafRank(), client=threads)
    model.fit(cut_array(x, [150, 400]), cut_array(y, [150, 400]))
    local = TreeRank(LeafRank()).fit(x, y)
    assert_same_tree(local, model)
    assert np.array_equal(local.pruning_path_.heldout_auc, model.pruning_path_.heldout_auc)


def test_depths_are_compared_on_all_rows_if_many_are_equal(threads, monkeypatch):
    """A sample takes equal rows together, and could even lack a class."""
    monkeypatch.setattr(_treerank, "RACE_ROWS", 200)
    x, y = table(600)
    x = (x[:, :2] > 0).astype(float)
    local = TreeRank(soft_labels=False).fit(x, y)
    model = DaskTreeRank(client=threads, soft_labels=False)
    model.fit(cut_array(x, [150, 400]), cut_array(y, [150, 400]))
    assert_same_tree(local, model)
    assert local.splitter_choice_ == model.splitter_choice_
    monkeypatch.setattr(_treerank, "RACE_ROWS", 20_000)
    whole = TreeRank(soft_labels=False).fit(x, y)
    assert local.splitter_choice_ == whole.splitter_choice_
    assert local.score_samples(x).tolist() == whole.score_samples(x).tolist()


def test_the_sample_that_decides_thresholds_is_that_of_memory(threads, monkeypatch):
    monkeypatch.setattr(column_stats, "SAMPLE_ROWS", 500)
    x, y = table(3000)
    model = DaskTreeRank(client=threads, max_bins=64)
    model.fit(cut_array(x, [100, 2000]), cut_array(y, [100, 2000]))
    assert_same_tree(TreeRank(max_bins=64).fit(x, y), model)


def test_multiplying_all_weights_changes_nothing(threads):
    x, y = table(800)
    weight = np.random.default_rng(0).integers(1, 4, size=800).astype(float)
    cuts = [200, 500]
    parts = [cut_array(part, cuts) for part in (x, y)]
    local = TreeRank(cv=2).fit(x, y, weight)
    for factor in (1.0, 0.3):
        model = DaskTreeRank(cv=2, client=threads).fit(*parts, cut_array(factor * weight, cuts))
        assert_same_tree(local, model)


def test_heavy_whole_weights_take_no_more_rounds(threads):
    x, y = table(4000)
    weight = np.random.default_rng(0).integers(500, 1500, size=4000).astype(float)
    cut = [cut_array(part, [2000]) for part in (x, y, weight)]
    plain = DaskTreeRank(client=threads, **DEEP).fit(*cut[:2])
    heavy = DaskTreeRank(client=threads, **DEEP).fit(*cut)
    assert heavy.n_rounds_ <= plain.n_rounds_ + 6
    assert_same_tree(TreeRank(**DEEP).fit(x, y, weight), heavy)


def test_rows_are_moved_a_few_at_a_time(threads, monkeypatch):
    x, y = table(2000)
    parts = cut_array(x, [900]), cut_array(y, [900])
    usual = DaskTreeRank(pruning=None, client=threads).fit(*parts)
    monkeypatch.setattr(_rows, "MOVED_BYTES", 2000)
    careful = DaskTreeRank(pruning=None, client=threads).fit(*parts)
    assert careful.n_rounds_ > usual.n_rounds_
    assert_same_tree(usual, careful)


def test_rows_of_one_class_and_no_rows_are_fine_in_a_partition(threads):
    x, y = table(900)
    order = np.argsort(y, kind="stable")
    x, y = x[order], y[order]
    cuts = [0, 100, 100, int((y == 0).sum()), 900]
    model = DaskTreeRank(client=threads).fit(cut_array(x, cuts), cut_array(y, cuts))
    assert_same_tree(TreeRank().fit(x, y), model)


def test_ordered_categories_are_ranked_in_their_order(threads):
    x, y = table(600, 3)
    grades = pd.Series(pd.Categorical.from_codes(y, ["poor", "fair", "good"], ordered=True))
    model = DaskTreeRank(client=threads, **SMALL).fit(
        cut_frame(frame(x), [200, 300]), cut_frame(grades, [200, 300])
    )
    local = TreeRank(**SMALL).fit(frame(x), grades)
    assert_same_tree(local, model)
    for grown in (model, model.to_local()):
        assert grown.label_order_.tolist() == ["poor", "fair", "good"]
        assert grown.classes_.tolist() == ["fair", "good", "poor"]
    shares = model.predict_proba(cut_frame(frame(x), [200, 300])).compute()
    assert shares.columns.tolist() == ["fair", "good", "poor"]
    assert np.array_equal(shares, local.predict_proba(frame(x)))


def test_categories_in_two_orders_want_a_label_order(threads):
    x, y = table(300, 3)
    names = ["poor", "fair", "good"]
    grades = pd.Series(pd.Categorical.from_codes(y, names, ordered=True))
    turned = grades[150:].cat.reorder_categories(names[::-1], ordered=True)
    from dask.delayed import delayed

    mixed = dd.from_delayed(
        [delayed(grades[:150]), delayed(turned)], meta=grades[:0], verify_meta=False
    )
    lazy = cut_frame(frame(x), [150])
    with pytest.raises(ValueError, match="in another order"):
        DaskTreeRank(client=threads).fit(lazy, mixed)
    model = DaskTreeRank(client=threads, label_order=names, **SMALL).fit(lazy, mixed)
    assert_same_tree(TreeRank(**SMALL).fit(frame(x), grades), model)


def test_files_are_read_as_in_memory(threads, tmp_path):
    """Dask joins partitions of a few columns of Parquet files, and not those of many."""
    x, y = table(900)
    whole = frame(x).assign(label=y, weight=np.arange(900) % 3)
    for k, (first, last) in enumerate(pairwise([0, 200, 500, 900])):
        whole[first:last].to_parquet(tmp_path / f"{k}.parquet", row_group_size=150)
    features = list(frame(x).columns)
    expected = TreeRank(**SMALL).fit(whole[features], whole["label"], whole["weight"])
    rows = dd.read_parquet(tmp_path)
    lazy = DaskTreeRank(client=threads, **SMALL)
    lazy.fit(rows[features], rows["label"], rows["weight"])
    assert_same_tree(expected, lazy)
    files = DaskTreeRank(client=threads, **SMALL)
    files.fit_parquet(tmp_path, "label", sample_weight="weight")
    assert_same_tree(expected, files)
    arrays = rows[features[:5]].to_dask_array(), rows["label"].to_dask_array()
    by_array = DaskTreeRank(client=threads, **SMALL).fit(*arrays)
    assert_same_tree(TreeRank(**SMALL).fit(x, y), by_array)


def test_columns_that_identify_rows_are_left_out_with_one_warning(threads):
    x, y = table(300)
    whole = frame(x).assign(row=[f"r{i}" for i in range(300)])
    model = DaskTreeRank(client=threads, **SMALL)
    with pytest.warns(UserWarning, match=r"'row' \(300 levels in 300 rows\)") as caught:
        model.fit(cut_frame(whole, [100, 120]), cut_frame(pd.Series(y), [100, 120]))
    assert sum("identify rows" in str(w.message) for w in caught) == 1
    with pytest.warns(UserWarning, match="identify rows"):
        local = TreeRank(**SMALL).fit(whole, y)
    assert_same_tree(local, model)


@pytest.mark.parametrize(
    ("categories", "n_levels"), [("levels", 60), ("statistics", 60), ("auto", 400)]
)
@pytest.mark.parametrize("kind", ["tree", "forest", "boosting"])
def test_uneven_weights_judge_many_levels_as_in_memory(threads, kind, categories, n_levels):
    x, y = table(900)
    rng = np.random.default_rng(3)
    whole = frame(x).assign(town=rng.integers(0, n_levels, 900).astype(str))
    y = np.where(rng.random(900) < 0.4, whole["town"].astype(int) % 2, y)
    weight = rng.exponential(size=900)
    lazy = [cut_frame(values, [200, 650]) for values in (whole, pd.Series(y), pd.Series(weight))]
    names = {"categorical_features": ["town", "kind", "flag"], "categories": categories}
    if kind == "tree":
        model = DaskTreeRank(client=threads, **names).fit(*lazy)
        local = TreeRank(**names).fit(whole, y, sample_weight=weight)
        assert_same_tree(local, model)
    elif kind == "forest":
        model = DaskRankingForest(client=threads, n_estimators=9, **names).fit(*lazy)
        local = RankingForest(n_estimators=9, **names).fit(whole, y, sample_weight=weight)
        assert_same_forest(local, model)
    else:
        model = DaskBoostedTreeRank(3, client=threads, **names).fit(*lazy)
        local = BoostedTreeRank(3, **names).fit(whole, y, sample_weight=weight)
        np.testing.assert_array_equal(local._trees.slots, model._trees.slots)
        np.testing.assert_array_equal(local._trees.step, model._trees.step)
        np.testing.assert_array_equal(local._trees.category_sets, model._trees.category_sets)
    assert local.feature_importances_[whole.columns.get_loc("town")] > 0


@pytest.mark.parametrize("n_compared", [24, 4], ids=["as they are", "extrapolated"])
def test_a_forest_chooses_the_plan_that_it_chooses_in_memory(threads, monkeypatch, n_compared):
    monkeypatch.setattr(plan_race, "RACE_TREES", n_compared)
    monkeypatch.setattr(plan_race, "RACE_SHARE", 2)
    monkeypatch.setattr(forest_plan, "RIVAL_ROWS", 150)
    monkeypatch.setattr(forest_plan, "RIVAL_TREES", 8)
    x, y = table(200)
    settings = {"n_estimators": 8, "random_state": 3}
    memory = RankingForest(**settings).fit(x, y)
    model = DaskRankingForest(client=threads, **settings)
    model.fit(cut_array(x, [80, 120]), cut_array(y, [80, 120]))
    assert len(memory.plan_.oob_auc) == 3
    assert model.plan_ == memory.plan_
    np.testing.assert_array_equal(model.to_local().score_samples(x), memory.score_samples(x))
