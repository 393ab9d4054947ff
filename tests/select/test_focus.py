"""The top of the list: what is chosen for it, and where growth stops."""

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples
from sklearn.tree import DecisionTreeClassifier

import treerank
from treerank import BoostedTreeRank, RankingForest, TreeRank, _core
from treerank._growth.losses import soft_top, top_pairs
from treerank._input.focus import Focus, check_focus
from treerank._select.pruning import FOCUS_SLACK, HeldOut, choose_subtree, held_out_worth
from treerank.metrics import local_auc_score, partial_auc_score

DEPTH_BELOW_TOP = 5
FOCI = [0.05, 0.3, (0.0, 0.1), (0.05, 0.4)]


def sample(n=600, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4)).round(1)
    y = (x[:, 0] * x[:, 1] + x[:, 2] + rng.normal(size=n) > 1.2).astype(int)
    return x, y


def random_part(tree, rng, unit=1.0):
    counts = np.zeros((tree.n_cells, 2))
    counts[tree.leaves] = rng.poisson(0.8, size=(len(tree.leaves), 2))
    counts[tree.leaves[0]] += 1
    return HeldOut(tree, tree.cell_counts(unit * counts))


@pytest.mark.core
@given(st.integers(0, 2**32 - 1), st.sampled_from(FOCI), st.sampled_from([1.0, 0.37]))
@examples(40)
def test_worth_at_the_top_along_the_path_equals_scoring_every_subtree_anew(seed, rates, unit):
    rng = np.random.default_rng(seed)
    x, y = sample(90, seed)
    y[:2] = 0, 1
    tree = TreeRank(pruning=None, shrinkage=None, min_samples_leaf=3).fit(x, y).tree_
    part = random_part(tree, rng, unit)
    focus = check_focus(rates, 2)
    lambdas = tree.sequence[0]
    tried = np.concatenate([lambdas, np.sqrt(lambdas[:-1] * lambdas[1:]), [np.inf]])
    shrinkages = np.array([np.nan, 0.0, 5.0, 1e9])
    worth, brier = held_out_worth([part] * 2, tried, shrinkages, 2, focus)
    assert np.array_equal(worth[0], worth[1])
    for j, shrinkage in enumerate(shrinkages):
        expected, squares = oracles.held_out_worth(
            tree, part.counts, tried, shrinkage, focus.for_core
        )
        np.testing.assert_allclose(worth[0, :, j], expected, rtol=1e-10, atol=1e-12)
        if not np.isnan(shrinkage):
            np.testing.assert_allclose(brier[0, :, j], squares, rtol=1e-10)


def test_the_measure_of_the_core_is_that_of_the_metrics():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 6, 40).astype(float)
    counts = rng.poisson(2.0, size=(40, 2)).astype(float)
    y, s = (
        np.repeat([0, 1], counts.sum(axis=0).astype(int)),
        np.concatenate([np.repeat(values, counts[:, k].astype(int)) for k in (0, 1)]),
    )
    local = oracles.top_of_cells(values, counts, ("rows", 0.0, 0.2))
    assert local == pytest.approx(local_auc_score(y, s, rate=0.2), abs=1e-12)
    partial = oracles.top_of_cells(values, counts, ("negatives", 0.1, 0.5))
    assert partial == pytest.approx(partial_auc_score(y, s, min_fpr=0.1, max_fpr=0.5), abs=1e-12)


def without_splits_below_top(tree, focus):
    """Slow twin: walk the cells in order, and forget splits that begin below the top."""
    kind, _, high = focus.for_core
    size = tree.counts[:, 0] if kind == "negatives" else tree.counts.sum(axis=1)
    above = np.zeros(tree.n_cells)
    for cell in range(tree.n_cells):
        if tree.is_split[cell]:
            left, right = tree.cells["left"][cell], tree.cells["right"][cell]
            above[left], above[right] = above[cell], above[cell] + size[left]
    reaches = above < high * size[0] - 1e-9
    return tree.subtree(reaches | (tree.cells["depth"] < DEPTH_BELOW_TOP))


