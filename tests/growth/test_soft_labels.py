"""Soft labels: who has a say in them, and what a tree that is grown to them keeps."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from samples import frame, table
from sklearn.metrics import roc_auc_score

import treerank
import treerank._growth.soft_labels as soft_labels_module
import treerank._treerank as treerank_module
from treerank import LeafRank, TreeRank
from treerank._growth.soft_labels import UNITS, SoftRows, soften
from treerank._select import pruning
from treerank._select.pruning import Chosen
from treerank._select.splitter_choice import choose_depth, may_gain_by_depth, prefers_own_labels
from treerank.splitters import DyadicGrid


def rows_and_folds(x, y, monkeypatch, weight=None):
    """What `fit` softens, and the rows once they are."""
    seen = []

    def record(rows, folds, options):
        seen.append((rows, folds, options))
        return soften(rows, folds, options)

    with monkeypatch.context() as patch:
        patch.setattr(treerank_module, "soften", record)
        TreeRank().fit(x, y, sample_weight=weight)
    return seen[0]


def class_units(rows: SoftRows, part: int):
    """Units of each row in each class, for one of the trees; classes x rows."""
    return rows.soft.units[part].astype(np.int64).T


def positive_shares(rows: SoftRows, part: int):
    """Share of each row that is positive, for one of the trees."""
    units = class_units(rows, part)
    return units[1] / np.maximum(units.sum(axis=0), 1)


def test_every_row_is_part_its_own_label_and_part_what_others_say(monkeypatch):
    x, y = table(300, 4, 0)
    rows, folds, options = rows_and_folds(x, y, monkeypatch)
    soft = soften(rows, folds, options)
    labels = rows.data.labels
    for part in range(folds.n_folds + 1):
        seen = np.ones(300, bool) if part == 0 else folds.fold != part - 1
        assert (class_units(soft, part).sum(axis=0) == UNITS * seen).all()
        share = positive_shares(soft, part)[seen]
        assert (share[labels[seen] == 1] >= 0.2 - 1 / UNITS).all()
        assert (share[labels[seen] == 0] <= 0.8 + 1 / UNITS).all()
    assert roc_auc_score(labels, positive_shares(soft, 0) - 0.2 * labels) > 0.7


def test_soft_labels_of_grades_keep_a_fifth_of_the_row_in_its_own(monkeypatch):
    x, y = table(400, 4, 0)
    grades = y + (x[:, 1] > 0)
    rows, folds, options = rows_and_folds(x, grades, monkeypatch)
    units = class_units(soften(rows, folds, options), 0)
    assert units.shape == (3, 400)
    assert (units >= 0).all()
    assert (units.sum(axis=0) == UNITS).all()
    own = units[rows.data.labels, np.arange(400)]
    assert (own >= 0.2 * UNITS - 1).all()
    assert own.mean() > 0.5 * UNITS


def test_rows_that_judge_a_tree_have_no_say_in_its_labels(monkeypatch):
    x, y = table(300, 4, 1)
    rows, folds, options = rows_and_folds(x, y, monkeypatch)
    before = soften(rows, folds, options)
    for fold in range(folds.n_folds):
        labels = rows.data.labels.copy()
        labels[folds.fold == fold] = np.roll(labels[folds.fold == fold], 1)
        assert (labels != rows.data.labels).any()
        data = type(rows.data)(
            rows.data.table, rows.data.classes, labels, rows.data.weights, 300, slice(None)
        )
        changed = type(rows)(data, rows.coded, rows.monotonic, None, 1, 0)
        after = soften(changed, folds, options)
        for part in range(folds.n_folds + 1):
            same = np.array_equal(before.soft.units[part], after.soft.units[part])
            assert same == (part == fold + 1)


def test_a_row_has_no_say_in_what_others_say_of_it(monkeypatch):
    x, y = table(200, 3, 2)
    rows, folds, options = rows_and_folds(x, y, monkeypatch)
    before = positive_shares(soften(rows, folds, options), 0)
    labels = rows.data.labels.copy()
    labels[7] = 1 - labels[7]
    data = type(rows.data)(
        rows.data.table, rows.data.classes, labels, rows.data.weights, 200, slice(None)
    )
    after = positive_shares(
        soften(type(rows)(data, rows.coded, rows.monotonic, None, 1, 0), folds, options), 0
    )
    own = folds.fold == folds.fold[7]
    change = np.abs(after - before)
    assert change[7] == pytest.approx(0.2, abs=1 / UNITS)
    own[7] = False
    assert (change[own] == 0).all()
    assert (change[folds.fold != folds.fold[7]] > 0).any()


def test_counts_are_those_of_the_labels_and_scores_are_softer():
    x, y = table(400, 4, 3)
    weight = np.random.default_rng(0).integers(1, 4, 400)
    model = TreeRank(soft_labels=True).fit(x, y, sample_weight=weight)
    strata = model.apply(x)
    counts = np.zeros((len(model.partition_), 2))
    np.add.at(counts, (strata, y), weight)
    assert len(counts) > 2
    np.testing.assert_array_equal(model.partition_.counts, counts)
    assert model.soft_labels_
    own = model.tree_.counts[:, 1] / model.tree_.counts.sum(axis=1)
    leaves = model.partition_._rules.leaves
    assert model.tree_.shares[leaves, 0].std() < own[leaves].std()
    shrunken = model.tree_.shrunken_shares(model.shrinkage_)[:, 0]
    np.testing.assert_allclose(model.partition_.scores, shrunken[leaves] - 0.5)
    assert (np.diff(model.partition_.scores) <= 0).all()
    mean = np.average(model.predict_proba(x)[:, 1], weights=weight)
    assert mean == pytest.approx(np.average(y, weights=weight), abs=1e-12)


def test_labels_are_soft_with_the_default_splitter_or_when_asked_for():
    x, y = table(300, 3, 4)
    x = np.abs(x) / 10
    soft = [
        TreeRank(), TreeRank(soft_labels=True), TreeRank(LeafRank(), soft_labels=True),
        TreeRank(focus=0.3), TreeRank(one_standard_error=True, shrinkage=None),
    ]  # fmt: skip
    for model in soft:
        assert model.fit(x, (x[:, 0] + x[:, 1] > x[:, 2] + 0.1 * y)).soft_labels_
    plain = [
        TreeRank(soft_labels=False), TreeRank(LeafRank()), TreeRank(pruning=None),
        TreeRank(pruning="penalty"), TreeRank(DyadicGrid(1)), TreeRank(cv=2),
    ]  # fmt: skip
    for model in plain:
        assert not model.fit(x, y).soft_labels_


@pytest.mark.parametrize("n_classes", [2, 3])
def test_many_rows_keep_their_labels(n_classes, monkeypatch):
    limit = 300 * (n_classes - 1)
    x, y = table(300, 3, 5)
    y += (n_classes - 2) * (x[:, 1] > 0)
    monkeypatch.setattr(soft_labels_module, "SOFT_ROWS", limit)
    assert TreeRank(soft_labels=True).fit(x, y).soft_labels_
    monkeypatch.setattr(soft_labels_module, "SOFT_ROWS", limit - 1)
    many, plain = TreeRank().fit(x, y), TreeRank(soft_labels=False).fit(x, y)
    assert not many.soft_labels_
    assert np.array_equal(many.score_samples(x), plain.score_samples(x))


def test_labels_without_noise_are_kept():
    x = np.arange(100.0)[:, np.newaxis]
    model = TreeRank().fit(x, x[:, 0] > 50)
    assert not model.soft_labels_
    assert model.partition_.rules() == ["x0 > 50.5", "x0 <= 50.5"]


def chosen(top, error, train_auc=0.9, n_leaves=5):
    path = SimpleNamespace(
        train_auc=[1.0, train_auc, 0.5], heldout_auc=[0.5, top, 0.5],
        heldout_std_error=[0.0, error, 0.0], n_leaves=[9, n_leaves, 1], chosen=1,
    )  # fmt: skip
    return Chosen(path, 0.0, top, error)


def test_the_largest_depth_is_tried_if_the_one_before_ranks_best_or_none_finds_anything():
    rising = [chosen(top, 0.02) for top in (0.70, 0.72, 0.74)]
    assert all(may_gain_by_depth(depth, rising[: depth - 1]) for depth in (1, 2, 3, 4))
    assert not may_gain_by_depth(4, [rising[0], rising[2], rising[1]])
    assert not may_gain_by_depth(4, [rising[2]] * 3)
    assert may_gain_by_depth(4, [chosen(0.5, 0.0, n_leaves=1)] * 3)
    assert choose_depth(rising, 0.5).depths == (1, 2, 3)
    assert choose_depth(rising, 0.5).chosen == 3
    assert choose_depth(rising, 1.0).chosen == 2


def test_the_tree_of_the_labels_is_kept_where_it_is_clearly_better():
    soft = chosen(0.80, 0.02)
    assert not prefers_own_labels(soft, chosen(0.809, 0.02))
    assert prefers_own_labels(soft, chosen(0.811, 0.02))
    assert prefers_own_labels(soft, chosen(0.79, 0.02, train_auc=1.0))
    assert not prefers_own_labels(soft, chosen(0.77, 0.02, train_auc=1.0))


@pytest.mark.parametrize(
    ("n_classes", "soft_labels", "smaller", "simpler"),
    [(2, True, 0.4, 1.0), (2, False, 0.1, 0.5), (3, True, 0.1, 0.5), (3, False, 0.1, 0.5)],
)
def test_only_soft_labels_of_two_classes_prefer_much_smaller_trees(
    n_classes, soft_labels, smaller, simpler, monkeypatch
):
    slacks = {"subtree": set(), "depth": set()}

    def choose_subtree(tree, held_out, shrinkages, prune, slack, *others):
        slacks["subtree"].add(slack)
        return pruning.choose_subtree(tree, held_out, shrinkages, prune, slack, *others)

    def choose_by_depth(found, slack):
        slacks["depth"].add(slack)
        return choose_depth(found, slack)

    monkeypatch.setattr(treerank_module, "choose_subtree", choose_subtree)
    monkeypatch.setattr(treerank_module, "choose_depth", choose_by_depth)
    x, _ = noisy_labels(300, 0)
    TreeRank(soft_labels=soft_labels).fit(x, np.digitize(x[:, 0], [0.0, 1.0][: n_classes - 1]))
    assert slacks == {"subtree": {smaller}, "depth": {simpler}}


def test_soft_labels_rank_better_where_labels_are_noisy():
    gains = []
    for seed in range(6):
        x, y = noisy_labels(500, seed)
        new, truth = noisy_labels(4_000, seed + 100)
        soft, plain = (TreeRank(soft_labels=s).fit(x, y).score(new, truth) for s in (True, False))
        gains.append(soft - plain)
    assert np.mean(gains) > 0.01


def weak_features(n, seed):
    """Labels that depend a little on each of four columns."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    return x, (0.6 * x.sum(axis=1) + rng.logistic(size=n) > 0).astype(int)


