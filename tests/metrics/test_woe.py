"""Weight of evidence: bins, special codes, missing values, and the formula."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from treerank.metrics import information_value, woe_table


def sample(n=500):
    rng = np.random.default_rng(0)
    x = rng.normal(size=n).round(2)
    y = (x + rng.normal(size=n) > 0).astype(int)
    x[:40], x[40:70], x[70:80] = -9, np.nan, -8
    return x, y


def test_special_codes_and_missing_values_are_bins_of_their_own():
    x, y = sample()
    table = woe_table(x, y, n_bins=5, special=[-9, -8])
    assert table["bin"].tolist()[-3:] == ["-9", "-8", "missing"]
    assert table["rows"].tolist()[-3:] == [40, 10, 30]
    assert table["events"].tolist()[-3] == y[:40].sum()
    assert len(table) == 8
    np.testing.assert_allclose(table["rows"][:5], 84, atol=3)
    assert table["rows"].sum() == 500
    assert "<= " in table["bin"][0]
    mixed = woe_table(x, y, n_bins=5)
    assert "-9" not in mixed["bin"].tolist()


def test_the_values_are_those_of_the_formula():
    x, y = sample()
    table = woe_table(x, y, special=-9)
    events, others = table["events"], table["rows"] - table["events"]
    e, n = events / events.sum(), others / others.sum()
    full = (events > 0) & (others > 0)
    np.testing.assert_allclose(table["woe"][full], np.log(e / n)[full])
    np.testing.assert_allclose(table["iv"], (e - n) * table["woe"])
    assert information_value(x, y, special=-9) == pytest.approx(table["iv"].sum())
    assert table["woe"][9] > 1 > -1 > table["woe"][1]


def test_levels_and_weights():
    x, y = ["b", "a", None, "b", "z"], [0, 1, 1, 1, 0]
    table = woe_table(x, y, special="z")
    assert table["bin"].tolist() == ["a", "b", "z", "missing"]
    assert table["rows"].tolist() == [1, 2, 1, 1]
    for column in (pd.Series(x), pl.Series(x)):
        pd.testing.assert_frame_equal(woe_table(column, y, special="z"), table)
    numbers, labels = sample()
    w = np.random.default_rng(2).integers(0, 3, len(labels))
    weighted = woe_table(numbers, labels, special=-9, sample_weight=w)
    repeated = woe_table(np.repeat(numbers, w), np.repeat(labels, w), special=-9)
    np.testing.assert_allclose(weighted["rows"], repeated["rows"])
    np.testing.assert_allclose(weighted["woe"], repeated["woe"])


def test_what_cannot_be_binned_is_refused():
    with pytest.raises(ValueError, match="Got n_bins=1"):
        woe_table([1, 2], [0, 1], n_bins=1)
    with pytest.raises(ValueError, match=r"Got x of shape \(2, 1\)"):
        woe_table([[1], [2]], [0, 1])
    with pytest.raises(ValueError, match="one class"):
        woe_table([1, 2], [1, 1])
