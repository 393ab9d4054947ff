"""The failures of the R package TreeRank 1.1, each turned into a claim about this one."""

import pickle
import resource
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from treerank import LeafRank, TreeRank


def gaussian_pair(n=2_000, p=20, seed=0):
    """Two Gaussian classes whose best AUC is 0.80."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size=n)
    shift = np.zeros(p)
    shift[:5] = 1.19 / np.sqrt(5)
    return rng.normal(size=(n, p)) + y[:, np.newaxis] * shift, y


@pytest.mark.parametrize("seed", range(5))
def test_noise_labels_are_pruned_to_the_root(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(1_000, 10)), rng.integers(0, 2, size=1_000)
    model = TreeRank().fit(x, y)
    assert len(model.unpruned_tree_.leaves) > 20
    assert len(model.partition_) == 1


def test_pruning_judges_every_fold_on_rows_it_has_not_seen():
    x, y = gaussian_pair()
    path = TreeRank(LeafRank(max_depth=3), pruning="cv").fit(x, y).pruning_path_
    assert path.train_auc[0] > 0.84  # the whole tree, on the rows it was grown on
    assert path.heldout_auc.max() < 0.80  # nothing beats the Bayes AUC on new rows
    assert path.n_leaves[path.chosen] < path.n_leaves[0]


LABELS = {
    "category": lambda y: pd.Series(pd.Categorical(np.where(y == 1, "yes", "no"))),
    "text": lambda y: np.where(y == 1, "yes", "no"),
    "text with spaces": lambda y: np.where(y == 1, "paid  late", " in time"),
    "boolean": lambda y: y.astype(bool),
    "1 and 2": lambda y: y + 1,
    "-1 and 1": lambda y: 2 * y - 1,
}


@pytest.mark.parametrize("kind", LABELS)
def test_any_two_labels_give_the_model_of_zero_and_one(kind):
    x, y = gaussian_pair(800)
    labels = LABELS[kind](y)
    upward = (np.asarray(labels) == max(labels)) == (y == 1)
    assert upward.all()
    model, plain = TreeRank().fit(x, labels), TreeRank().fit(x, y)
    assert np.array_equal(model.score_samples(x), plain.score_samples(x))
    assert model.score(x, labels) == plain.score(x, y) > 0.7
    assert set(model.predict(x)) == set(labels)


def test_three_classes_in_no_declared_order_are_warned_of():
    x = gaussian_pair(300)[0]
    y = np.array(["low", "mid", "high"])[np.arange(300) % 3]
    with pytest.warns(UserWarning, match=r"ranked 'high', 'low', 'mid', worst first"):
        TreeRank().fit(x, y)
    with pytest.raises(ValueError, match=r"Got 3 classes: 'high', 'low', 'mid'"):
        LeafRank().fit(x, y)


@pytest.mark.parametrize("estimator", [TreeRank(shrinkage=None, pruning=None), LeafRank()])
def test_weights_change_the_tree(estimator):
    """Two features, each right on its half of the rows: the weight decides between them."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, size=1_000)
    first = np.arange(1_000) < 500
    x = np.column_stack([np.where(first, y, 0.5), np.where(first, 0.5, y)])
    for j, half in enumerate([first, ~first]):
        weight = np.where(half, 9.0, 1.0)
        model = estimator.fit(x, y, sample_weight=weight)
        assert int(model.tree_.tests["feature"][0]) == j
        assert np.isclose(model.partition_.counts.sum(), weight.sum())
        assert np.isclose(model.partition_.auc(), model.score(x, y, sample_weight=weight))


def test_min_auc_gain_stops_growth():
    x, y = gaussian_pair()
    leaves = []
    for gain in (0.0, 0.002, 0.02, 0.5):
        tree = TreeRank(pruning=None, min_auc_gain=gain).fit(x, y).tree_
        assert (tree.cells["auc_gain"][tree.is_split] > gain).all()
        leaves.append(len(tree.leaves))
    assert leaves[0] > leaves[1] > leaves[2] > leaves[3] == 1


def test_a_nominal_feature_is_split_by_the_best_set_of_levels():
    """The good levels are neither first nor last in the alphabet, nor side by side."""
    rng = np.random.default_rng(2)
    level = rng.choice(list("abcdef"), size=2_000)
    y = (rng.random(2_000) < np.where(np.isin(level, ["b", "e"]), 0.9, 0.1)).astype(int)
    model = LeafRank().fit(pd.DataFrame({"level": level}), y)
    assert model.partition_.rules() == ["level is any of b, e", "level is not any of b, e"]
    assert np.array_equal(
        model.apply(pd.DataFrame({"level": level})) == 0, np.isin(level, ["b", "e"])
    )