@pytest.mark.parametrize("weight", [None, 3.0])
def test_evidence_is_the_lead_of_the_other_trees_over_chance_in_standard_errors(
    weight, monkeypatch
):
    x, y = weak_features(150, 1)
    weights = None if weight is None else np.full(150, weight)
    rows, folds, options = rows_and_folds(x, y, monkeypatch, weights)
    soft, labels = soften(rows, folds, options), rows.data.labels
    others = positive_shares(soft, 0) - 0.2 * labels
    held = [folds.fold == f for f in range(folds.n_folds)]
    lead = np.mean([roc_auc_score(labels[of], others[of]) for of in held]) - 0.5
    positive, negative = (np.array([(labels[of] == k).sum() for of in held]) for k in (1, 0))
    variance = (positive + negative + 1) / (12 * positive * negative)  # of Mann and Whitney
    assert soft.evidence == pytest.approx(lead / np.sqrt(variance.sum() / 25), rel=0.02)


def n_split(tables):
    """Number of tables on which a tree is kept."""
    return sum(len(TreeRank().fit(x, y).partition_) > 1 for x, y in tables)


def test_other_trees_can_show_that_there_is_something_to_learn(monkeypatch):
    """A tree then only has to be better than chance."""
    weak = [weak_features(100, seed) for seed in range(9)]
    found = n_split(weak)
    monkeypatch.setattr(treerank_module, "soften", lambda *a: replace(soften(*a), evidence=0.0))
    assert found >= n_split(weak) + 2


