"""VUS, its interval, pairwise AUCs and the ROC surface."""

from fractions import Fraction
from itertools import pairwise, product
from math import factorial, prod

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score

from treerank.metrics import (
    auc_interval,
    ordinal_vus_score,
    pairwise_auc_scores,
    roc_surface,
    vus_interval,
    vus_scorer,
)


def chance_in_order(values):
    """Chance that values come out increasing when ties are broken at random."""
    if any(a > b for a, b in pairwise(values)):
        return Fraction(0)
    return Fraction(1, prod(factorial(values.count(v)) for v in set(values)))


def vus_by_tuples(y, s, w):
    """Slow twin in exact fractions: every tuple with one row of each class."""
    rows = [np.flatnonzero(y == k).tolist() for k in np.unique(y)]
    won = sum(
        chance_in_order([int(s[i]) for i in t]) * prod(int(w[i]) for i in t) for t in product(*rows)
    )
    return float(won / prod(sum(int(w[i]) for i in r) for r in rows))


def vus_by_cells(y, s):
    """Slow twin: the recursion of the definition, one distinct score after the other."""
    classes = np.unique(y)
    counts = [np.sum(y == c) for c in classes]
    f = np.zeros(classes.size + 1)
    f[0] = 1
    for value in np.unique(s):
        c = np.array(
            [np.sum((y == k) & (s == value)) / m for k, m in zip(classes, counts, strict=True)]
        )
        old = f.copy()
        for j in range(1, classes.size + 1):
            f[j] += sum(old[i] * np.prod(c[i:j]) / factorial(j - i) for i in range(j))
    return f[-1]


@st.composite
def ordered_samples(draw):
    n_classes = draw(st.integers(2, 5))
    extra = draw(st.lists(st.integers(0, n_classes - 1), max_size=8))
    y = np.array([*range(n_classes), *extra])
    values = st.lists(st.integers(0, 6), min_size=y.size, max_size=y.size)
    weights = st.lists(st.integers(1, 3), min_size=y.size, max_size=y.size)
    return y, np.array(draw(values)), np.array(draw(weights))


@examples(200)
@given(ordered_samples())
def test_vus_equals_enumeration_of_tuples(sample):
    y, s, w = sample
    expected = vus_by_tuples(y, s, w)
    assert ordinal_vus_score(y, s, w) == pytest.approx(expected, abs=1e-12)
    assert ordinal_vus_score(np.repeat(y, w), np.repeat(s, w)) == pytest.approx(expected, abs=1e-12)
    assert vus_interval(y, s, sample_weight=w).vus == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n_classes", [6, 20])
def test_vus_of_many_classes_equals_the_recursion(n_classes):
    rng = np.random.default_rng(n_classes)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 300)])
    s = rng.integers(0, 60, y.size) + 4 * y
    expected = vus_by_cells(y, s)
    assert expected > 0
    assert ordinal_vus_score(y, s) == pytest.approx(expected, rel=1e-9)
    assert vus_interval(y, s).vus == pytest.approx(expected, rel=1e-9)


def test_vus_of_two_classes_is_the_auc():
    rng = np.random.default_rng(0)
    y, s, w = rng.integers(0, 2, 200), rng.integers(0, 30, 200), rng.random(200)
    expected = roc_auc_score(y, s, sample_weight=w)
    assert ordinal_vus_score(y, s, w) == pytest.approx(expected, abs=1e-12)
    ours, theirs = vus_interval(y, s, sample_weight=w), auc_interval(y, s, sample_weight=w)
    assert (ours.lower, ours.upper) == pytest.approx((theirs.lower, theirs.upper), rel=1e-9)
    assert ours.standard_error == pytest.approx(theirs.standard_error, rel=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3, 5, 12])
def test_a_constant_score_has_chance_level(n_classes):
    y = np.repeat(np.arange(n_classes), 3)
    assert ordinal_vus_score(y, np.zeros(y.size)) == pytest.approx(1 / factorial(n_classes))


def test_weights_of_any_size_do_not_overflow():
    y = np.repeat(np.arange(20), 2)
    assert ordinal_vus_score(y, y, np.full(40, 1e200)) == pytest.approx(1)
    assert ordinal_vus_score(y, y, np.full(40, 1e-200)) == pytest.approx(1)


def test_a_class_with_a_single_row_counts():
    assert ordinal_vus_score([0, 0, 0, 1, 2, 2], [1, 2, 9, 3, 4, 0]) == pytest.approx(1 / 3)


def test_placement_variance_equals_enumeration():
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1, 2], [5, 6, 7])
    s = rng.integers(0, 8, y.size) + 2 * y
    rows = [np.flatnonzero(y == k) for k in range(3)]
    table = np.array(
        [
            [[float(chance_in_order([s[i], s[j], s[k]])) for k in rows[2]] for j in rows[1]]
            for i in rows[0]
        ]
    )
    variance = sum(
        np.var(table.mean(axis=axes), ddof=1) / rows[k].size
        for k, axes in enumerate([(1, 2), (0, 2), (0, 1)])
    )
    assert vus_interval(y, s).standard_error ** 2 == pytest.approx(variance, rel=1e-9)