def check_stops_below_top(focused, plain, rates):
    """Check the cells of a tree with a focus; return the plain tree without the other splits."""
    expected = without_splits_below_top(plain, check_focus(rates, 2))
    assert len(focused.leaves) < len(plain.leaves)
    assert np.array_equal(focused.cells, expected.cells)
    return expected


@pytest.mark.core
@pytest.mark.parametrize("rates", FOCI)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_focused_tree_is_the_plain_one_without_the_splits_below_the_top(rates, weighted):
    x, y = sample(2000)
    weight = np.random.default_rng(1).exponential(size=len(y)) if weighted else None
    settings = {"pruning": None, "shrinkage": None, "min_samples_leaf": 3}
    plain = TreeRank(**settings).fit(x, y, weight).tree_
    focused = TreeRank(**settings, focus=rates).fit(x, y, weight).tree_
    expected = check_stops_below_top(focused, plain, rates)
    # Cuts are numbered among those that a tree uses.
    for name in ("feature", "left", "right", "side", "negative", "positive"):
        assert np.array_equal(focused.tests[name], expected.tests[name])


def test_splitters_in_python_stop_below_the_top_too():
    x, y = sample(3000)
    small = DecisionTreeClassifier(max_depth=2)
    settings = {"splitter": small, "pruning": None, "shrinkage": None}
    plain = TreeRank(**settings).fit(x, y).tree_
    for rates in FOCI:
        focused = TreeRank(**settings, focus=rates).fit(x, y).tree_
        check_stops_below_top(focused, plain, rates)


def test_splits_below_the_top_change_nothing_there():
    x, y = sample(3000)
    settings = {"pruning": None, "shrinkage": None, "min_samples_leaf": 3}
    plain = TreeRank(**settings).fit(x, y)
    focused = TreeRank(**settings, focus=0.1).fit(x, y)
    for rate in (0.02, 0.1):
        whole, top = (local_auc_score(y, m.score_samples(x), rate=rate) for m in (plain, focused))
        assert top == pytest.approx(whole, abs=1e-12)
    assert focused.score(x, y) < plain.score(x, y)


@pytest.mark.parametrize("rates", [0.1, (0.0, 0.2)])
def test_the_chosen_subtree_is_among_the_best_at_the_top(rates):
    x, y = sample(400, seed=4)
    tree = TreeRank(pruning=None, shrinkage=None, min_samples_leaf=3).fit(x, y).tree_
    rng = np.random.default_rng(3)
    parts = [random_part(tree, rng) for _ in range(5)]
    shrinkages, focus = np.array([0.0, 10.0, 1000.0]), check_focus(rates, 2)
    chosen = choose_subtree(tree, parts, shrinkages, True, 0.1, 0.0, 1, focus)
    lambdas = tree.sequence[0]
    tried = np.append(np.sqrt(lambdas[:-1] * lambdas[1:]), np.inf)
    worth = np.array(
        [
            [
                oracles.held_out_worth(tree, part.counts, tried, s, focus.for_core)[0]
                for part in parts
            ]
            for s in shrinkages
        ]
    )
    mean, error = worth.mean(axis=1), worth.std(axis=1, ddof=1) / np.sqrt(5)
    at = int(np.flatnonzero(shrinkages == chosen.shrinkage)[0]), chosen.path.chosen
    assert chosen.top == pytest.approx(mean[at])
    assert chosen.top_std_error == pytest.approx(error[at])
    assert chosen.top >= mean.max() - FOCUS_SLACK * error.flat[mean.argmax()] - 1e-12
    # The path itself speaks of the AUC, as without a focus.
    plain = choose_subtree(tree, parts, shrinkages, True, 0.1, 0.0)
    assert plain.top == plain.path.heldout_auc[plain.path.chosen]
    assert (chosen.path.heldout_auc > 0.2).all()


