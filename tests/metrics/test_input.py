"""What every measure refuses, and in which words; what it accepts."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from treerank import metrics

BINARY = [
    metrics.auc_interval,
    metrics.cap_curve,
    metrics.choose_cutoff,
    metrics.gains_table,
    metrics.gini_score,
    metrics.hit_rate_score,
    metrics.ks_score,
    metrics.local_auc_score,
    metrics.partial_auc_interval,
    metrics.roc_band,
]
ORDINAL = [metrics.ordinal_vus_score, metrics.pairwise_auc_scores, metrics.vus_interval]


@pytest.mark.parametrize("measure", BINARY + ORDINAL)
@pytest.mark.parametrize(
    ("y", "s", "weight", "message"),
    [
        ([1, 1], [1, 2], None, "one class"),
        ([0, 1], [1, 2, 3], None, "Got 3 scores in s; expected 2"),
        ([0, 1], [1, np.nan], None, r"Got NaN in s \(first: row 1\)"),
        ([0, 1], ["a", "b"], None, "expected numbers"),
        ([0, 1], [[1], [2]], None, r"Got s of shape \(2, 1\)"),
        ([[0], [1]], [1, 2], None, r"Got y of shape \(2, 1\)"),
        ([0, np.nan], [1, 2], None, r"missing label in y \(first: row 1\)"),
        (["a", None], [1, 2], None, r"missing label in y \(first: row 1\)"),
        (pd.Series([0, None], dtype="Int64"), [1, 2], None, r"missing label in y \(first: row 1\)"),
        (pl.Series([None, "a"]), [1, 2], None, r"missing label in y \(first: row 0\)"),
        (np.array(["a", 1], dtype=object), [1, 2], None, "labels of mixed types"),
        ([], [], None, "Got no row in y"),
        ([0, 1], [1, 2], [1, -1], "Got sample_weight=-1.0 in row 1"),
        ([0, 1], [1, 2], [1, np.inf], "Got sample_weight=inf in row 1"),
        ([0, 1], [1, 2], [1], r"Got sample_weight of shape \(1,\)"),
        ([0, 1], [1, 2], [0, 0], "zeros only"),
    ],
)
def test_bad_input_gets_a_clear_error(measure, y, s, weight, message):
    with pytest.raises(ValueError, match=message):
        measure(y, s, sample_weight=weight)


@pytest.mark.parametrize("measure", BINARY)
def test_more_than_two_classes_are_refused_without_pos_label(measure):
    with pytest.raises(ValueError, match="Got y with 3 classes"):
        measure([0, 1, 2], [1, 2, 3])
    measure([0, 1, 2], [1, 2, 3], pos_label=2)


@pytest.mark.parametrize("measure", BINARY)
def test_a_class_of_weight_zero_is_no_class(measure):
    with pytest.raises(ValueError, match="one class"):
        measure([0, 0, 1], [1, 2, 3], sample_weight=[1, 1, 0])


def test_an_unknown_pos_label_is_refused():
    with pytest.raises(ValueError, match=r"Got pos_label='c'; expected one of \['a', 'b'\]"):
        metrics.ks_score(["a", "b"], [1, 2], pos_label="c")


@pytest.mark.parametrize("level", [0, 1, 95, np.nan, "high", None])
def test_a_level_outside_the_unit_interval_is_refused(level):
    for measure in (metrics.auc_interval, metrics.vus_interval, metrics.roc_band):
        with pytest.raises(ValueError, match="Got level="):
            measure([0, 1], [1, 2], level=level)


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, 1, 0],
        [False, True, True, False],
        [-1.0, 1.0, 1.0, -1.0],
        [0.5, 2.5, 2.5, 0.5],
        ["no", "yes", "yes", "no"],
        [10**18, 10**18 + 1, 10**18 + 1, 10**18],
        np.array([0, 1, 1, 0], dtype=np.uint8),
        pd.Series(["no", "yes", "yes", "no"], dtype="category"),
        pd.Series(["no", "yes", "yes", "no"], index=[7, 7, 8, 9]),
        pl.Series(["no", "yes", "yes", "no"]),
        pl.Series(["no", "yes", "yes", "no"], dtype=pl.Categorical),
    ],
)
def test_the_higher_label_is_positive_whatever_its_type(labels):
    assert metrics.auc_interval(labels, [1, 2, 3, 2]).auc == 0.875


def test_the_order_of_a_two_level_categorical_is_followed():
    y = pd.Series(pd.Categorical(["x", "a", "a", "x"], ["x", "a"], ordered=True))
    assert metrics.auc_interval(y, [1, 2, 3, 2]).auc == 0.875


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint64, np.int64, bool])
def test_scores_of_any_numeric_type_are_ranked(dtype):
    assert metrics.auc_interval([0, 1, 0, 1], np.array([0, 1, 0, 1], dtype=dtype)).auc == 1


def test_large_integer_scores_are_not_rounded_into_ties():
    assert metrics.ks_score([0, 1], [2**60, 2**60 + 1]) == 1


def test_everything_public_is_listed_and_documented():
    for name in metrics.__all__:
        assert getattr(metrics, name).__doc__
