"""The two-sample test: its level under one distribution, its power under two."""

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression

from treerank import TreeRank, two_sample_test
from treerank.metrics import roc_auc_score


def rejections(draw, n_runs, **parameters):
    """Number of runs in which equality is rejected at 5 %."""
    count = 0
    for seed in range(n_runs):
        x, y = draw(np.random.default_rng(seed))
        count += two_sample_test(x, y, random_state=seed, **parameters).pvalue < 0.05
    return count


def test_level_is_kept():
    runs = 200
    found = rejections(lambda rng: rng.normal(size=(2, 60, 2)), runs)
    low, high = binom.interval(0.999, runs, 0.05)
    assert low <= found <= high


def test_level_is_kept_with_unequal_sizes_ties_and_few_rows():
    runs = 200
    draw = lambda rng: (rng.integers(0, 3, size=(12, 1)), rng.integers(0, 3, size=(40, 1)))  # noqa: E731
    assert rejections(draw, runs) <= binom.ppf(0.999, runs, 0.05)


def test_power_against_a_shift_and_against_another_spread():
    shift = rejections(lambda rng: (rng.normal(size=(150, 3)), rng.normal(1.0, size=(150, 3))), 20)
    spread = rejections(
        lambda rng: (rng.normal(size=(200, 2)), rng.normal(scale=2.5, size=(200, 2))), 20
    )
    assert shift == 20
    assert spread >= 19


def test_dependence_alone_is_found():
    """Equal margins: no test of one feature at a time could tell."""

    def draw(rng):
        x, y = rng.normal(size=(2, 400, 2))
        y[:, 1] = np.abs(y[:, 1]) * np.sign(y[:, 0])
        return x, y

    assert rejections(draw, 10) >= 8
    assert rejections(draw, 10, estimator=LogisticRegression()) <= 3


def test_result_is_the_wilcoxon_test_on_rows_not_learned_from():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(80, 2)), rng.normal(0.5, size=(120, 2))
    result = two_sample_test(x, y, test_size=0.25)
    rows = np.vstack([x, y])
    learned = result.model.partition_.counts.sum(axis=0)
    assert learned.tolist() == [60, 90]
    pairs = 20 * 30
    assert np.isclose(result.auc, result.statistic / pairs)
    assert result.interval.lower < result.auc < result.interval.upper
    assert np.isclose(result.interval.auc, result.auc)
    again = two_sample_test(x, y, test_size=0.25)
    assert (again.pvalue, again.statistic) == (result.pvalue, result.statistic)
    assert result.model.score_samples(rows).shape == (200,)


def test_scores_without_ties_get_the_exact_test():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(10, 1)), rng.normal(1.0, size=(10, 1))
    result = two_sample_test(x, y, estimator=LogisticRegression())
    every = [sum(ranks) - 10 for ranks in combinations(range(10), 5)]  # U of all arrangements
    assert np.isclose(result.pvalue, np.mean(np.array(every) >= result.statistic))


def test_a_model_that_tells_nothing_apart_gives_one():
    x, y = np.zeros((20, 2)), np.zeros((30, 2))
    result = two_sample_test(x, y)
    assert result.pvalue == 1.0
    assert result.auc == 0.5
    assert result.statistic == 10 * 15 / 2


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames_with_categories(make):
    rng = np.random.default_rng(2)
    x = make({"a": rng.normal(size=200), "level": rng.choice(["u", "v"], size=200).tolist()})
    y = make({"a": rng.normal(size=200), "level": ["u"] * 200})
    assert two_sample_test(x, y).pvalue < 1e-6
    with pytest.raises(ValueError, match="expected the same columns"):
        two_sample_test(x, y[["level", "a"]])


def test_one_dimensional_samples_and_missing_values():
    rng = np.random.default_rng(3)
    x = rng.normal(size=300)
    y = x.copy()
    y[::2] = np.nan
    assert two_sample_test(x, y).pvalue < 1e-6


def test_the_given_estimator_is_not_changed():
    rng = np.random.default_rng(4)
    estimator = TreeRank()
    result = two_sample_test(*rng.normal(size=(2, 50, 2)), estimator=estimator)
    assert not hasattr(estimator, "tree_")
    assert hasattr(result.model, "tree_")


def test_bad_input_is_named():
    x = np.zeros((10, 2))
    with pytest.raises(ValueError, match="Got samples of 10 and 3 rows; expected at least 4"):
        two_sample_test(x, x[:3])
    with pytest.raises(ValueError, match="Got samples with 2 and 1 features"):
        two_sample_test(x, x[:, :1])
    with pytest.raises(ValueError, match=r"Got test_size=2; expected a share in \(0, 1\)"):
        two_sample_test(x, x, test_size=2)


def test_auc_is_that_of_the_learned_score_on_new_rows():
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(2_000, 2)), rng.normal(0.7, size=(2_000, 2))
    result = two_sample_test(x, y)
    new = np.vstack([rng.normal(size=(20_000, 2)), rng.normal(0.7, size=(20_000, 2))])
    fresh = roc_auc_score(np.repeat([0, 1], 20_000), result.model.score_samples(new))
    assert result.interval.lower < fresh < result.interval.upper
