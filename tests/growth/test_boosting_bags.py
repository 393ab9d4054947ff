"""Bags of boosting: models on four fifths of the rows each, whose mean is the score."""

import time

import numpy as np
import oracles
import pandas as pd
import pytest
from samples import whole_numbers

import treerank
from treerank import BoostedTreeRank, _core
from treerank._growth import boosting_bags
from treerank._growth.boosting import ORDER_SEED
from treerank._growth.boosting_bags import BAG_FOLDS, BAG_SEED
from treerank._growth.boosting_fit import Boosted
from treerank.inspection import attributions


def hashes_of(X, y, seed):
    codes = np.ascontiguousarray((X.T + 1).astype(np.uint8))
    return _core.row_hashes(codes, y.astype(np.uint8), seed)


def in_order(X, y):
    """Rows in the order in which those of small tables are drawn."""
    order = np.argsort(hashes_of(X, y, ORDER_SEED), kind="stable")
    return X[order], y[order]


def test_the_score_is_the_mean_of_models_without_a_fold():
    X, y = in_order(*whole_numbers(400))
    model = BoostedTreeRank(6, n_bags=7, random_state=3).fit(X, y)
    scores = []
    for number in range(7):
        draw, left_out = divmod(number, BAG_FOLDS)
        seed = BAG_SEED + 3 + draw
        fold = oracles.folds(hashes_of(X, y, seed), y, None, BAG_FOLDS, seed)
        bag = BoostedTreeRank(
            6, n_bags=1, subsample=0.7, l2_regularization=2.0, random_state=3 + number
        ).fit(X[fold != left_out], y[fold != left_out])
        scores.append(bag.score_samples(X))
    np.testing.assert_allclose(model.score_samples(X), np.mean(scores, axis=0), rtol=1e-5)


@pytest.mark.parametrize("loss", ["logistic", "pairwise"])
def test_neither_the_order_of_the_rows_nor_threads_matter(loss):
    X, y = whole_numbers(300)
    model = BoostedTreeRank(5, n_bags=2, loss=loss).fit(X, y)
    mixed = np.random.default_rng(1).permutation(len(y))
    other = BoostedTreeRank(5, n_bags=2, loss=loss, n_jobs=2).fit(X[mixed], y[mixed])
    np.testing.assert_array_equal(other.score_samples(X), model.score_samples(X))


def test_bags_on_several_threads_are_those_of_one_with_categories_too():
    X, y = whole_numbers(300)
    X = pd.DataFrame(X, columns=list("abcd")).assign(
        level=pd.Categorical((3 * X[:, 0] + 5 * y) % 11)
    )
    alone, shared = (BoostedTreeRank(40, n_bags=5, n_jobs=n).fit(X, y) for n in (1, 3))
    assert len(shared._trees.category_sets) > 0
    for name in ("starts", "slots", "step", "set_of", "category_sets", "importance", "left_share"):
        one, other = getattr(alone._trees, name), getattr(shared._trees, name)
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_bag_that_fails_ends_the_fit_and_the_other_bags(monkeypatch, n_jobs):
    grown = []

    def boost(rows, validation, binning, plan, report):
        if plan.seed == 1:
            raise RuntimeError("a bag has failed")
        for share in np.linspace(0, 1, 1000):
            grown.append(plan.seed)
            time.sleep(0.001)
            report(share)
        return Boosted(None, 0.0, None, np.empty(0))

    monkeypatch.setattr(boosting_bags, "boost", boost)
    X, y = whole_numbers(100)
    model = BoostedTreeRank(5, n_bags=8, n_jobs=n_jobs, random_state=0)
    with pytest.raises(RuntimeError, match="a bag has failed"):
        model.fit(X, y)
    assert not hasattr(model, "_trees")
    assert len(grown) < 3000  # of 7000