@pytest.mark.parametrize(("n", "gap"), [(90, 1.0), (900, 1.0), (150, 0.5), (150, 2.0)])
def test_vus_interval_covers_at_its_level(n, gap):
    rng = np.random.default_rng(n)
    y = np.repeat([0, 1, 2], n // 3)
    truth = quad(lambda x: norm.cdf(x) * norm.pdf(x - gap) * norm.sf(x - 2 * gap), -8, 12)[0]
    found = [vus_interval(y, rng.normal(size=n) + gap * y) for _ in range(1000)]
    assert 0.93 <= np.mean([f.lower <= truth <= f.upper for f in found]) <= 0.975


def test_a_perfect_order_is_not_certain():
    y = np.repeat(np.arange(4), 30)
    found = vus_interval(y, y)
    assert found.vus == 1 == found.upper
    assert found.lower < 0.95
    assert found.standard_error > 0


def test_pairwise_aucs_equal_roc_auc_score():
    rng = np.random.default_rng(5)
    y, s, w = rng.integers(1, 5, 200), rng.integers(0, 20, 200), rng.random(200)
    found = pairwise_auc_scores(y, s, sample_weight=w)
    np.testing.assert_allclose(found + found.T, np.ones((4, 4)))
    for i, j in [(1, 2), (1, 4), (2, 3), (3, 4)]:
        two = (y == i) | (y == j)
        expected = roc_auc_score(y[two] == j, s[two], sample_weight=w[two])
        assert found[i - 1, j - 1] == pytest.approx(expected)


@examples(60)
@given(st.data())
def test_volume_of_the_surface_is_the_vus(data):
    y = np.array([0, 1, 2, *data.draw(st.lists(st.integers(0, 2), max_size=25))])
    s = np.array(data.draw(st.lists(st.integers(0, 9), min_size=y.size, max_size=y.size)))
    assert roc_surface(y, s).volume() == pytest.approx(ordinal_vus_score(y, s), abs=1e-12)


def test_surface_holds_the_shares_of_all_pairs_of_cuts():
    rng = np.random.default_rng(7)
    y = rng.integers(0, 3, 60)
    s = rng.integers(0, 12, 60) + y
    surface = roc_surface(y, s)
    cuts = np.append(np.inf, surface.thresholds)
    for i, j in [(0, 0), (5, 2), (9, 4), (cuts.size - 1, 0)]:
        assert surface.low[i] == pytest.approx(np.mean(s[y == 0] < cuts[i]))
        assert surface.high[j] == pytest.approx(np.mean(s[y == 2] >= cuts[j]))
        between = (s[y == 1] < cuts[j]) & (s[y == 1] >= cuts[i])
        assert surface.middle[i, j] == pytest.approx(between.mean())
    assert surface.middle[2, 5] == 0


def test_a_surface_of_many_scores_is_thinned():
    rng = np.random.default_rng(8)
    y = rng.integers(0, 3, 20_000)
    s = rng.normal(size=y.size) + y
    surface = roc_surface(y, s, max_cells=150)
    assert surface.middle.shape[0] <= 151
    assert surface.volume() == pytest.approx(ordinal_vus_score(y, s), abs=0.002)


def test_a_surface_needs_three_classes():
    with pytest.raises(ValueError, match="Got y with 2 classes"):
        roc_surface([0, 1], [1, 2])


class FirstColumn(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))

    def score_samples(self, X):
        return X[:, 0]


def test_scorer_works_in_cross_validation():
    rng = np.random.default_rng(9)
    y = np.arange(120) % 3
    X = rng.normal(size=(120, 1)) + y[:, None]
    found = cross_val_score(FirstColumn(), X, y, scoring=vus_scorer, cv=4)
    assert found.shape == (4,)
    assert np.all((found > 1 / 6) & (found < 1))


def test_scorer_names_a_class_that_a_fold_lacks():
    X, y = np.arange(6.0)[:, None], np.arange(6) % 3
    model = FirstColumn().fit(X, y)
    with pytest.raises(ValueError, match=r"no row of the classes \[2\].*stratify"):
        vus_scorer(model, X[:2], y[:2])


GRADES = ["low", "medium", "high"]


@pytest.mark.parametrize(
    "make",
    [
        lambda y: pd.Series(pd.Categorical(y, GRADES, ordered=True)),
        lambda y: pd.Series(pd.Categorical(y, [*GRADES, "unused"], ordered=True)),
        lambda y: pd.Categorical(y, GRADES, ordered=True),
        lambda y: pl.Series(y, dtype=pl.Enum(GRADES)),
    ],
)
def test_the_order_of_a_categorical_is_followed(make):
    y = make(["low", "medium", "high", "medium", "low"])
    assert ordinal_vus_score(y, [1, 2, 3, 2.5, 1.5]) == 1


def test_the_order_of_numeric_categories_is_followed():
    y = pd.Series(pd.Categorical([3, 2, 1], [3, 2, 1], ordered=True))
    assert ordinal_vus_score(y, [1, 2, 3]) == 1


def test_numbers_in_an_object_array_are_numbers():
    assert ordinal_vus_score(np.array([2, 10, 30], dtype=object), [1, 2, 3]) == 1


def test_the_order_can_be_declared():
    y, s = np.array(GRADES), [1, 2, 3]
    assert ordinal_vus_score(y, s, labels=GRADES) == 1
    assert ordinal_vus_score(y, s, labels=GRADES[::-1]) == 0


def test_text_in_no_declared_order_gets_a_warning_that_names_the_order():
    with pytest.warns(UserWarning, match=r"took \['high', 'low', 'medium'\]"):
        assert ordinal_vus_score(GRADES, [2, 3, 1]) == 1


@pytest.mark.parametrize("make", [pd.Categorical, lambda y: pl.Series(y, dtype=pl.Categorical)])
def test_an_unordered_categorical_is_refused(make):
    with pytest.raises(ValueError, match="unordered categorical"):
        ordinal_vus_score(make(GRADES), [1, 2, 3])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1], r"misses \[2\] of y"),
        ([0, 1, 2, 3], r"no row of the classes \[3\]"),
        ([0, 1, 1, 2], "with repeats"),
    ],
)
def test_wrong_labels_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        ordinal_vus_score([0, 1, 2], [1, 2, 3], labels=labels)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="one class"):
        ordinal_vus_score([1, 1], [1, 2])
