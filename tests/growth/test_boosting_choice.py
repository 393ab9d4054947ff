"""How boosting chooses the size and the number of its trees."""

import numpy as np
import pytest
from boosted_trees import folds_of_choice
from samples import whole_numbers
from sklearn.metrics import log_loss

import treerank
from treerank import BoostedTreeRank
from treerank._growth import boosting_choice
from treerank._growth.boosting_choice import N_FOLDS, BoostingChoice
from treerank._plans import boosting as boosting_plan


def given_trees(model, **others):
    """Model of the trees that another has chosen."""
    plan = model.plan_
    return BoostedTreeRank(
        model.n_estimators_, max_depth=plan.max_depth, leafrank_depth=plan.leafrank_depth, **others
    )


def losses_by_hand(X, y, size, n_rounds):
    """Log-loss on rows held out after each tree, by models of the folds."""
    fold = folds_of_choice(X, y)
    shares = np.empty((n_rounds, len(y)))
    for f in range(N_FOLDS):
        model = BoostedTreeRank(
            n_rounds, learning_rate=0.1, max_depth=size[0], leafrank_depth=size[1]
        ).fit(X[fold != f], y[fold != f])
        for number, scores in enumerate(model.staged_score_samples(X[fold == f])):
            shares[number, fold == f] = 1 / (1 + np.exp(-scores))
    return [log_loss(y, share) for share in shares]


def test_the_loss_of_each_size_is_that_of_models_of_the_folds():
    X, y = whole_numbers(400)
    plan = BoostedTreeRank().fit(X, y).plan_
    assert (2, 2) in plan.held_out_loss
    for size, least in plan.held_out_loss.items():
        n_rounds = plan.n_trees[size] // 2  # rates of 0.1 to choose, 0.05 to fit
        losses = losses_by_hand(X, y, size, n_rounds + 5)
        assert min(losses) == pytest.approx(least, rel=1e-6)
        assert np.argmin(losses) + 1 == n_rounds


@pytest.mark.parametrize("n_bags", [1, "auto"])
def test_the_size_of_least_loss_is_fitted(n_bags):
    X, y = whole_numbers(400)
    model = BoostedTreeRank(n_bags=n_bags).fit(X, y)
    plan = model.plan_
    size = min(plan.held_out_loss, key=plan.held_out_loss.get)
    assert size == (plan.max_depth, plan.leafrank_depth)
    assert model.n_estimators_ == plan.n_trees[size]
    assert not hasattr(model, "validation_scores_")
    again = given_trees(model, learning_rate=0.05, n_bags=model.n_bags_).fit(X, y)
    np.testing.assert_array_equal(model.score_samples(X), again.score_samples(X))
    assert again.plan_ == BoostingChoice(*size, {}, {})


@pytest.mark.not_sanitized
@pytest.mark.parametrize("vast", [50_000, 5_000])
def test_of_many_rows_fewer_folds_choose_and_steps_are_larger(monkeypatch, vast):
    monkeypatch.setattr(boosting_plan, "VAST_ROWS", vast)
    X, y = whole_numbers(5_000)
    model = BoostedTreeRank().fit(X, y)
    assert (
        model.n_estimators_
        == model.plan_.n_trees[model.plan_.max_depth, model.plan_.leafrank_depth]
    )
    again = given_trees(model, learning_rate=0.1, n_bags=model.n_bags_).fit(X, y)
    np.testing.assert_array_equal(model.score_samples(X), again.score_samples(X))


@pytest.mark.not_sanitized
def test_beyond_two_classes_the_vus_chooses_the_number_alone():
    X, y = whole_numbers(5_000)
    grades = y + (X[:, 3] > 2)
    model = BoostedTreeRank().fit(X, grades)
    assert list(model.plan_.held_out_loss) == [(2, 3)]
    assert model.n_estimators_ == model.plan_.n_trees[2, 3] < 1_500
    assert BoostedTreeRank().fit(X[:4_999], grades[:4_999]).n_estimators_ == 200


def test_neither_the_order_of_the_rows_nor_threads_matter():
    X, y = whole_numbers(400)
    model = BoostedTreeRank().fit(X, y)
    mixed = np.random.default_rng(1).permutation(len(y))
    for other in (
        BoostedTreeRank().fit(X[mixed], y[mixed]),
        BoostedTreeRank(n_jobs=2).fit(X, y),
        BoostedTreeRank().fit(X, y, np.full(len(y), 0.3)),
    ):
        assert other.plan_.n_trees == model.plan_.n_trees
        np.testing.assert_array_equal(other.score_samples(X), model.score_samples(X))