def mixed_table(n=600):
    rng = np.random.default_rng(3)
    x = pd.DataFrame(
        {
            "income": rng.normal(size=n),
            "home": rng.choice(["owns", "rents", "family"], size=n),
            "married": rng.random(n) < 0.5,
            "region": pd.Categorical(rng.choice(["north", "south"], size=n)),
        }
    )
    risk = x["income"] + (x["home"] == "rents") + x["married"] + rng.normal(size=n)
    return x, (risk > 1).astype(int)


def test_text_boolean_and_unseen_levels_are_scored():
    x, y = mixed_table()
    model = TreeRank().fit(x, y)
    assert model.score(x, y) > 0.75
    new = x.head(50).assign(home="castle", region=pd.Categorical(["moon"] * 50))
    assert np.isfinite(model.score_samples(new)).all()
    assert np.array_equal(
        model.score_samples(new), model.score_samples(new.assign(home=None, region=None))
    )


def test_rows_with_missing_values_are_kept_and_labels_do_not_shift():
    x, y = gaussian_pair(1_000, p=3)
    x[:, 0] = y  # the label itself, but missing in every fifth row
    x[::5, 0] = np.nan
    model = TreeRank(pruning=None, shrinkage=None).fit(x, y)
    assert model.partition_.counts.sum() == 1_000
    assert model.partition_.counts.sum(axis=0).tolist() == np.bincount(y).tolist()
    cells = model.apply(x)
    for cell in range(len(model.partition_)):
        assert np.bincount(y[cells == cell], minlength=2).tolist() == (
            model.partition_.counts[cell].tolist()
        )
    known = ~np.isnan(x[:, 0])
    assert roc_auc_score(y[known], model.score_samples(x[known])) == 1.0


def test_models_do_not_keep_the_data():
    x, y = gaussian_pair()
    TreeRank().fit(x, y)
    tracemalloc.start()
    models = [
        TreeRank(LeafRank(), pruning=None, shrinkage=None, max_bins=64).fit(x, y) for _ in range(50)
    ]
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept < 50 * 200_000  # the table alone has 320,000 bytes
    assert max(len(pickle.dumps(model)) for model in models) < 100_000


def test_a_hundred_thousand_rows_take_little_memory():
    x, y = gaussian_pair(100_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    TreeRank(pruning=None, shrinkage=None).fit(x, y)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown * 1024 < 10 * x.nbytes


def test_scoring_needs_rows_and_never_falls_back_on_the_training_ones():
    x, y = gaussian_pair(500)
    model = TreeRank().fit(x, y)
    for method in ("predict", "predict_proba", "score_samples", "decision_function", "apply"):
        with pytest.raises(TypeError, match="X"):
            getattr(model, method)()
        with pytest.raises(ValueError, match="2D"):
            getattr(model, method)(None)
        assert len(getattr(model, method)(x[:7])) == 7
    new = np.random.default_rng(9).normal(size=(40, 20))
    one_by_one = np.concatenate([model.score_samples(row[np.newaxis]) for row in new])
    assert np.array_equal(model.score_samples(new), one_by_one)


def test_a_seed_repeats_the_model_and_another_changes_it():
    x, y = gaussian_pair()

    def scores(seed, n_jobs=1):
        model = TreeRank(max_features=3, pruning=None, random_state=seed, n_jobs=n_jobs)
        return model.fit(x, y).score_samples(x)

    assert np.array_equal(scores(1), scores(1, n_jobs=2))
    assert not np.array_equal(scores(1), scores(2))


@pytest.mark.parametrize("shrinkage", ["cv", 0.0, 30.0, None])
def test_probabilities_are_probabilities_in_the_order_of_the_scores(shrinkage):
    x, y = gaussian_pair()
    model = TreeRank(shrinkage=shrinkage).fit(x[:1_500], y[:1_500])
    proba, score = model.predict_proba(x[1_500:]), model.score_samples(x[1_500:])
    assert ((proba >= 0) & (proba <= 1)).all()
    assert np.allclose(proba.sum(axis=1), 1)
    order = np.argsort(score, kind="stable")
    assert (np.diff(proba[order, 1]) >= -1e-12).all()


def test_a_tree_and_a_pruned_tree_rank_better_than_the_old_ones():
    """The package reached 0.670, and 0.704 with pruned LeafRank trees."""
    x, y = gaussian_pair(2_000, seed=1)
    new, truth = gaussian_pair(10_000, seed=2)
    assert TreeRank().fit(x, y).score(new, truth) > 0.704
