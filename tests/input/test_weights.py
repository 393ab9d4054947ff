"""Only ratios of weights count, and all weight of a row stays in one fold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from treerank import BoostedTreeRank, GeometricRanker, LeafRank, RankingForest, TreeRank
from treerank._input.weights import LARGEST_COUNT, quantise
from treerank.baselines import (
    KernelLogisticRegression,
    LogitBoost,
    PNormPush,
    RankBoost,
    RankNet,
    RankRLS,
    RankSVM,
)

MODELS = {
    "tree": TreeRank(),
    "unpruned tree": TreeRank(pruning=None, shrinkage=None),
    "penalised tree": TreeRank(pruning="penalty"),
    "deep tree": TreeRank(LeafRank(max_depth=3, pruning="cv")),
    "tree of logistic splits": TreeRank(LogisticRegression(), max_depth=3, cv=2),
    "LeafRank": LeafRank(max_depth=3),
    "forest": RankingForest(n_estimators=10),
    "forest of ranks": RankingForest(n_estimators=5, aggregation="mean_rank"),
    "boosting": BoostedTreeRank(n_estimators=10),
    "pairwise boosting": BoostedTreeRank(n_estimators=5, loss="pairwise", early_stopping=True),
    "geometric": GeometricRanker(DecisionTreeClassifier(max_depth=3, random_state=0)),
}
# scikit-learn's work for the most part.
UNSANITIZED = dict.fromkeys(["tree of logistic splits", "geometric"], pytest.mark.not_sanitized)
RIVALS = [
    KernelLogisticRegression(), LogitBoost(10), PNormPush(), RankBoost(10),
    RankNet(random_state=0), RankRLS(), RankSVM(),
]  # fmt: skip


def sample(n, seed, n_classes=2):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4)).round(1)
    signal = x[:, 0] + x[:, 1] * x[:, 2] + rng.normal(size=n)
    return x, np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))


def draw_weights(kind, n, seed):
    rng = np.random.default_rng(seed)
    if kind == "equal":
        return np.ones(n)
    return rng.integers(1, 5, n).astype(float) if kind == "counts" else rng.uniform(0.1, 3, n)


@pytest.mark.core
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=UNSANITIZED.get(name, ())) for name in MODELS]
)
@pytest.mark.parametrize("kind", ["equal", "counts", "fractions"])
@examples(4)
@given(st.sampled_from([3.0, 0.1, 1 / 7, 1e6, 2.0**-40]), st.integers(0, 2**32 - 1))
def test_multiplying_all_weights_changes_nothing(name, kind, factor, seed):
    x, y = sample(150, seed)
    weight = draw_weights(kind, len(y), seed)
    one, other = (clone(MODELS[name]).fit(x, y, sample_weight=w) for w in (weight, factor * weight))
    # scikit-learn's tree, inside the geometric ranker, sums weights that are not whole.
    rounding = 1e-13 if name == "geometric" else 0.0
    for method in ("score_samples", "predict_proba"):
        a, b = (getattr(model, method)(x) for model in (one, other))
        np.testing.assert_allclose(a, b, rtol=0, atol=rounding)


@pytest.mark.parametrize(
    "model", [TreeRank(), RankingForest(n_estimators=10), BoostedTreeRank(10)], ids=repr
)
@pytest.mark.parametrize("factor", [3.0, 0.1])
def test_multiplying_all_weights_changes_nothing_for_grades(model, factor):
    x, y = sample(300, 0, n_classes=4)
    weight = draw_weights("counts", len(y), 0)
    one, other = (clone(model).fit(x, y, sample_weight=w) for w in (weight, factor * weight))
    np.testing.assert_array_equal(one.score_samples(x), other.score_samples(x))


@pytest.mark.parametrize("model", RIVALS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("kind", ["equal", "fractions"])
@pytest.mark.parametrize("factor", [3.0, 0.1])
def test_multiplying_all_weights_changes_nothing_in_rivals(model, kind, factor):
    x, y = sample(150, 1)
    weight = draw_weights(kind, len(y), 1)
    one, other = (clone(model).fit(x, y, sample_weight=w) for w in (weight, factor * weight))
    a, b = one.decision_function(x), other.decision_function(x)
    # Rivals stop when they are close enough to their optimum.
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-4 * np.abs(a).max())


@pytest.mark.parametrize(
    "model", [TreeRank(), TreeRank(LogisticRegression(), max_depth=3)], ids=repr
)
def test_equal_whole_weights_are_no_weights(model):
    """Rows of weight 3 were once split over three folds, and so evaluated themselves."""
    x, y = sample(600, 2)
    plain = clone(model).fit(x, y)
    weighted = clone(model).fit(x, y, sample_weight=np.full(len(y), 3))
    np.testing.assert_array_equal(plain.score_samples(x), weighted.score_samples(x))
    np.testing.assert_array_equal(
        plain.pruning_path_.heldout_auc, weighted.pruning_path_.heldout_auc
    )


@pytest.mark.parametrize("splitter", [LeafRank(), LeafRank(max_depth=3, pruning="cv")], ids=repr)
@pytest.mark.parametrize("largest", [3, 200])
def test_held_out_auc_of_noise_is_one_half_whatever_the_weights(splitter, largest):
    rng = np.random.default_rng(0)
    found = []
    for _ in range(10):
        x, y = rng.normal(size=(300, 5)), rng.integers(0, 2, 300)
        weight = rng.integers(1, largest + 1, 300)
        found.append(TreeRank(splitter).fit(x, y, sample_weight=weight).pruning_path_.heldout_auc)
    means = np.array([path.mean() for path in found])
    assert abs(means.mean() - 0.5) < 4 * means.std(ddof=1) / np.sqrt(len(means))
    assert means.mean() < 0.53


@given(
    st.lists(st.integers(1, LARGEST_COUNT), min_size=1, max_size=30),
    st.floats(1e-300, 1e290),
)
def test_counts_are_found_whatever_they_are_multiplied_by(counts, factor):
    units = quantise(factor * np.array(counts)).as_units
    expected = np.array(counts) // np.gcd.reduce(counts)
    if units is None:
        assert (expected == 1).all()
    else:
        np.testing.assert_array_equal(units, expected)


@given(st.lists(st.floats(0.01, 100), min_size=3, max_size=30), st.floats(1e-200, 1e200))
def test_relative_weights_have_the_same_units_whatever_they_are_multiplied_by(values, factor):
    weight = np.array([*values, np.pi, np.e])
    one, other = quantise(weight), quantise(factor * weight)
    assert one.scale == other.scale > 1
    assert np.abs(one.units - other.units).max() <= 1  # where a rounding decides


def test_whole_numbers_too_large_for_counts_are_relative():
    x, y = sample(200, 3)
    weight = np.random.default_rng(0).integers(1_000, 5_000, len(y))
    model = TreeRank(pruning=None).fit(x, y, sample_weight=weight)
    assert np.isclose(model.partition_.counts.sum(), len(y))


@pytest.mark.parametrize("weight", [np.nan, np.inf])
def test_a_weight_that_is_no_number_is_named_by_its_row(weight):
    given = np.where(np.arange(20) == 7, weight, 1.0)
    with pytest.raises(ValueError, match=rf"Got sample_weight\[7\]={weight}; expected finite"):
        TreeRank().fit(np.arange(20)[:, None], np.arange(20) % 2, sample_weight=given)
