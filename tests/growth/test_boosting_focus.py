"""How boosting with a focus chooses its loss and its trees."""

from functools import cache

import numpy as np
import pytest
from boosted_trees import folds_of_choice
from samples import whole_numbers
from sklearn.base import clone

import treerank
from treerank import BoostedTreeRank
from treerank._growth.boosting_choice import (
    FOCUS_STEP,
    FOCUS_WINDOW,
    N_FOLDS,
    _best_loss,
)
from treerank.metrics import local_auc_score, partial_auc_score


def only_together(n, seed=0):
    """Most rows hardly differ; in a fifth of them two columns matter much, and only together."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 8))
    both = (X[:, 3] > 0.5) != (X[:, 4] > 0.5)
    share = 0.05 + 0.06 * X[:, 1] + np.where(X[:, 0] > 0.8, 0.05 + 0.6 * both, 0.06 * X[:, 2])
    return X, (rng.random(n) < share).astype(int)


@cache
def fitted_together(focus):
    """A fit to a table in which the plain loss sees too little of the top."""
    return BoostedTreeRank(focus=focus, n_bags=2).fit(*only_together(1_500))


@cache
def fitted_stumps():
    model = BoostedTreeRank(focus=0.2, max_depth=1, leafrank_depth=2, n_bags=2)
    return model.fit(*whole_numbers(300))


def measure(y, scores, focus):
    if isinstance(focus, tuple):
        return partial_auc_score(y, scores, min_fpr=focus[0], max_fpr=focus[1])
    return local_auc_score(y, scores, rate=focus)


def losses_by_hand(X, y, focus, loss, size, n_rounds):
    """1 minus the measure on each fold (columns) after each tree, by models of the other folds."""
    fold = folds_of_choice(X, y)
    found = np.empty((n_rounds, N_FOLDS))
    for f in range(N_FOLDS):
        model = BoostedTreeRank(
            n_rounds, learning_rate=0.1, loss=loss, focus=focus, max_depth=size[0],
            leafrank_depth=size[1],
        ).fit(X[fold != f], y[fold != f])  # fmt: skip
        for number, scores in enumerate(model.staged_score_samples(X[fold == f])):
            found[number, f] = 1 - measure(y[fold == f], scores, focus)
    return found


@pytest.mark.parametrize("focus", [0.2, (0.0, 0.3)])
def test_each_loss_is_judged_at_the_top_of_rows_held_out(focus):
    X, y = whole_numbers(300)
    size = 2, 1
    settings = {"focus": focus, "max_depth": size[0], "leafrank_depth": size[1], "n_bags": 1}
    plain, pairs = (
        BoostedTreeRank(loss=loss, **settings).fit(X, y).plan_ for loss in ("logistic", "pairwise")
    )
    found = BoostedTreeRank(**settings).fit(X, y).plan_.held_out_top_loss
    assert found.keys() == {"logistic", "pairwise"}
    # The plain loss: trees of least log-loss, half as many at a rate of 0.1 as at one of 0.05.
    n_rounds = plain.n_trees[size] // 2
    losses = losses_by_hand(X, y, focus, "logistic", size, n_rounds)
    assert found["logistic"] == pytest.approx(losses[-1].mean())
    # Pairs of the top: the least mean of neighbouring measures.
    n_rounds = pairs.n_trees[size] // 2
    aside = FOCUS_STEP * (FOCUS_WINDOW // 2)
    losses = losses_by_hand(X, y, focus, "pairwise", size, n_rounds + aside + 2 * FOCUS_STEP)
    measured = losses.mean(axis=1)[FOCUS_STEP - 1 :: FOCUS_STEP]
    means = np.convolve(measured, np.ones(FOCUS_WINDOW) / FOCUS_WINDOW, "valid")
    assert n_rounds == FOCUS_STEP * (int(np.argmin(means)) + 1) + aside
    assert found["pairwise"] == pytest.approx(means.min())
    assert found["pairwise"] == pairs.held_out_loss[size]


def test_pairs_of_the_top_have_to_be_ahead_by_more_than_luck():
    plain = np.array([0.5, 0.6, 0.55, 0.58, 0.52])
    luck = np.array([0.05, -0.05, 0.04, -0.04, 0.0])
    for gain, expected in ((0.02, "pairwise"), (0.004, "logistic"), (-0.02, "logistic")):
        assert _best_loss({"logistic": plain, "pairwise": plain - gain - luck}) == expected
    # Of equal measures the first; of a single part there is no error to be known.
    assert _best_loss({"logistic": plain, "pairwise": plain}) == "logistic"
    assert _best_loss({"logistic": plain[:1], "pairwise": plain[:1] - 1e-6}) == "pairwise"
    assert _best_loss({"rankboost": plain}) == "rankboost"


def test_a_focus_is_no_worse_at_the_top_than_none():
    """Of many rows the plain fit sees that two columns matter together; of fewer, the top alone."""
    X, y = only_together(3_000, seed=3)
    many = [BoostedTreeRank(focus=focus, n_bags=2).fit(X, y) for focus in (None, 0.1)]
    fewer = [fitted_together(focus) for focus in (None, 0.1)]
    X_new, y_new = only_together(20_000, seed=9)
    for models, gain in ((many, 0.0), (fewer, 0.03)):
        plain, focused = (local_auc_score(y_new, m.score_samples(X_new), rate=0.1) for m in models)
        assert focused >= plain + gain


def test_where_the_plain_loss_is_taken_the_model_is_the_plain_one():
    X, y = whole_numbers(400, seed=3)
    plain, focused = (BoostedTreeRank(focus=focus, n_bags=2).fit(X, y) for focus in (None, 0.2))
    assert focused.loss_ == plain.loss_ == "logistic"
    assert focused.plan_.n_trees == plain.plan_.n_trees
    np.testing.assert_array_equal(focused.score_samples(X), plain.score_samples(X))


def test_where_pairs_of_the_top_are_taken_their_trees_are_fitted():
    X, y = only_together(1_500)
    model, plain = fitted_together(0.1), fitted_together(None)
    assert model.loss_ == "pairwise"
    assert model.plan_.held_out_top_loss["pairwise"] < model.plan_.held_out_top_loss["logistic"]
    # Sizes are those of the plain fit; its trees are smaller than the usual ones, pairs' are not.
    assert model.plan_.held_out_loss == plain.plan_.held_out_loss
    assert plain.plan_.max_depth == 1
    size = model.plan_.max_depth, model.plan_.leafrank_depth
    assert size == (2, 2)
    assert model.n_estimators_ == model.plan_.n_trees[size]
    again = BoostedTreeRank(
        model.n_estimators_, learning_rate=0.05, focus=0.1, max_depth=2, leafrank_depth=2, n_bags=2
    ).fit(X, y)
    np.testing.assert_array_equal(model.score_samples(X), again.score_samples(X))


def test_what_is_given_is_not_chosen():
    X, y = whole_numbers(300)
    for given, sizes in (({"max_depth": 3}, {(3, 2)}), ({"n_estimators": 9}, set())):
        plan = BoostedTreeRank(focus=0.2, n_bags=1, **given).fit(X, y).plan_
        assert set(plan.held_out_loss) == sizes
        assert bool(plan.held_out_top_loss) == bool(sizes)
    alone = BoostedTreeRank(focus=0.2, loss="rankboost", n_bags=1).fit(X, y)
    assert alone.loss_ == "rankboost"
    assert len(alone.plan_.held_out_loss) > 1
    assert alone.plan_.held_out_top_loss == {}
    few = BoostedTreeRank(focus=0.2).fit(X[:60], y[:60])  # rows held out would say too little
    assert (few.loss_, few.n_estimators_, few.plan_.n_trees) == ("pairwise", 200, {})


def test_neither_the_order_of_the_rows_nor_threads_matter():
    X, y = whole_numbers(300)
    model = fitted_stumps()
    mixed = np.random.default_rng(1).permutation(len(y))
    other = clone(model).set_params(n_jobs=2).fit(X[mixed], y[mixed])
    assert other.plan_.n_trees == model.plan_.n_trees
    np.testing.assert_allclose(other.score_samples(X), model.score_samples(X), rtol=1e-9)


def test_a_file_keeps_what_was_tried(tmp_path):
    model = fitted_stumps()
    treerank.save(model, tmp_path / "model")
    loaded = treerank.load(tmp_path / "model")
    assert loaded.plan_ == model.plan_
    assert loaded.plan_.held_out_top_loss
