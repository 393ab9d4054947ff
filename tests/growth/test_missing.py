"""Missing values that count as the mean of their cell."""

import numpy as np
import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples
from samples import grown, table, table_of

from treerank import LeafRank, TreeRank

pytestmark = pytest.mark.core


def by_cell_mean(x, y, weight=None, **parameters):
    return grown(x, y, weight, missing="cell_mean", **parameters)


def stand_ins_of(model, x, codes, weight, categorical=()):
    """The definition: the code of the cell's mean, or its most frequent level."""

    def stand_ins(rows):
        means = oracles.cell_means(x, weight, rows)
        return [
            oracles.most_frequent(codes[j], weight, rows)
            if j in categorical
            else int(oracles.encode([means[j]], model._binning.thresholds[j])[0])
            for j in range(x.shape[1])
        ]

    return stand_ins


@examples(60)
@given(
    st.integers(4, 120), st.integers(1, 4), st.integers(0, 2**32 - 1),
    st.sampled_from(["gini", "entropy", "auc", "hellinger"]), st.sampled_from([1, 2, 3, None]),
    st.integers(1, 6), st.booleans(), st.booleans(),
)  # fmt: skip
def test_every_decision_is_the_best_one(n, p, seed, criterion, depth, least, weighted, levels):
    x, y = table(n, p, seed, missing=0.25, n_levels=5 if levels else 0)
    x = np.round(x * 8) / 8  # sums of these are exact, so that the twin's means are ours
    weight = np.random.default_rng(seed).integers(1, 40, size=n).astype(float)
    weight = weight if weighted else np.ones(n)
    categorical = {p - 1} if levels else set()
    least = 1 if levels else least  # the best set of levels is a prefix only without a limit
    splitter = LeafRank(criterion=criterion, max_depth=depth, min_samples_leaf=least)
    model = by_cell_mean(
        x, y, weight, splitter=splitter, max_depth=3, min_samples_leaf=1,
        categorical_features=sorted(categorical),
    )  # fmt: skip
    codes = model._binning.transform(table_of(model, x))
    options = {
        "criterion": criterion, "max_depth": depth, "min_samples_leaf": least, "min_auc_gain": 0.0,
    }  # fmt: skip
    stand_ins = stand_ins_of(model, x, codes, weight, categorical)
    oracles.audit(model.tree_, codes, y, weight, options, categorical, stand_ins)


@pytest.mark.parametrize("splitter", [LeafRank(), LeafRank(max_depth=3)])
def test_missing_goes_left_exactly_when_the_cell_mean_does(splitter):
    x, y = table(600, 3, 1, missing=0.2)
    model = by_cell_mean(x, y, splitter=splitter, max_depth=4)
    tree = model.tree_
    at = tree.apply(model._binning.transform(table_of(model, x)))
    below = {c: {c} for c in range(tree.n_cells)}
    for c in range(tree.n_cells - 1, 0, -1):
        below[int(tree.cells["parent"][c])] |= below[c]
    checked = 0
    for c in np.flatnonzero(tree.is_split):
        means = oracles.cell_means(x, np.ones(600), np.flatnonzero(np.isin(at, list(below[c]))))
        for test in tree.tests[tree.cells["first_test"][c] : tree.cells["last_test"][c]]:
            if test["left"] >= 0:
                threshold = model._binning.thresholds[test["feature"]][test["cut"] - 1]
                assert bool(test["missing_left"]) == (means[test["feature"]] <= threshold)
                checked += 1
    assert checked >= 5


@pytest.mark.parametrize("max_bins", [16, 255, 2_000])
@pytest.mark.parametrize("weighted", [False, True])
def test_large_nodes_decide_as_small_ones_do(max_bins, weighted):
    x, y = table(1_200, 3, 5, missing=0.05, digits=2)
    x[:, 2] = np.nan_to_num(x[:, 2])  # never missing: goes through the vector scan
    weight = np.random.default_rng(0).integers(1, 40, size=len(y)).astype(float)
    weight = weight if weighted else np.ones(len(y))
    splitter = LeafRank(max_depth=2)
    model = by_cell_mean(
        x, y, weight, splitter=splitter, max_depth=2, min_samples_leaf=1, max_bins=max_bins
    )
    codes = model._binning.transform(table_of(model, x))
    binned = x.copy()  # the mean of a bin stands for its values
    for j in range(3):
        for code in np.unique(codes[j][codes[j] > 0]):
            binned[codes[j] == code, j] = np.average(
                x[codes[j] == code, j], weights=weight[codes[j] == code]
            )
    options = {"criterion": "gini", "max_depth": 2, "min_samples_leaf": 1, "min_auc_gain": 0.0}
    stand_ins = stand_ins_of(model, binned, codes, weight)
    oracles.audit(model.tree_, codes, y, weight, options, (), stand_ins)


