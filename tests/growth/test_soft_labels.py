"""Soft labels: who has a say in them, and what a tree that is grown to them keeps."""

import numpy as np
import pytest
from samples import frame, table
from sklearn.metrics import roc_auc_score

import treerank
import treerank._treerank as treerank_module
from treerank import LeafRank, TreeRank
from treerank._growth.soft_labels import UNITS, SoftRows, soften
from treerank.splitters import DyadicGrid


def rows_and_folds(x, y, monkeypatch, weight=None):
    """What `fit` softens, and the rows once they are."""
    seen = []

    def record(rows, folds, options):
        seen.append((rows, folds, options))
        return soften(rows, folds, options)

    with monkeypatch.context() as patch:
        patch.setattr(treerank_module, "soften", record)
        TreeRank(soft_labels="auto").fit(x, y, sample_weight=weight)
    return seen[0]


def positive_shares(rows: SoftRows, part: int):
    """Share of each row that is positive, in the sample for a tree."""
    negative, positive = np.split(rows.samples[part].units, 2)
    return np.divide(
        positive, negative + positive, where=negative + positive > 0, out=np.zeros(len(positive))
    )


def test_every_row_is_part_its_own_label_and_part_what_others_say(monkeypatch):
    x, y = table(300, 4, 0)
    rows, folds, options = rows_and_folds(x, y, monkeypatch)
    soft = soften(rows, folds, options)
    labels = rows.data.labels
    for part in range(folds.n_folds + 1):
        negative, positive = np.split(soft.samples[part].units, 2)
        seen = np.ones(300, bool) if part == 0 else folds.fold != part - 1
        assert (negative + positive == UNITS * seen).all()
        share = positive_shares(soft, part)[seen]
        assert (share[labels[seen] == 1] >= 0.2 - 1 / UNITS).all()
        assert (share[labels[seen] == 0] <= 0.8 + 1 / UNITS).all()
    assert roc_auc_score(labels, positive_shares(soft, 0) - 0.2 * labels) > 0.7


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
            same = np.array_equal(before.samples[part].units, after.samples[part].units)
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


def test_counts_are_those_of_the_labels_and_scores_those_of_the_soft_ones():
    x, y = table(400, 4, 3)
    weight = np.random.default_rng(0).integers(1, 4, 400)
    model = TreeRank(soft_labels="auto").fit(x, y, sample_weight=weight)
    strata = model.apply(x)
    counts = np.zeros((len(model.partition_), 2))
    np.add.at(counts, (strata, y), weight)
    assert len(counts) > 2
    np.testing.assert_array_equal(model.partition_.counts, counts)
    assert model.tree_.shares is not None
    own = model.tree_.counts[:, 1] / model.tree_.counts.sum(axis=1)
    assert not np.allclose(model.tree_.shares[:, 0], own)
    shrunken = model.tree_.shrunken_shares(model.shrinkage_)[:, 0]
    leaves = model.partition_._rules.leaves
    np.testing.assert_allclose(model.partition_.scores, shrunken[leaves] - 0.5)
    assert (np.diff(model.partition_.scores) <= 0).all()


def test_labels_are_soft_only_when_asked_for():
    x, y = table(300, 3, 4)
    assert TreeRank(soft_labels="auto").fit(x, y).tree_.shares is not None
    assert TreeRank(soft_labels=True).fit(x, y).tree_.shares is not None
    assert TreeRank(LeafRank(), soft_labels=True).fit(x, y).tree_.shares is not None
    plain = [
        TreeRank(), TreeRank(LeafRank(), soft_labels="auto"),
        TreeRank(pruning=None, soft_labels="auto"), TreeRank(pruning="penalty", soft_labels="auto"),
        TreeRank(DyadicGrid(1), soft_labels="auto"), TreeRank(focus=0.2, soft_labels="auto"),
        TreeRank(cv=2, soft_labels="auto"),
    ]  # fmt: skip
    for model in plain:
        assert model.fit(np.abs(x) / 10, y).tree_.shares is None
    grades = y + (x[:, 1] > 0)
    assert TreeRank(soft_labels="auto").fit(x, grades).tree_.shares is None


def test_many_rows_keep_their_labels(monkeypatch):
    monkeypatch.setattr(treerank_module, "SOFT_ROWS", 299)
    x, y = table(300, 3, 5)
    many, plain = TreeRank(soft_labels="auto").fit(x, y), TreeRank(soft_labels=False).fit(x, y)
    assert many.tree_.shares is None
    assert np.array_equal(many.score_samples(x), plain.score_samples(x))


@pytest.mark.parametrize(
    "change",
    [{"splitter": DyadicGrid(1)}, {"pruning": None}, {"pruning": "penalty"}, {"focus": 0.1}],
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
    model = TreeRank(soft_labels="auto").fit(x, y, sample_weight=weight)
    again = TreeRank(soft_labels="auto").fit(x, y, sample_weight=7.3 * weight)
    assert len(model.partition_) > 1
    assert np.array_equal(model.score_samples(x), again.score_samples(x))


def test_a_model_file_keeps_the_soft_shares(tmp_path):
    x, y = frame(400, 8)
    model = TreeRank(soft_labels="auto").fit(x, y)
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
