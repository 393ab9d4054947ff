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


def test_what_a_mask_hides_is_missing():
    def masked(values):
        return np.ma.array(values, mask=[False, True, False])

    with pytest.raises(ValueError, match=r"Got NaN in s \(first: row 1\)"):
        metrics.auc_interval([0, 1, 1], masked([1.0, 2.0, 3.0]))
    for labels in ([0, 1, 1], ["a", "b", "b"]):
        with pytest.raises(ValueError, match=r"missing label in y \(first: row 1\)"):
            metrics.auc_interval(masked(labels), [1, 2, 3])
    with pytest.raises(ValueError, match=r"Got sample_weight=nan in row 1"):
        metrics.auc_interval([0, 1, 1], [1, 2, 3], sample_weight=masked([1, 2, 3]))
    column = [1.0, np.nan, 3.0]
    stability = metrics.population_stability_index(column, masked([1.0, 2.0, 3.0]))
    assert stability == metrics.population_stability_index(column, column) == 0
    assert metrics.information_value(masked([1, 2, 3]), [0, 1, 1]) == (
        metrics.information_value(column, [0, 1, 1])
    )
    shown = np.ma.array([1.0, 2.0, 3.0])
    assert metrics.auc_interval([0, 1, 1], shown) == metrics.auc_interval([0, 1, 1], [1, 2, 3])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"s": [1j, 2]}, "Got s of dtype complex128; expected numbers"),
        ({"s": np.array(["2024", "2025"], dtype="M8[Y]")}, "Got s of dtype datetime64"),
        ({"sample_weight": ["a", 1]}, "Got sample_weight of type list that does not hold numbers"),
        ({"labels": 3}, "Got labels=3; expected every class once, lowest first"),
        ({"labels": [[0, 1]]}, "expected every class once, lowest first"),
    ],
)
def test_other_types_are_named(given, message):
    with pytest.raises(ValueError, match=message):
        metrics.ordinal_vus_score(**({"y": [0, 1], "s": [1, 2]} | given))


@pytest.mark.parametrize("number", ["10", 2.5, None, 0])
def test_numbers_of_bins_and_draws_are_whole(number):
    y, s = [0, 1, 0, 1], [1, 2, 3, 4]
    with pytest.raises(ValueError, match=r"Got n_bands=.*; expected an integer >= 1"):
        metrics.gains_table(y, s, n_bands=number)
    with pytest.raises(ValueError, match=r"Got n_resamples=.*; expected an integer >= 1"):
        metrics.roc_band(y, s, n_resamples=number)
    with pytest.raises(ValueError, match=r"Got max_cells=.*; expected an integer >= 1"):
        metrics.roc_surface([0, 1, 2, 2], s, max_cells=number)
    with pytest.raises(ValueError, match=r"Got n_bins=.*; expected an integer >= 2"):
        metrics.woe_table(s, y, n_bins=number)
    with pytest.raises(ValueError, match=r"Got n_bins=.*; expected an integer >= 2"):
        metrics.population_stability_index(s, s, n_bins=number)


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
