"""Rounds of a fit, workers that come and go, checkpoints, other versions."""

import os
import signal
import threading

import numpy as np
import pytest

from treerank import RankingForest, TreeRank

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
from clusters import at_round, break_off, cut_array, table  # noqa: E402
from same_models import DEEP, assert_same_forest, assert_same_tree  # noqa: E402

from treerank.dask import (  # noqa: E402
    ClusterError,
    DaskRankingForest,
    DaskTreeRank,
    _forest_rows,
    _rows,
)

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")


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
    model = make(client=threads, checkpoint=checkpoint, **parameters)
    whole = break_off(model, parts, checkpoint)
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