@pytest.mark.parametrize("rates", [0.1, (0.0, 0.2)])
def test_a_forest_takes_the_shrinkage_of_the_highest_measure_out_of_bag(rates):
    x, y = sample(500)
    weight = np.random.default_rng(2).integers(1, 4, len(y))
    settings = {"n_estimators": 40, "focus": rates}
    chosen = RankingForest(**settings, n_jobs=2).fit(x, y, weight)
    found = {}
    for shrinkage in (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0):
        forest = RankingForest(**settings, shrinkage=shrinkage, oob_score=True).fit(x, y, weight)
        s = forest.oob_decision_function_
        seen = np.isfinite(s)
        measure = (y[seen], s[seen])
        if rates == 0.1:
            found[shrinkage] = local_auc_score(*measure, rate=0.1, sample_weight=weight[seen])
        else:
            found[shrinkage] = partial_auc_score(*measure, max_fpr=0.2, sample_weight=weight[seen])
    assert found[chosen.shrinkage_] == pytest.approx(max(found.values()), abs=1e-9)
    again = RankingForest(**settings, n_jobs=1).fit(x, y, weight)
    assert np.array_equal(again.score_samples(x), chosen.score_samples(x))


def test_boosting_stops_where_the_top_is_best():
    x, y = sample(1200)
    fit, new = slice(0, 800), slice(800, None)
    model = BoostedTreeRank(60, focus=0.1, loss="logistic").fit(
        x[fit], y[fit], X_val=x[new], y_val=y[new]
    )
    staged = list(BoostedTreeRank(60).fit(x[fit], y[fit]).staged_score_samples(x[new]))
    expected = [local_auc_score(y[new], s, rate=0.1) for s in staged]
    np.testing.assert_allclose(model.validation_scores_, expected[: len(model.validation_scores_)])
    assert model.n_estimators_ == int(np.argmax(expected)) + 1


@pytest.mark.parametrize("rates", [0.1, (0.0, 0.2)])
def test_the_loss_over_the_top_is_that_of_its_weighted_pairs(rates):
    rng = np.random.default_rng(5)
    rank, scores = rng.integers(0, 2, 60), 3 * rng.normal(size=60).round(1)
    weight = rng.integers(1, 4, 60).astype(float)
    focus = check_focus(rates, 2)
    # Slow twin: the end of the top by repeated rows, then all pairs one by one.
    counted = np.repeat(scores, weight.astype(int) * ((rank == 0) | (focus.counts == "rows")))
    end = np.sort(counted)[::-1][int(np.ceil(4 * focus.high * len(counted))) - 1]
    member = np.array(
        [1 / (1 + np.exp(end - s)) if focus.counts == "rows" or r == 0 else 1.0
         for s, r in zip(scores, rank, strict=True)]
    )  # fmt: skip
    np.testing.assert_allclose(soft_top(scores, rank, weight, focus), member)
    first, second, pairs = np.zeros(60), np.zeros(60), 0.0
    for i in np.flatnonzero(rank == 1):
        for j in np.flatnonzero(rank == 0):
            slope = 1 / (1 + np.exp(scores[i] - scores[j]))
            pairs += weight[i] * weight[j] * member[i] * member[j]
            for row, other, sign in ((i, j, -1), (j, i, 1)):
                share = weight[other] * member[other] * member[row]
                first[row] += sign * share * slope
                second[row] += share * slope * (1 - slope)
    factor = weight.sum() / (2 * pairs)
    found = top_pairs(scores, rank, weight, focus)
    np.testing.assert_allclose(found[0], factor * first, atol=1e-10)
    np.testing.assert_allclose(found[1], factor * second, atol=1e-10)


def test_boosting_with_a_focus_learns_from_the_pairs_of_the_top():
    x, y = sample(1500)
    weight = np.random.default_rng(1).integers(1, 3, len(y))
    model = BoostedTreeRank(40, focus=0.1).fit(x, y)
    assert model.loss_ == "pairwise"
    assert BoostedTreeRank(2).fit(x, y).loss_ == "logistic"
    plain = BoostedTreeRank(40, loss="pairwise").fit(x, y)
    assert not np.array_equal(model.score_samples(x), plain.score_samples(x))
    top, whole = (local_auc_score(y, m.score_samples(x), rate=0.1) for m in (model, plain))
    assert top > whole
    two = BoostedTreeRank(10, focus=0.1, n_jobs=2).fit(x, y, weight).score_samples(x)
    assert np.array_equal(two, BoostedTreeRank(10, focus=0.1).fit(x, y, weight).score_samples(x))
    share = model.predict_proba(x)[:, 1]
    assert share.mean() == pytest.approx(y.mean(), abs=0.01)