def test_weights_of_equal_rows_may_come_in_any_order():
    X, y = whole_numbers(300)
    X = X[:, :1]
    weight = np.random.default_rng(0).integers(1, 9, size=300)
    mixed = np.random.default_rng(1).permutation(300)
    model = BoostedTreeRank(5, n_bags=2, leafrank_depth=1)
    one = model.fit(X, y, weight).score_samples(X)
    other = model.fit(X[mixed], y[mixed], weight[mixed]).score_samples(X)
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("n_rows", "n_positives", "given", "expected"),
    [
        (200, 90, {}, 10),
        (200, 10, {}, 10),
        (200, 9, {}, 1),
        (200, 90, {"max_depth": 1}, 10),
        (200, 90, {"loss": "pairwise"}, 10),
        (200, 90, {"n_bags": 2}, 2),
        (200, 90, {"n_estimators": 3}, 1),
        (200, 90, {"early_stopping": True}, 1),
        (49_999, 20_000, {"leafrank_depth": 1, "max_depth": 1}, 10),
        (50_000, 20_000, {"leafrank_depth": 1, "max_depth": 1}, 1),
    ],
)
def test_small_tables_of_two_classes_have_bags(monkeypatch, n_rows, n_positives, given, expected):
    monkeypatch.setattr(treerank._plans.boosting, "MOST_TREES", 2)
    monkeypatch.setattr(treerank._plans.boosting, "USUAL_TREES", 2)
    X = np.arange(3.0 * n_rows).reshape(-1, 3) % 7
    y = np.arange(n_rows) < n_positives
    assert BoostedTreeRank(**given).fit(X, y).n_bags_ == expected


def test_grades_and_rows_to_validate_on_have_no_bags():
    X, y = whole_numbers(200)
    assert BoostedTreeRank(max_depth=1).fit(X, y + (X[:, 3] > 2)).n_bags_ == 1
    assert BoostedTreeRank(max_depth=1).fit(X, y, X_val=X, y_val=y).n_bags_ == 1


def test_the_trees_are_chosen_as_without_bags_and_what_is_given_is_kept_to():
    X, y = whole_numbers(400)
    alone, bagged = (BoostedTreeRank(n_bags=n).fit(X, y) for n in (1, "auto"))
    assert bagged.plan_ == alone.plan_
    assert bagged.n_estimators_ == alone.n_estimators_
    former = BoostedTreeRank(n_bags=1, subsample=1.0, l2_regularization=5.0).fit(X, y)
    np.testing.assert_array_equal(alone.score_samples(X), former.score_samples(X))
    for name, usual, other in (("subsample", 0.7, 0.5), ("l2_regularization", 2.0, 9.0)):
        scores = [
            BoostedTreeRank(4, n_bags=2, **{name: value}).fit(X, y).score_samples(X)
            for value in ("auto", usual, other)
        ]
        np.testing.assert_array_equal(scores[0], scores[1])
        assert not np.array_equal(scores[0], scores[2])


def test_a_class_of_one_row_cannot_be_left_out():
    X, y = whole_numbers(50)
    y = (np.arange(50) == 0).astype(int)
    with pytest.raises(ValueError, match="one row of the rarest class; expected at least 2"):
        BoostedTreeRank(2, n_bags=2).fit(X, y)
    for name in ("n_bags", "subsample"):
        with pytest.raises(ValueError, match=name):
            BoostedTreeRank(2, **{name: "many"}).fit(X, y)


def test_rounds_without_a_split_in_a_bag_are_counted_all_the_same():
    X, y = whole_numbers(60)
    model = BoostedTreeRank(30, n_bags=3, max_features=1, min_samples_leaf=8).fit(X, y)
    sizes = model._bag_sizes
    assert len(set(sizes.tolist())) > 1  # some bag is shorter
    assert sizes.sum() == model._trees.n_trees
    assert model.n_estimators_ == sizes.max()
    stages = list(model.staged_score_samples(X))
    assert len(stages) == model.n_estimators_
    np.testing.assert_allclose(stages[-1], model.score_samples(X), rtol=1e-12)
    codes, _ = model._codes(X)
    firsts = [model._trees.tree(int(start)).each(codes, 1)[0] for start in np.cumsum(sizes) - sizes]
    np.testing.assert_allclose(stages[0], model._start + sum(firsts), rtol=1e-6)


