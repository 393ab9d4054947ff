"""Notes on training tables that can be read, but may not mean what they say."""

import numpy as np
import pandas as pd
import pytest
from command_line import run

N = 200


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    income = rng.normal(3000, 500, N).round().astype(int)
    return pd.DataFrame({"income": income, "y": (rng.random(N) < 0.4).astype(int)})


def notes(tmp_path, table, *options, **how):
    path = tmp_path / "t.csv"
    table.to_csv(path, index=False, **how)
    result = run("fit", path, "--target", "y", "--cv", 0, "--max-depth", 1, *options)
    assert result.exit_code == 0, result.output
    lines = result.stderr.splitlines()
    return "".join(line for line in lines if "separated by a semicolon" not in line)


@pytest.mark.parametrize(
    "leak",
    [
        lambda y, rng: y * 2 + 1,
        lambda y, rng: y + rng.normal(0, 0.01, N),
        lambda y, rng: np.where(y, "lost", "kept"),
        lambda y, rng: np.where(y, rng.normal(size=N), np.nan),  # missing in one class
        lambda y, rng: np.where(y, "2024-01-31", ""),
        lambda y, rng: y + 2 * rng.integers(0, 2, N),  # codes, neither class in a range
    ],
)
def test_a_column_that_gives_the_labels_away_is_named(tmp_path, table, leak):
    rng = np.random.default_rng(1)
    found = notes(tmp_path, table.assign(leak=leak(table["y"].to_numpy(), rng)))
    assert "tells the classes apart in every row: 'leak" in found
    assert "--drop COLUMN" in found


def test_other_columns_are_not_said_to_give_the_labels_away(tmp_path, table):
    y = table["y"].to_numpy()
    nearly = np.where(np.arange(N) == 7, 1 - y, y)
    many = [f"{label}{i % 40}" for i, label in enumerate(y)]  # few rows of each level
    table = table.assign(nearly=nearly, many=many, constant=1, empty=None)
    assert notes(tmp_path, table) == ""
    few = table[:40].assign(leak=y[:40])
    assert notes(tmp_path, few[["income", "leak", "y"]]) == ""


@pytest.mark.parametrize(("number", "low", "high"), [(9999, 0, 5000), (-99, 0, 50), (999, 18, 90)])
def test_numbers_that_may_stand_for_missing_values_are_named(tmp_path, table, number, low, high):
    x = np.random.default_rng(2).integers(low, high, N)
    x[:9] = number
    found = notes(tmp_path, table.assign(x=x))
    assert f"far from all other numbers, as where a value is missing: 'x' ({number} in 9" in found
    assert notes(tmp_path, table.assign(x=x), "--missing", number) == ""


@pytest.mark.parametrize(("number", "low", "high"), [(9999, 0, 9990), (-99, -80, 50), (9, 0, 3)])
def test_numbers_among_others_are_not_said_to_be_missing(tmp_path, table, number, low, high):
    x = np.random.default_rng(2).integers(low, high, N)
    x[:9] = number
    assert notes(tmp_path, table.assign(x=x)) == ""


def test_points_that_may_separate_thousands_are_named(tmp_path, table):
    amounts = table["income"] - 2500
    amounts = amounts.abs().map("{:,.0f}".format).str.replace(",", ".")
    found = notes(tmp_path, table.assign(amount=amounts))
    assert "the point is taken as the decimal mark in 'amount'" in found
    assert notes(tmp_path, table.assign(amount=amounts), "--decimal", ",") == ""
    decimals = table.assign(amount=table["income"].map(lambda v: f"{v / 1000:.3f}"))
    assert notes(tmp_path, decimals) == ""
    assert "'amount'" in notes(tmp_path, decimals, sep=";")