@pytest.mark.parametrize("rates", FOCI)
def test_one_thread_or_two_and_whole_weights_or_repeated_rows_give_the_same_tree(rates):
    x, y = sample(800)
    weight = np.random.default_rng(3).integers(1, 4, len(y))
    one = TreeRank(focus=rates, n_jobs=1).fit(x, y, weight)
    two = TreeRank(focus=rates, n_jobs=2).fit(x, y, weight)
    assert np.array_equal(one.score_samples(x), two.score_samples(x))
    settings = {"focus": rates, "pruning": None, "shrinkage": None}
    weighted = TreeRank(**settings).fit(x, y, weight)
    repeated = TreeRank(**settings).fit(np.repeat(x, weight, axis=0), np.repeat(y, weight))
    assert np.array_equal(weighted.score_samples(x), repeated.score_samples(x))


@pytest.mark.parametrize("model", [TreeRank, RankingForest, BoostedTreeRank])
@pytest.mark.parametrize("rates", [0, 1, 1.5, True, "top", (0.2, 0.1), (0.0, 1.2), (0.1,)])
def test_what_is_no_focus_is_refused(model, rates):
    x, y = sample(60)
    with pytest.raises(ValueError, match=r"Got focus=.*; expected None, a share of the rows in"):
        model(focus=rates).fit(x, y)


@pytest.mark.parametrize("model", [TreeRank, RankingForest, BoostedTreeRank])
def test_grades_have_no_focus(model):
    x = sample(90)[0]
    with pytest.raises(ValueError, match=r"Got focus=0.1 with 3 classes; expected None"):
        model(focus=0.1).fit(x, np.arange(90) % 3)


def test_the_core_refuses_what_is_no_focus():
    arrays = [[np.array(a, dtype=np.int32)] for a in ([-1], [-1], [0])]
    rest = [np.ones((1, 2))], [np.zeros((1, 1))], [np.zeros((1, 1, 1))], 1
    for focus, message in [
        (("top", 0.0, 0.1), "unknown focus: top"),
        (("rows", 0.0, 1.5), "rates from 0 to 1"),
        (("rows", 0.0), "a kind and two rates"),
    ]:
        with pytest.raises(ValueError, match=message):
            _core.held_out_paths(*arrays, *rest, focus)
    assert _core.held_out_paths(*arrays, *rest, ("rows", 0.0, 0.5))[0][0].tolist() == [0.375]


def test_a_focus_is_kept_in_a_model_file(tmp_path):
    x, y = sample(200)
    for rates in (0.1, (0.0, 0.2)):
        model = TreeRank(focus=rates).fit(x, y)
        treerank.save(model, tmp_path / "model.treerank")
        loaded = treerank.load(tmp_path / "model.treerank")
        assert loaded.focus == rates
        assert np.array_equal(loaded.score_samples(x), model.score_samples(x))


def test_a_focus_says_what_it_counts():
    assert check_focus(None, 5) is None
    assert check_focus(np.float64(0.2), 2) == Focus("rows", 0.0, 0.2)
    assert check_focus([0, 1], 2) == Focus("negatives", 0.0, 1.0)


@pytest.mark.parametrize("make", [TreeRank, RankingForest, BoostedTreeRank])
def test_parquet_files_give_the_model_of_memory(make, tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    x, y = sample(400)
    table = pd.DataFrame(x, columns=list("abcd")).assign(y=y)
    table.to_parquet(tmp_path / "rows.parquet")
    few = {} if make is TreeRank else {"n_estimators": 10}
    stored = make(focus=0.1, **few).fit_parquet(tmp_path / "rows.parquet", "y")
    frame = table.drop(columns="y")
    fitted = make(focus=0.1, **few).fit(frame, y)
    assert np.array_equal(stored.score_samples(frame), fitted.score_samples(frame))