@examples(25)
@given(st.integers(4, 200), st.integers(0, 2**32 - 1), st.booleans())
def test_rows_walk_to_the_cells_they_were_counted_in(n, seed, categorical):
    x, y = table(n, 3, seed, missing=0.2, n_levels=5)
    model = by_cell_mean(
        x, y, max_depth=4, min_samples_leaf=2, categorical_features=[2] if categorical else None
    )
    cells = model.tree_.apply(model._binning.transform(table_of(model, x)))
    counts = np.array([np.bincount(y[cells == c], minlength=2) for c in model.tree_.leaves])
    assert np.array_equal(counts, model.tree_.counts[model.tree_.leaves])


def test_a_category_that_is_missing_follows_the_most_frequent_level():
    levels = ["a"] * 60 + ["b"] * 40
    y = [1] * 60 + [0] * 40
    x = pd.DataFrame({"level": levels})
    model = TreeRank(missing="cell_mean", pruning=None, shrinkage=None).fit(x, y)
    new = pd.DataFrame({"level": [None, "never seen", "a", "b"]})
    assert model.apply(new).tolist() == [0, 0, 0, 1]


def test_the_mean_decides_and_not_the_majority():
    """One huge value pulls the mean to the side of the fewer rows."""
    x = np.array([[900.0]] * 60 + [[1_000.0]] * 39 + [[1e6]])
    y = np.array([1] * 60 + [0] * 40)
    assert grown(x, y, min_samples_leaf=40).apply([[np.nan]]) == 0
    assert by_cell_mean(x, y, min_samples_leaf=40).apply([[np.nan]]) == 1
    assert by_cell_mean(x[:99], y[:99], min_samples_leaf=30).apply([[np.nan]]) == 0


def test_a_column_of_nothing_but_missing_is_never_tested():
    x, y = table(200, 2, 3)
    x[:, 1] = np.nan
    model = by_cell_mean(x, y)
    assert (model.tree_.tests["feature"] != 1).all()


def test_without_missing_values_the_training_rows_are_cut_alike():
    x, y = table(500, 4, 9)
    learned, mean = grown(x, y), by_cell_mean(x, y)
    for name in ("feature", "cut", "negative", "positive"):
        assert np.array_equal(learned.tree_.tests[name], mean.tree_.tests[name])


@pytest.mark.parametrize("splitter", [LeafRank(max_depth=3), LeafRank(max_depth=3, max_features=2)])
def test_threads_rows_and_weights_do_not_matter(splitter):
    x, y = table(30_000, 5, 2, missing=0.1, digits=3)
    weight = np.random.default_rng(0).integers(1, 4, size=len(y))
    order = np.random.default_rng(1).permutation(int(weight.sum()))
    fits = [
        by_cell_mean(x, y, weight, splitter=splitter, n_jobs=1),
        by_cell_mean(x, y, weight, splitter=splitter, n_jobs=3),
        by_cell_mean(
            np.repeat(x, weight, axis=0)[order], np.repeat(y, weight)[order], splitter=splitter
        ),
    ]
    for other in fits[1:]:
        assert np.array_equal(fits[0].tree_.tests, other.tree_.tests)


def test_leafrank_alone_and_unknown_words():
    x, y = table(300, 2, 4, missing=0.2)
    model = LeafRank(missing="cell_mean", max_depth=2).fit(x, y)
    assert model.partition_.auc() > 0.6
    with pytest.raises(ValueError, match="Got missing='mean'; expected one of 'learned'"):
        TreeRank(missing="mean").fit(x, y)
    with pytest.raises(ValueError, match="set missing on TreeRank"):
        TreeRank(splitter=LeafRank(missing="cell_mean")).fit(x, y)
