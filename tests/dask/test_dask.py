"""Models of a cluster are those of memory, to the bit, whatever happens to its workers."""

import os
import pickle
import signal
import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from hypothesis_examples import examples
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from treerank import LeafRank, RankingForest, TreeRank
from treerank._plans import forest as forest_plan

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

from clusters import at_round, cut_array, cut_frame, frame, table  # noqa: E402

import treerank.dask  # noqa: E402
from treerank._input import column_stats  # noqa: E402
from treerank.dask import (  # noqa: E402
    ClusterError,
    DaskRankingForest,
    DaskTreeRank,
    _forest_rows,
    _rows,
)

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
DEEP = {"splitter": LeafRank(max_depth=6), "max_depth": 8, "pruning": None, "shrinkage": None}
# A fit of few rounds, where the question is what goes into it or comes out.
SMALL = {"max_depth": 3, "pruning": None, "shrinkage": None}


def assert_same_tree(one, other):
    for tree in ("tree_", "unpruned_tree_"):
        for name in ("cells", "counts", "tests", "category_sets"):
            assert np.array_equal(
                getattr(getattr(one, tree), name), getattr(getattr(other, tree), name)
            ), (tree, name)
    assert np.array_equal(one.shrinkage_, other.shrinkage_, equal_nan=True)
    assert np.array_equal(one.partition_.scores, other.partition_.scores)


def assert_same_forest(one, other):
    for name, mine in vars(one._trees).items():
        theirs = getattr(other._trees, name)
        same = mine is theirs or np.array_equal(mine, theirs)
        assert same, name
    assert one.shrinkage_ == other.shrinkage_


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
    rng = np.random.default_rng(seed)
    weight = {
        "none": None,
        "whole": rng.integers(1, 4, size=n).astype(float),
        "broken": rng.random(n) + 0.1,
        "zeros": np.append(np.ones(n - 3), [0.0, 2.0, 0.0]),
    }[weights]
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
    assert model.classes_.tolist() == ["poor", "fair", "good"]
    assert_same_tree(TreeRank(**SMALL).fit(frame(x), grades), model)


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


# --- Rounds ---


def test_one_deep_tree_takes_at_most_sixty_rounds(threads, monkeypatch):
    monkeypatch.setattr(_rows, "GATHERED_SHARE", 0.0)
    x, y = table(4000)
    model = DaskTreeRank(client=threads, **DEEP)
    model.fit(cut_array(x, [2000]), cut_array(y, [2000]))
    assert 40 < model.n_rounds_ <= 60
    assert_same_tree(TreeRank(**DEEP).fit(x, y), model)


def test_sixteen_trees_take_at_most_four_times_the_rounds_of_one(threads):
    x, y = table(2000)
    parts = cut_array(x, [900]), cut_array(y, [900])
    rounds = [
        DaskRankingForest(client=threads, n_estimators=n).fit(*parts).n_rounds_ for n in (1, 16)
    ]
    assert rounds[1] <= 4 * rounds[0]


# --- Workers that come and go ---


@pytest.mark.parametrize("what", ["added", "retired", "killed"])
def test_a_worker_that_comes_or_goes_does_not_change_the_tree(processes, monkeypatch, what):
    cluster, client = processes
    monkeypatch.setattr(_rows, "GATHERED_SHARE", 0.02)

    def act():
        if what == "killed":
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        elif what == "retired":
            client.retire_workers([next(iter(client.scheduler_info()["workers"]))])
        else:
            cluster.scale(len(cluster.worker_spec) + 1)

    done = at_round(monkeypatch, 9, act)
    x, y = table(4000)
    model = DaskTreeRank(client=client)
    model.fit(cut_array(x, [1000, 2500]), cut_array(y, [1000, 2500]))
    assert done
    assert_same_tree(TreeRank().fit(x, y), model)


def test_rows_that_cannot_be_computed_again_give_a_named_error_soon(processes, monkeypatch):
    _, client = processes
    x, y = table(3000)
    held = client.scatter([x[:1500], x[1500:]])
    from dask.delayed import delayed

    lost = da.concatenate([da.from_delayed(delayed(part), (1500, 5), dtype=float) for part in held])

    def kill_all():
        for pid in client.run(os.getpid).values():
            os.kill(pid, signal.SIGKILL)

    at_round(monkeypatch, 3, kill_all)
    model = DaskTreeRank(client=client)
    with pytest.raises(ClusterError, match="cannot be computed again"):
        model.fit(lost, cut_array(y, [1500]))
    assert not hasattr(model, "tree_")


