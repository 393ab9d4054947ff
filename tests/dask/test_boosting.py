"""Boosting on a cluster: the model of memory, to the bit, whatever happens to the workers."""

import os
import pickle
import signal

import numpy as np
import pytest
from sklearn.base import clone

from treerank import BoostedTreeRank
from treerank._plans import boosting as boosting_plan

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
pd = pytest.importorskip("pandas")

from clusters import at_round, break_off, cut_array, cut_frame, frame, table  # noqa: E402

from treerank._growth import boosting_choice  # noqa: E402
from treerank.dask import DaskBoostedTreeRank, _boosting_checkpoint  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")


def assert_same_model(one, other):
    for name, mine in vars(one._trees).items():
        theirs = getattr(other._trees, name)
        assert mine is theirs or np.array_equal(mine, theirs), name
    for name in ("_start", "_slopes", "_intercepts", "feature_importances_", "n_estimators_"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert one.plan_ == other.plan_


@pytest.mark.parametrize(
    ("n_classes", "parameters"),
    [
        (2, {"n_estimators": 3}),
        (2, {"n_estimators": 3, "subsample": 0.5, "monotonic_cst": {"c0": 1}}),
        (3, {"n_estimators": 2, "early_stopping": True, "categories": "statistics"}),
        (2, {"n_estimators": 3, "n_bags": 3, "categories": "statistics"}),
    ],
)
def test_partitions_and_weights_give_the_model_of_memory(threads, n_classes, parameters):
    x, y = table(500, n_classes)
    given_x, given_y = frame(x), pd.Series(y)
    weight = pd.Series(np.random.default_rng(0).random(500))
    weight[::50] = 0.0
    cuts = [120, 120, 400]
    parts = [cut_frame(part, cuts) for part in (given_x, given_y, weight)]
    model = DaskBoostedTreeRank(client=threads, **parameters).fit(*parts)
    local = BoostedTreeRank(**parameters).fit(given_x, given_y, weight)
    assert_same_model(local, model)
    scores = model.score_samples(parts[0]).compute()
    assert np.array_equal(np.asarray(scores), local.score_samples(given_x))
    assert model.n_rounds_ > 0


def test_trees_are_chosen_as_in_memory(threads, monkeypatch):
    for limit in ("MANY_ROWS", "VAST_ROWS"):
        monkeypatch.setattr(boosting_plan, limit, 300)
    monkeypatch.setattr(boosting_plan, "MOST_TREES", 4)
    monkeypatch.setattr(boosting_choice, "RACE_ROWS", 200)
    x, y = table(500)
    model = DaskBoostedTreeRank(client=threads)
    model.fit(cut_array(x, [150, 400]), cut_array(y, [150, 400]))
    local = BoostedTreeRank().fit(x, y)
    assert len(local.plan_.held_out_loss) > 1
    assert_same_model(local, model)


@pytest.mark.parametrize("n_few", [5_000, 100])
def test_bags_are_those_of_memory(threads, monkeypatch, n_few):
    """Of few rows, which come to this process, and of more, which stay where they are."""
    monkeypatch.setattr(boosting_plan, "MANY_ROWS", n_few)
    monkeypatch.setattr(boosting_plan, "MOST_TREES", 2)
    x, y = table(150)
    weight = np.random.default_rng(0).integers(1, 4, size=150)
    parts = [cut_array(part, [40, 110]) for part in (x, y, weight)]
    parameters = {} if n_few == 5_000 else {"n_estimators": 2, "n_bags": 2}
    model = DaskBoostedTreeRank(client=threads, **parameters).fit(*parts)
    local = BoostedTreeRank(**parameters).fit(x, y, weight)
    assert model.n_bags_ == local.n_bags_ > 1
    assert_same_model(local, model)


def test_rows_to_validate_on_say_when_to_stop_as_in_memory(threads):
    x, y = table(400)
    parameters = {"n_estimators": 5, "n_iter_no_change": 2}
    lazy = [cut_array(part[:300], [100]) for part in (x, y)]
    local = BoostedTreeRank(**parameters).fit(x[:300], y[:300], X_val=x[300:], y_val=y[300:])
    for held in ((x[300:], y[300:]), (cut_array(x[300:], [50]), cut_array(y[300:], [50]))):
        model = DaskBoostedTreeRank(client=threads, **parameters)
        model.fit(*lazy, X_val=held[0], y_val=held[1])
        assert_same_model(local, model)
        assert np.array_equal(model.validation_scores_, local.validation_scores_)


def test_rows_of_one_class_and_no_rows_are_fine_in_a_partition(threads):
    x, y = table(300)
    order = np.argsort(y, kind="stable")
    x, y = x[order], y[order]
    cuts = [0, 100, 100, int((y == 0).sum()), 300]
    model = DaskBoostedTreeRank(2, client=threads).fit(cut_array(x, cuts), cut_array(y, cuts))
    assert_same_model(BoostedTreeRank(2).fit(x, y), model)


def test_files_give_the_model_of_memory(threads, tmp_path):
    pytest.importorskip("pyarrow")
    x, y = table(300)
    whole = frame(x).assign(label=y)
    whole[:120].to_parquet(tmp_path / "a.parquet")
    whole[120:].to_parquet(tmp_path / "b.parquet")
    model = DaskBoostedTreeRank(2, client=threads).fit_parquet(tmp_path, "label")
    local = BoostedTreeRank(2).fit_parquet(tmp_path, "label")
    assert_same_model(local, model)


def test_a_worker_that_is_killed_does_not_change_the_trees(processes, monkeypatch):
    _, client = processes

    def kill():
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    done = at_round(monkeypatch, 14, kill)
    x, y = table(600)
    model = DaskBoostedTreeRank(4, client=client)
    model.fit(cut_array(x, [200, 450]), cut_array(y, [200, 450]))
    assert done
    assert_same_model(BoostedTreeRank(4).fit(x, y), model)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_fit_that_was_broken_off_goes_on_from_its_checkpoint(
    threads, tmp_path, monkeypatch, n_classes
):
    monkeypatch.setattr(_boosting_checkpoint, "EVERY", 2)
    monkeypatch.setattr(boosting_plan, "VAST_ROWS", 200)  # bags of fewer are grown in memory
    x, y = table(200, n_classes)
    x = frame(x)
    parts = cut_frame(x, [80]), cut_frame(pd.Series(y), [80])
    path = tmp_path / "growth.npz"
    parameters = {"n_estimators": 3, "n_bags": 2, "random_state": 1}
    model = DaskBoostedTreeRank(client=threads, checkpoint=path, **parameters)
    whole = break_off(model, parts, path)
    model.fit(*parts)
    assert model.n_rounds_ < whole / 2 + 10
    assert not path.exists()
    assert_same_model(BoostedTreeRank(**parameters).fit(x, y), model)
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(ValueError, match="cannot be read"):
        model.fit(*parts)


def test_the_estimator_is_that_of_scikit_learn(threads):
    model = DaskBoostedTreeRank(2, max_depth=1, client=threads)
    expected = set(BoostedTreeRank().get_params()) | {"client", "checkpoint"}
    assert set(model.get_params()) == expected
    assert clone(model).n_estimators == 2
    x, y = table(200)
    lazy = cut_array(x, [80])
    model.fit(lazy, cut_array(y, [80]))
    local = model.to_local()
    assert type(local) is BoostedTreeRank
    assert local.get_params() == BoostedTreeRank(2, max_depth=1).get_params()
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.score_samples(x), local.score_samples(x))
    assert model.predict_proba(lazy).chunks == ((80, 120), (2,))
    assert np.array_equal(model.predict(lazy).compute(), local.predict(x))
    assert np.array_equal(model.decision_function(lazy).compute(), local.decision_function(x))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "pairwise"}, "Got loss='pairwise'; expected 'auto' or 'logistic'"),
        ({"loss": "hinge"}, "Got loss='hinge'"),
        ({"focus": 0.1}, "Got focus=0.1; expected None"),
        ({"warm_start": True}, "Got warm_start=True; expected False"),
        ({"device": "cuda"}, "Got device='cuda' on a cluster"),
        ({"n_estimators": 0}, "Got n_estimators=0"),
        ({"class_weight": "balanced"}, "class_weight"),
    ],
)
def test_what_a_cluster_cannot_do_is_said(threads, parameters, message):
    x, y = table(100)
    model = DaskBoostedTreeRank(client=threads, **parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(cut_array(x, [50]), cut_array(y, [50]))
    assert not hasattr(model, "classes_")


def test_where_nothing_can_be_learned_all_rows_have_one_score(threads):
    x, y = np.zeros((60, 2)), np.arange(60) % 2
    lazy = cut_array(x, [20])
    model = DaskBoostedTreeRank(3, client=threads).fit(lazy, cut_array(y, [20]))
    assert model.n_estimators_ == 0
    assert np.array_equal(model.score_samples(lazy).compute(), np.zeros(60))
    assert model.apply(lazy).compute().shape == (60, 0)


def test_labels_of_one_class_are_refused(threads):
    x, y = table(100)
    model = DaskBoostedTreeRank(client=threads)
    with pytest.raises(ValueError, match="class"):
        model.fit(cut_array(x, [50]), cut_array(np.zeros_like(y), [50]))
