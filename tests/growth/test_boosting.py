"""BoostedTreeRank: weights, seeds, classes, missing values; promises kept."""

import pickle

import numpy as np
import pandas as pd
import pytest
from boosted_trees import sample
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

from treerank import BoostedTreeRank
from treerank.metrics import ordinal_vus_score

pytestmark = pytest.mark.core


@pytest.mark.parametrize("loss", ["logistic", "pairwise", "rankboost"])
def test_integer_weights_equal_repeated_rows(loss):
    X, y = sample()
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    options = {"n_estimators": 15, "loss": loss, "max_features": 0.5}
    weighted = BoostedTreeRank(**options).fit(X, y, sample_weight=weight)
    repeated = BoostedTreeRank(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    found, wanted = weighted.score_samples(X), repeated.score_samples(X)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-7 if loss == "logistic" else 1e-4)


def test_multiplying_fractional_weights_changes_nothing():
    X, y = sample()
    weight = np.random.default_rng(0).uniform(0.1, 3, len(y))
    one, other = (
        BoostedTreeRank(20).fit(X, y, sample_weight=w).score_samples(X)
        for w in (weight, 1024 * weight)
    )
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("loss", ["logistic", "pairwise"])
def test_result_does_not_depend_on_the_number_of_threads(loss):
    X, y = sample(6000)
    models = [
        BoostedTreeRank(8, loss=loss, subsample=0.7, max_features=0.7, n_jobs=n).fit(X, y)
        for n in (1, 3)
    ]
    scores = [model.score_samples(X) for model in models]
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(models[0].feature_importances_, models[1].feature_importances_)


def test_same_seed_same_result_other_seed_other_result():
    X, y = sample()
    one, again, other = (
        BoostedTreeRank(10, subsample=0.5, random_state=seed).fit(X, y).score_samples(X)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


def test_order_of_the_rows_does_not_matter():
    X, y = sample()
    order = np.random.default_rng(0).permutation(len(y))
    one = BoostedTreeRank(30).fit(X, y).score_samples(X)
    other = BoostedTreeRank(30).fit(X[order], y[order]).score_samples(X)
    np.testing.assert_array_equal(one, other)


def test_with_leafrank_of_depth_one_a_ranking_tree_is_an_ordinary_one():
    X, y = sample()
    settings = {"n_estimators": 20, "leaf_values": "leaf"}
    one = BoostedTreeRank(max_depth=4, leafrank_depth=1, **settings).fit(X, y)
    other = BoostedTreeRank(max_depth=1, leafrank_depth=4, **settings).fit(X, y)
    np.testing.assert_allclose(one.score_samples(X), other.score_samples(X), atol=1e-9)


@pytest.mark.not_sanitized
def test_ranks_as_well_as_gradient_boosting_of_scikit_learn():
    X, y = make_classification(4000, n_features=12, n_informative=6, flip_y=0.2, random_state=3)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    ours = BoostedTreeRank().fit(X_train, y_train).score(X_test, y_test)
    rival = HistGradientBoostingClassifier(random_state=0).fit(X_train, y_train)
    assert ours > roc_auc_score(y_test, rival.decision_function(X_test)) - 0.01


def test_strata_have_one_value_each():
    X, y = sample()
    model = BoostedTreeRank(5, leaf_values="stratum", max_depth=2).fit(X, y)
    for tree in range(5):
        values = model._trees.each(model._codes(X)[0], 1)[tree]
        assert 2 <= len(np.unique(values)) <= 4


@pytest.mark.parametrize("loss", ["logistic", "pairwise", "rankboost"])
def test_probabilities_are_those_of_the_score(loss):
    X, y = sample(2000)
    model = BoostedTreeRank(30, loss=loss).fit(X, y)
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X), (shares[:, 1] > 0.5).astype(int))
    np.testing.assert_array_equal(model.decision_function(X) > 0, shares[:, 1] > 0.5)
    assert log_loss(y, shares) < 0.5
    if loss == "logistic":
        np.testing.assert_allclose(shares[:, 1], expit(model.score_samples(X)))


@pytest.mark.parametrize("loss", ["auto", "logistic", "pairwise", "rankboost"])
def test_ordered_classes_are_ranked(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    y = np.digitize(X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=1500), [0.3, 1.5])
    model = BoostedTreeRank(60, loss=loss).fit(X[:1000], y[:1000])
    assert model.loss_ == ("logistic" if loss == "auto" else loss)
    found = model.score(X[1000:], y[1000:])
    assert found > 0.85  # 1/6 by chance
    assert found == ordinal_vus_score(y[1000:], model.score_samples(X[1000:]))
    assert np.mean(model.predict(X[1000:]) == y[1000:]) > 0.75
    assert np.array_equal(model.decision_function(X), model.predict_proba(X))


def test_label_order_turns_the_ranking_round():
    X, y = sample()
    names = np.array(["bad", "good"])[y]
    up = BoostedTreeRank(20).fit(X, names).score_samples(X)
    down = BoostedTreeRank(20, label_order=["good", "bad"]).fit(X, names).score_samples(X)
    np.testing.assert_allclose(up, -down, atol=1e-6)