def noisy_labels(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 6))
    return x, (x[:, :4].sum(axis=1) + rng.logistic(size=n, scale=1.5) > 0).astype(int)


@pytest.mark.parametrize(
    "change",
    [{"splitter": DyadicGrid(1)}, {"pruning": None}, {"pruning": "penalty"}],
)
def test_soft_labels_are_refused_where_they_cannot_be(change):
    x, y = table(100, 2, 6)
    with pytest.raises(ValueError, match="soft_labels=True"):
        TreeRank(soft_labels=True, **change).fit(np.abs(x) / 10, y)
    with pytest.raises(ValueError, match="soft_labels='yes'"):
        TreeRank(soft_labels="yes").fit(x, y)


def test_relative_weights_are_divided_too():
    x, y = table(300, 3, 7)
    weight = np.random.default_rng(1).random(300) + 0.1
    model = TreeRank(soft_labels=True).fit(x, y, sample_weight=weight)
    again = TreeRank(soft_labels=True).fit(x, y, sample_weight=7.3 * weight)
    assert len(model.partition_) > 1
    assert np.array_equal(model.score_samples(x), again.score_samples(x))


@pytest.mark.parametrize(
    ("weight", "expected"),
    [(np.arange(1, 301), 2**22), (np.full(300, 3), UNITS), (1 + np.arange(300) % 200, UNITS)],
    ids=["relative", "equal", "copies"],
)
def test_the_units_of_all_rows_fit_in_32_bits(weight, expected, monkeypatch):
    x, y = table(300, 3, 7)
    rows, folds, options = rows_and_folds(x, y, monkeypatch, weight)
    soft = soften(rows, folds, options).soft
    assert soft.scale == expected
    relative = soft.units[0].sum(axis=1) / soft.scale / weight
    assert relative == pytest.approx(relative[0], rel=1e-5)
    assert soft.units[0].sum(dtype=np.int64) < 2**32
    heavy = replace(rows.data.weights, repeats=None, units=np.full(300, 2**40), scale=2.0**8)
    rows = replace(rows, data=replace(rows.data, weights=heavy))
    soft = soften(rows, folds, options).soft
    assert 2**29 < soft.units[0].sum(dtype=np.int64) < 2**32


def test_a_model_file_keeps_the_soft_shares(tmp_path):
    x, y = frame(400, 8)
    model = TreeRank(soft_labels=True).fit(x, y)
    treerank.save(model, tmp_path / "model.json")
    read = treerank.load(tmp_path / "model.json")
    for name in ("tree_", "unpruned_tree_"):
        kept, found = getattr(model, name), getattr(read, name)
        assert kept.shares is not None
        assert np.array_equal(kept.shares, found.shares)


def test_neither_the_order_of_the_rows_nor_threads_change_a_tree_of_soft_labels():
    x, y = table(500, 4, 9, missing=0.1)
    order = np.random.default_rng(2).permutation(len(y))
    one = TreeRank(soft_labels=True).fit(x, y)
    shuffled = TreeRank(soft_labels=True).fit(x[order], y[order])
    threads = TreeRank(soft_labels=True, n_jobs=3).fit(x, y)
    assert len(one.partition_) > 2
    for other in (shuffled, threads):
        assert np.array_equal(one.tree_.tests, other.tree_.tests)
        assert np.array_equal(one.score_samples(x), other.score_samples(x))
