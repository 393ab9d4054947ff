"""Lazy scores, the contract of scikit-learn, and clear errors."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from treerank import LeafRank, TreeRank

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
from clusters import cut_array, cut_frame, frame, table  # noqa: E402
from same_models import SMALL, assert_same_tree  # noqa: E402

import treerank.dask  # noqa: E402
from treerank.dask import (  # noqa: E402
    DaskRankingForest,
    DaskTreeRank,
)

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")


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


def test_the_module_says_what_it_has():
    estimators = {"DaskBoostedTreeRank", "DaskRankingForest", "DaskTreeRank"}
    assert set(treerank.dask.__all__) == {"ClusterError", *estimators}