def test_files_keep_the_number_of_bags(tmp_path):
    X, y = whole_numbers(300)
    for given, expected in (({"max_depth": 1}, 10), ({"n_estimators": 4, "n_bags": 3}, 3)):
        model = BoostedTreeRank(**given).fit(X, y)
        treerank.save(model, tmp_path / "model")
        loaded = treerank.load(tmp_path / "model")
        assert (loaded.n_bags_, loaded.n_estimators_) == (expected, model.n_estimators_)
        np.testing.assert_array_equal(loaded._bag_sizes, model._bag_sizes)
        np.testing.assert_array_equal(loaded.score_samples(X), model.score_samples(X))


@pytest.mark.parametrize("given", [{"max_depth": 1}, {"n_estimators": 6, "max_leaf_nodes": 5}])
def test_parquet_files_give_the_model_of_memory(tmp_path, given):
    pytest.importorskip("pyarrow")
    X, y = whole_numbers(300)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.assign(y=y).to_parquet(tmp_path / "rows.parquet", row_group_size=70)
    in_memory = BoostedTreeRank(**given).fit(frame, y)
    from_file = BoostedTreeRank(**given).fit_parquet(tmp_path / "rows.parquet", target="y")
    assert from_file.plan_ == in_memory.plan_
    assert from_file.n_bags_ == in_memory.n_bags_
    np.testing.assert_array_equal(from_file.score_samples(frame), in_memory.score_samples(frame))


def test_attributions_add_up_to_the_score_of_all_bags():
    X, y = whole_numbers(300)
    model = BoostedTreeRank(5, n_bags=3).fit(X, y)
    found = attributions(model, X[:20])
    np.testing.assert_allclose(
        found.values.sum(axis=1) + found.expected_value, model.score_samples(X[:20]), rtol=1e-6
    )


def test_a_warm_start_needs_trees_of_one_model():
    X, y = whole_numbers(200)
    model = BoostedTreeRank(4, n_bags=2).fit(X, y)
    before = model.score_samples(X)
    with pytest.raises(ValueError, match="after a fit of 2 bags; expected a fit with n_bags=1"):
        model.set_params(n_estimators=9, n_bags=1, warm_start=True).fit(X, y)
    np.testing.assert_array_equal(model.score_samples(X), before)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y_val": [0, 1]}, "Got y_val without X_val"),
        ({"X_val": np.zeros((2, 4))}, "Got X_val without y_val"),
        ({"sample_weight_val": [1.0, 1.0]}, "Got sample_weight_val without X_val and y_val"),
        ({"X_val": np.zeros((2, 4)), "y_val": [1, 1]}, "In y_val .* Got no row of class 0;"),
        ({"X_val": np.zeros((2, 4)), "y_val": [1, 7]}, "In y_val .* Got the label 7; expected"),
        ({"X_val": np.zeros((2, 4)), "y_val": [1, None]}, "In y_val .* missing labels .*row 1"),
        ({"X_val": np.zeros((2, 4)), "y_val": [0, "a"]}, "In y_val .* labels of several types"),
        ({"X_val": np.zeros((3, 4)), "y_val": [0, 1]}, "In y_val or sample_weight_val"),
        ({"X_val": np.zeros((2, 4)), "y_val": [0, 1], "sample_weight_val": [1, -1]},
         "In y_val or sample_weight_val"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_validation_rows_is_said_of_them(given, message):
    X, y = whole_numbers(60)
    with pytest.raises(ValueError, match=message):
        BoostedTreeRank(2).fit(X, y, **given)


def test_numbers_as_text_are_not_taken_for_auto():
    X, y = whole_numbers(60)
    for name in ("n_bags", "n_estimators", "learning_rate"):
        with pytest.raises(ValueError, match=f"Got {name}='3'; expected 'auto' or a number"):
            BoostedTreeRank(**{name: "3"}).fit(X, y)