def test_two_fits_at_once_on_one_cluster_both_finish(threads):
    x, y = table(2000)
    parts = cut_array(x, [700]), cut_array(y, [700])
    found = {}

    def fit(seed):
        model = DaskRankingForest(client=threads, n_estimators=4, random_state=seed)
        found[seed] = model.fit(*parts)

    both = [threading.Thread(target=fit, args=(seed,)) for seed in (1, 2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join(timeout=120)
    for seed in (1, 2):
        assert_same_forest(RankingForest(n_estimators=4, random_state=seed).fit(x, y), found[seed])


# --- The checkpoint ---


@pytest.mark.parametrize("kind", ["tree", "forest"])
def test_a_fit_that_was_broken_off_goes_on_from_its_checkpoint(
    threads, tmp_path, monkeypatch, kind
):
    monkeypatch.setattr(_rows, "GATHERED_SHARE", 0.1)
    x, y = table(800)
    parts = cut_array(x, [300]), cut_array(y, [300])
    checkpoint = tmp_path / "growth.npz"
    make, local = DaskTreeRank, TreeRank()
    parameters = {}
    if kind == "forest":
        monkeypatch.setattr(_forest_rows, "BATCH", 3)
        make, parameters = DaskRankingForest, {"n_estimators": 4}
        local = RankingForest(**parameters)
    whole = make(client=threads, checkpoint=checkpoint, **parameters).fit(*parts).n_rounds_
    assert not checkpoint.exists()

    def stop():
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        at_round(patch, whole - 4, stop)
        model = make(client=threads, checkpoint=checkpoint, **parameters)
        with pytest.raises(KeyboardInterrupt):
            model.fit(*parts)
    assert checkpoint.exists()
    with pytest.raises(ValueError, match="other data or other parameters"):
        clone(model).set_params(random_state=9).fit(*parts)
    turned = np.random.default_rng(0).permutation(y)  # as many of each class
    with pytest.raises(ValueError, match="other data or other parameters"):
        model.fit(parts[0], cut_array(turned, [300]))
    # Other partitions of the same rows are the same data.
    model.fit(cut_array(x, [100, 600]), cut_array(y, [100, 600]))
    assert model.n_rounds_ < whole
    assert not checkpoint.exists()
    (assert_same_forest if kind == "forest" else assert_same_tree)(local.fit(x, y), model)


def test_a_damaged_checkpoint_is_refused(threads, tmp_path):
    checkpoint = tmp_path / "growth.npz"
    checkpoint.write_bytes(b"nothing of the kind")
    x, y = table(300)
    with pytest.raises(ValueError, match="cannot be read"):
        DaskTreeRank(client=threads, checkpoint=checkpoint).fit(cut_array(x, []), cut_array(y, []))


# --- Scores ---


def test_scores_are_lazy_and_those_of_the_local_model(threads):
    x, y = table(300, 3)
    given_x, parts = frame(x), [100, 100, 180]
    lazy = cut_frame(given_x, parts)
    for model in (
        DaskTreeRank(client=threads, **SMALL),
        DaskRankingForest(client=threads, n_estimators=2, max_depth=3),
    ):
        model.fit(lazy, cut_frame(pd.Series(y), parts))
        local = model.to_local()
        methods = ("score_samples", "predict_proba", "predict", "apply")
        promised = [getattr(model, method)(lazy) for method in methods]
        assert all(hasattr(found, "compute") for found in promised)
        for method, found in zip(methods, dask.compute(*promised), strict=True):
            expected = getattr(local, method)(given_x)
            assert np.array_equal(found.to_numpy(), expected)
            assert np.array_equal(getattr(model, method)(given_x), expected)
        assert model.score(lazy, cut_frame(pd.Series(y), parts)) == local.score(given_x, y)


def test_arrays_give_arrays_of_known_chunks(threads):
    x, y = table(500)
    model = DaskTreeRank(client=threads, **SMALL).fit(cut_array(x, [200]), cut_array(y, [200]))
    lazy = da.from_array(x, chunks=(100, 2))
    assert model.decision_function(lazy).chunks == ((100,) * 5,)
    assert model.predict_proba(lazy).chunks == ((100,) * 5, (2,))
    assert np.array_equal(model.predict(lazy).compute(), model.to_local().predict(x))


def test_the_estimators_are_those_of_scikit_learn(threads):
    model = DaskTreeRank(max_depth=3, client=threads)
    assert set(TreeRank().get_params()) | {"client", "checkpoint"} == set(model.get_params())
    assert clone(model).client is threads
    assert isinstance(model.to_local(), TreeRank)
    x, y = table(300)
    model.fit(cut_array(x, []), cut_array(y, []))
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None
    assert np.array_equal(again.score_samples(x), model.score_samples(x))
    assert model.to_local().get_params() == TreeRank(max_depth=3).get_params()


# --- Bad input ---


def test_bad_input_gives_one_clear_error(threads):
    x, y = table(300)
    lazy_x, lazy_y = cut_array(x, [100]), cut_array(y, [100])
    model = DaskTreeRank(client=threads)
    with pytest.raises(TypeError, match="expected a Dask DataFrame or a Dask Array"):
        model.fit(x, y)
    with pytest.raises(TypeError, match="Got y of type ndarray"):
        model.fit(lazy_x, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(lazy_x, lazy_y[:200])
    with pytest.raises(ValueError, match="in 3 partitions and X in 2"):
        model.fit(cut_frame(frame(x), [100]), cut_frame(pd.Series(y), [50, 100]))
    with pytest.raises(ValueError, match=r"rows of X and \d+ labels in partition"):
        model.fit(cut_frame(frame(x), [100]), cut_frame(pd.Series(y), [120]))
    with pytest.raises(ValueError, match=r"missing labels in 2 of 300 rows \(first: row 150\)"):
        model.fit(lazy_x, cut_array(np.where(np.isin(np.arange(300), (150, 160)), np.nan, y), [99]))
    with pytest.raises(ValueError, match="one class only"):
        model.fit(lazy_x, da.zeros_like(lazy_y))
    with pytest.raises(ValueError, match=r"In partition 1: Got sample_weight\[199\]=-1"):
        model.fit(lazy_x, lazy_y, cut_array(np.append(np.ones(299), -1.0), [100]))
    with pytest.raises(ValueError, match="cv"):
        DaskTreeRank(client=threads, cv=object()).fit(lazy_x, lazy_y)
    with pytest.raises(ValueError, match="expected None or a LeafRank"):
        DaskTreeRank(LogisticRegression(), client=threads).fit(lazy_x, lazy_y)
    with pytest.raises(ValueError, match="pruning=None"):
        DaskTreeRank(LeafRank(pruning="cv"), client=threads).fit(lazy_x, lazy_y)
    with pytest.raises(ValueError, match=r"Got focus=0.1; expected None: on a cluster"):
        DaskTreeRank(focus=0.1, client=threads).fit(lazy_x, lazy_y)
    with pytest.raises(ValueError, match="aggregation='kendall'"):
        DaskRankingForest(aggregation="kendall", client=threads).fit(lazy_x, lazy_y)
    with pytest.raises(ValueError, match="warm_start"):
        DaskRankingForest(warm_start=True, client=threads).fit(lazy_x, lazy_y)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        DaskTreeRank(client=threads, checkpoint="nowhere/growth.npz").fit(lazy_x, lazy_y)
    with pytest.raises(ValueError, match="requires y"):
        model.fit(lazy_x, None)
    with pytest.raises(NotFittedError):
        model.score_samples(lazy_x)
    with pytest.raises(TypeError, match="Got client of type str"):
        DaskTreeRank(client="tcp://nowhere").fit(lazy_x, lazy_y)
    assert not hasattr(model, "tree_")


def fit_in_a_task(parts):
    return DaskTreeRank().fit(*parts)


def test_a_fit_inside_a_task_is_refused_rather_than_waiting_for_itself(threads):
    x, y = table(200)
    parts = cut_array(x, []), cut_array(y, [])
    with pytest.raises(RuntimeError, match="worker_client"):
        threads.submit(lambda: fit_in_a_task(parts), pure=False).result(timeout=20)


def test_local_estimators_want_tables_in_memory(threads):
    x, y = table(100)
    for lazy in (cut_array(x, []), cut_frame(frame(x), [])):
        with pytest.raises(TypeError, match=r"call compute\(\) on it, or train with treerank.dask"):
            TreeRank().fit(lazy, y)


def test_columns_that_differ_between_partitions_are_named(threads):
    x, y = table(300)
    one, other = frame(x).iloc[:150], frame(x).iloc[150:].rename(columns={"c1": "other"})
    from dask.delayed import delayed

    mixed = dd.from_delayed([delayed(one), delayed(other)], meta=one.iloc[:0], verify_meta=False)
    with pytest.raises(ValueError, match=r"'c1'.*partition 1"):
        DaskTreeRank(client=threads).fit(mixed, cut_frame(pd.Series(y), [150]))


def test_categories_that_differ_between_partitions_are_put_together(threads):
    x, y = table(300)
    whole = frame(x)
    whole["kind"] = whole["kind"].astype("category")
    parts = [whole.iloc[:150].copy(), whole.iloc[150:].copy()]
    parts[1]["kind"] = parts[1]["kind"].cat.rename_categories({"a": "z"})
    from dask.delayed import delayed

    mixed = dd.from_delayed(
        [delayed(part) for part in parts], meta=parts[0].iloc[:0], verify_meta=False
    )
    together = pd.concat([part.astype({"kind": object}) for part in parts])
    model = DaskTreeRank(client=threads, **SMALL).fit(mixed, cut_frame(pd.Series(y), [150]))
    assert_same_tree(TreeRank(**SMALL).fit(together, y), model)


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


@pytest.mark.parametrize("categories", ["levels", "statistics"])
@pytest.mark.parametrize("kind", ["tree", "forest"])
def test_uneven_weights_judge_many_levels_as_in_memory(threads, kind, categories):
    x, y = table(900)
    rng = np.random.default_rng(3)
    whole = frame(x).assign(town=rng.integers(0, 60, 900).astype(str))
    y = np.where(rng.random(900) < 0.4, whole["town"].astype(int) % 2, y)
    weight = rng.exponential(size=900)
    lazy = [cut_frame(values, [200, 650]) for values in (whole, pd.Series(y), pd.Series(weight))]
    names = {"categorical_features": ["town", "kind", "flag"], "categories": categories}
    if kind == "tree":
        model = DaskTreeRank(client=threads, **names).fit(*lazy)
        local = TreeRank(**names).fit(whole, y, sample_weight=weight)
        assert_same_tree(local, model)
    else:
        model = DaskRankingForest(client=threads, n_estimators=2, **names).fit(*lazy)
        local = RankingForest(n_estimators=2, **names).fit(whole, y, sample_weight=weight)
        assert_same_forest(local, model)
    assert local.feature_importances_[whole.columns.get_loc("town")] > 0


def test_workers_without_the_package_or_with_another_version_are_refused(threads, monkeypatch):
    from importlib.metadata import PackageNotFoundError

    x, y = table(100)
    lazy = cut_array(x, []), cut_array(y, [])

    def not_installed(*_):
        raise PackageNotFoundError("treerank-ml")

    monkeypatch.setattr(threads, "run", not_installed)
    with pytest.raises(RuntimeError, match="do not have treerank-ml"):
        DaskTreeRank(client=threads).fit(*lazy)
    monkeypatch.setattr(threads, "run", lambda *_: {"tcp://here": "0.0.1"})
    with pytest.raises(RuntimeError, match=r"tcp://here has treerank-ml 0\.0\.1"):
        DaskTreeRank(client=threads).fit(*lazy)
    monkeypatch.setattr(threads, "run", lambda *_: {})
    with pytest.raises(RuntimeError, match="without workers"):
        DaskTreeRank(client=threads).fit(*lazy)


def test_the_module_says_what_it_has():
    estimators = {"DaskBoostedTreeRank", "DaskRankingForest", "DaskTreeRank"}
    assert set(treerank.dask.__all__) == {"ClusterError", *estimators}


def test_a_forest_chooses_the_plan_that_it_chooses_in_memory(threads, monkeypatch):
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