def test_trees_are_as_large_as_the_table_asks():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(400, 2))
    additive = (rng.random(400) < 1 / (1 + np.exp(-2 * X.sum(axis=1)))).astype(int)
    board = (np.floor(3 * X).sum(axis=1) % 2).astype(int)
    small, large = (BoostedTreeRank(max_features=None).fit(X, y).plan_ for y in (additive, board))
    assert (small.max_depth, small.leafrank_depth) < (2, 2)
    assert (large.max_depth, large.leafrank_depth) > (2, 2)


def test_few_rows_of_a_class_ask_for_few_small_trees():
    X, y = whole_numbers(400)
    for n_rare, size in ((49, (100, 1, 2)), (50, None)):
        rows = np.r_[np.flatnonzero(y == 0)[:100], np.flatnonzero(y == 1)[:n_rare]]
        for given, changed in (({}, None), ({"leafrank_depth": 1}, (100, 1, 1)),
                               ({"n_estimators": 9}, (9, 2, 2))):  # fmt: skip
            model = BoostedTreeRank(**given).fit(X[rows], y[rows])
            found = model.n_estimators_, model.plan_.max_depth, model.plan_.leafrank_depth
            if size is not None:
                assert found == (changed or size)
                assert not model.plan_.held_out_loss
            elif not given:
                assert model.plan_.held_out_loss
    grades = np.arange(150) % 3
    assert BoostedTreeRank().fit(X[:150], grades).n_estimators_ == 200


def test_smaller_trees_are_tried_first_where_features_outnumber_rows(monkeypatch):
    monkeypatch.setattr(boosting_choice, "PATIENCE_BY_LOSS", 5)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 121))
    y = (X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=120) > 0).astype(int)
    for n_features, second in ((121, (1, 2)), (120, (3, 3))):
        model = BoostedTreeRank(n_bags=1).fit(X[:, :n_features], y)
        assert list(model.plan_.held_out_loss)[:2] == [(2, 2), second]


def test_labels_of_pure_noise_ask_for_few_trees():
    """Of few distinct rows, too: those held out are drawn, not made to look like the others."""
    rng = np.random.default_rng(4)
    X = rng.integers(40, size=(1_500, 1)).astype(float)
    y = rng.permutation(np.arange(1_500) % 2)
    model = BoostedTreeRank().fit(X, y)
    assert min(model.plan_.held_out_loss.values()) > np.log(2) - 0.003
    assert model.n_estimators_ < 30


def test_what_is_given_is_not_chosen():
    X, y = whole_numbers(400)
    for given, sizes in (
        ({"max_depth": 3}, [(3, 2)]),
        ({"leafrank_depth": 1}, [(2, 1)]),
        ({"n_estimators": 9}, []),
        ({"early_stopping": True}, []),
        ({"loss": "pairwise"}, []),
    ):
        assert list(BoostedTreeRank(**given).fit(X, y).plan_.held_out_loss) == sizes
    for name in ("max_depth", "leafrank_depth"):
        with pytest.raises(ValueError, match=name):
            BoostedTreeRank(**{name: "deep"}).fit(X, y)


def test_a_sample_chooses_the_size_and_all_rows_the_number(monkeypatch):
    X, y = whole_numbers(1_500)
    monkeypatch.setattr(boosting_choice, "RACE_ROWS", 500)
    model = BoostedTreeRank().fit(X, y)
    size = model.plan_.max_depth, model.plan_.leafrank_depth
    alone = BoostedTreeRank(max_depth=size[0], leafrank_depth=size[1]).fit(X, y)
    assert len(model.plan_.n_trees) > 1
    assert model.plan_.n_trees[size] == alone.plan_.n_trees[size] == model.n_estimators_


def test_a_file_keeps_the_choice(tmp_path):
    X, y = whole_numbers(400)
    model = BoostedTreeRank().fit(X, y)
    treerank.save(model, tmp_path / "model")
    loaded = treerank.load(tmp_path / "model")
    assert loaded.plan_ == model.plan_
    del loaded.plan_  # as of a file of 0.1.0
    treerank.save(loaded, tmp_path / "again")
    again = treerank.load(tmp_path / "again")
    assert not hasattr(again, "plan_")
    np.testing.assert_array_equal(again.score_samples(X), model.score_samples(X))