def test_missing_values_and_categories_are_learned():
    rng = np.random.default_rng(0)
    n = 2000
    town = rng.choice(list("abcdef"), n)
    income = rng.normal(size=n)
    y = ((np.isin(town, ["b", "e"])) ^ (rng.random(n) < 0.1)).astype(int)
    income[(y == 1) & (rng.random(n) < 0.5)] = np.nan
    X = pd.DataFrame({"town": pd.Categorical(town), "income": income})
    model = BoostedTreeRank(60, max_features=None).fit(X[:1500], y[:1500])
    assert model.score(X[1500:], y[1500:]) > 0.93
    unseen = pd.DataFrame({"town": pd.Categorical(["z", "b"]), "income": [0.0, 0.0]})
    assert np.isfinite(model.score_samples(unseen)).all()


def test_importance_finds_the_feature_that_matters():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 4))
    model = BoostedTreeRank(20).fit(X, X[:, 2] + 0.5 * rng.normal(size=800) > 0)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.feature_importances_.argmax() == 2


def test_nothing_to_learn_gives_one_score():
    X = np.ones((60, 2))
    for loss in ("logistic", "pairwise"):
        model = BoostedTreeRank(5, loss=loss).fit(X, np.repeat([0, 0, 1], 20))
        assert model.n_estimators_ == 0
        assert len(np.unique(model.score_samples(X))) == 1
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / 3, atol=0.01)
        assert model.apply(X).shape == (60, 0)


def test_pickled_model_scores_the_same():
    X, y = load_breast_cancer(return_X_y=True)
    model = BoostedTreeRank(20).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.score_samples(X), again.score_samples(X))


def test_failed_fit_leaves_the_model_as_it_was():
    X, y = sample()
    model = BoostedTreeRank(5).fit(X, y)
    before = model.score_samples(X)
    with pytest.raises(ValueError, match="subsample=2"):
        model.set_params(subsample=2).fit(X[:, :3], y)
    np.testing.assert_array_equal(model.score_samples(X), before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_estimators": 0}, "Got n_estimators=0; expected an integer >= 1"),
        ({"learning_rate": 0}, "Got learning_rate=0; expected a number > 0"),
        ({"learning_rate": -1}, "Got learning_rate=-1"),
        ({"loss": "hinge"}, "Got loss='hinge'; expected one of 'auto', 'logistic'"),
        ({"max_depth": None}, "Got max_depth=None; expected an integer from 1 to 20"),
        ({"leafrank_depth": 0}, "Got leafrank_depth=0; expected an integer from 1 to 20"),
        ({"max_depth": 21}, "Got max_depth=21"),
        ({"min_samples_leaf": 0}, "Got min_samples_leaf=0"),
        ({"l2_regularization": -1}, "Got l2_regularization=-1"),
        ({"subsample": 1.5}, "Got subsample=1.5; expected a share"),
        ({"max_features": 7}, "Got max_features=7; expected at most"),
        ({"leaf_values": "cell"}, "Got leaf_values='cell'"),
        ({"max_leaf_nodes": 1}, "Got max_leaf_nodes=1"),
        ({"max_leaf_nodes": "many"}, "Got max_leaf_nodes='many'"),
        ({"early_stopping": "yes"}, "Got early_stopping='yes'"),
        ({"validation_fraction": 1.0}, "Got validation_fraction=1.0"),
        ({"n_iter_no_change": 0}, "Got n_iter_no_change=0"),
        ({"max_bins": 1}, "Got max_bins=1"),
    ],
)
def test_bad_parameters_are_named(change, message):
    X, y = sample(60)
    with pytest.raises(ValueError, match=message):
        BoostedTreeRank(**change).fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_bags_score_by_the_mean_of_their_trees(n_classes):
    X, y = sample(400, n_classes=n_classes)
    model = BoostedTreeRank(12, n_bags=3, n_jobs=2).fit(X, y)
    assert model.n_estimators_ == 12
    assert model._trees.n_trees == 36
    again = BoostedTreeRank(12, n_bags=3).fit(X, y)
    np.testing.assert_array_equal(model.score_samples(X), again.score_samples(X))
    assert model.score(X, y) > BoostedTreeRank(1).fit(X, y).score(X, y)
    for other in ({"early_stopping": True}, {"warm_start": True}):
        with pytest.raises(ValueError, match="expected n_bags=1"):
            BoostedTreeRank(4, n_bags=2, **other).fit(X, y)


def test_files_give_the_model_of_memory(tmp_path):
    pytest.importorskip("pyarrow")
    X, y = sample(500)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    frame.assign(y=y).to_parquet(tmp_path / "rows.parquet", row_group_size=120)
    in_memory = BoostedTreeRank(20).fit(frame, y)
    from_file = BoostedTreeRank(20).fit_parquet(tmp_path / "rows.parquet", target="y")
    np.testing.assert_array_equal(from_file.score_samples(frame), in_memory.score_samples(frame))
