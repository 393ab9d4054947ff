"""Columns of dates become numbers."""

import datetime
import json

import numpy as np
import pandas as pd
import pytest
from command_line import assert_one_line, run
from text_tables import text

import treerank
from treerank.cli._dates import PARTS, find_order, look_like_dates, parse_text, take_part


def test_dates_are_days_and_parts_of_the_calendar():
    days = ["2024-02-29", "1969-12-31", "2000-01-01T18:00:00", "2024-03-01 01:00+02:00"]
    found = parse_text(text(*days, "2023-02-29", "x", None), "ymd")
    dates = [datetime.datetime.fromisoformat(d) for d in days]
    expected = [
        (d.replace(tzinfo=d.tzinfo or datetime.UTC) - datetime.datetime(1970, 1, 1,
         tzinfo=datetime.UTC)).total_seconds() / 86400 for d in dates
    ]  # fmt: skip
    np.testing.assert_allclose(found[:4], expected, rtol=1e-15)
    assert np.isnan(found[4:]).all()
    in_utc = [datetime.date(1970, 1, 1) + datetime.timedelta(int(np.floor(d))) for d in found[:4]]
    assert take_part(found, "year")[:4].tolist() == [d.year for d in in_utc]
    assert take_part(found, "month")[:4].tolist() == [d.month for d in in_utc]
    assert take_part(found, "weekday")[:4].tolist() == [d.isoweekday() for d in in_utc]


def test_the_order_of_day_and_month_is_found_or_asked_for():
    assert find_order(text("2024-01-02", None), None) == "ymd"
    assert find_order(text("01/02/2024", "13/02/2024"), None) == "dmy"
    assert find_order(text("01/02/2024", "02/13/2024"), None) == "mdy"
    assert find_order(text("01.02.2024"), None) == "dmy"
    assert find_order(text("01/02/2024"), None) == "ambiguous"
    assert find_order(text("01/02/2024"), "mdy") == "mdy"
    assert find_order(text("2024-01-02"), "dmy") == "ymd"
    assert find_order(text("02/13/2024"), "dmy") is None
    assert find_order(text("2024-13-02"), None) is None
    assert find_order(text("soon"), None) is None


@pytest.fixture
def dated(tmp_path):
    """Rows whose label depends on the date, as CSV and as Parquet."""
    rng = np.random.default_rng(3)
    when = np.datetime64("2020-01-01") + rng.integers(0, 1500, 200)
    y = (when.astype("datetime64[D]").astype(int) + rng.normal(0, 300, 200) > 19000).astype(int)
    frame = pd.DataFrame({"when": when, "x": rng.normal(size=200).round(3), "y": y})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    day_first = frame.assign(when=frame["when"].dt.strftime("%d/%m/%Y"))
    day_first.to_csv(tmp_path / "dmy.csv", index=False)
    return tmp_path, frame


def test_dates_of_csv_and_parquet_become_the_same_numbers(dated):
    folder, frame = dated
    models = []
    for name in ("t.csv", "t.parquet", "dmy.csv"):
        model = folder / f"{name}.model"
        result = run("fit", folder / name, "--target", "y", "--cv", 0, "--save", model)
        assert result.exit_code == 0, result.output
        assert "days since 1970-01-01" in " ".join(result.output.split())
        models.append(json.loads(model.read_text())["fitted"])
        for scored in ("t.csv", "t.parquet", "dmy.csv"):
            out = folder / "s.csv"
            assert run("score", model, folder / scored, "--out", out).exit_code == 0
            days = (frame["when"] - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
            rows = pd.DataFrame({"when.days": days, "x": frame["x"]})
            expected = treerank.load(model).score_samples(rows)
            np.testing.assert_allclose(pd.read_csv(out)["score"], expected, rtol=1e-15)
    assert models[0] == models[1] == models[2]


def test_parts_of_dates_are_made_as_asked(dated):
    folder, frame = dated
    model = folder / "m"
    parts = "when=year,month,weekday"
    result = run("fit", folder / "t.csv", "--target", "y", "--date", parts, "--save", model)
    assert result.exit_code == 0, result.output
    fitted = treerank.load(model)
    assert fitted.feature_names_in_.tolist() == ["when.year", "when.month", "when.weekday", "x"]
    rows = pd.DataFrame({
        "when.year": frame["when"].dt.year, "when.month": frame["when"].dt.month,
        "when.weekday": frame["when"].dt.day_of_week + 1, "x": frame["x"],
    })  # fmt: skip
    out = folder / "s.csv"
    assert run("score", model, folder / "t.csv", "--out", out).exit_code == 0
    expected = fitted.score_samples(rows)
    np.testing.assert_allclose(pd.read_csv(out)["score"], expected, rtol=1e-15)
    assert set(PARTS) == {"days", "year", "month", "weekday"}


def test_dates_that_cannot_be_read_are_said(dated, tmp_path):
    folder, frame = dated
    twelve = frame.assign(when=[f"{1 + i % 9:02}/03/2024" for i in range(200)])
    twelve.to_csv(folder / "odd.csv", index=False)
    result = run("fit", folder / "odd.csv", "--target", "y")
    assert result.exit_code == 2
    assert "in which day and month cannot be told apart; give their order" in result.stderr
    model = folder / "m"
    ordered = ["--date-order", "dmy"]
    assert run("fit", folder / "odd.csv", "--target", "y", *ordered, "-o", model).exit_code == 0
    result = run("score", model, folder / "odd.csv")
    assert "in which day and month cannot be told apart" in result.stderr
    assert run("score", model, folder / "odd.csv", *ordered).exit_code == 0
    frame.assign(when=["2024-01-01"] * 199 + ["soon"]).to_csv(folder / "late.csv", index=False)
    result = run("fit", folder / "late.csv", "--target", "y", "--type", "when=date")
    assert "column 'when' has 'soon' in line 201; expected dates" in result.stderr
    result = run("score", model, folder / "late.csv", *ordered)
    assert result.exit_code == 2
    assert "expected dates" in result.stderr


def test_dates_in_several_files_are_refused_with_the_remedy(dated):
    folder, frame = dated
    (folder / "parts").mkdir()
    for k in range(2):
        frame[k::2].to_parquet(folder / "parts" / f"{k}.parquet")
    result = run("fit", folder / "parts", "--target", "y")
    assert result.exit_code == 2
    assert "Got dates in several files ('when')" in result.stderr
    assert "--drop" in result.stderr
    assert run("fit", folder / "parts", "--target", "y", "--drop", "when").exit_code == 0


@pytest.mark.parametrize(
    ("days", "options", "said"),
    [
        (["13/02/2024"] * 59 + ["unknown"], [], "column 'd' has 'unknown' in line 61; expected"),
        (["13/02/2024"] * 59 + ["30/02/2024"], [], "has '30/02/2024' in line 61; expected dates"),
        (["02/13/2024"] * 60, ["--date-order", "dmy"], "has dates in the order mdy"),
    ],
)
def test_dates_with_mistakes_are_no_categories(tmp_path, days, options, said):
    table = pd.DataFrame({"d": days, "x": np.arange(60) % 9, "y": np.arange(60) % 2})
    table.to_csv(tmp_path / "t.csv", index=False)
    result = run("fit", tmp_path / "t.csv", "--target", "y", "--cv", 0, *options)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "--type d=category" in result.stderr
    as_said = ["--type", "d=category", "--target", "y", "--cv", 0]
    assert run("fit", tmp_path / "t.csv", *as_said).exit_code == 0


@pytest.mark.parametrize(
    "form",
    ["{:%d%b%Y}", "{:%d%b%Y:%H:%M:%S}", "{:%b-%Y}", "{:%B %Y}", "{:%Y-%b}", "{:%Y-%m}", "{:%m/%Y}",
     "{:%m.%Y}"],
)  # fmt: skip
def test_dates_of_sas_and_months_are_dates(dated, form):
    folder, frame = dated
    when = frame["when"].map(form.format).str.upper()
    frame.assign(when=when).to_csv(folder / "sas.csv", index=False)
    assert find_order(text(*when), None) == "ymd"
    days = frame["when"] if "%d" in form else frame["when"].dt.to_period("M").dt.start_time
    expected = (days - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    np.testing.assert_allclose(parse_text(text(*when), "ymd"), expected, rtol=1e-12)
    result = run("fit", folder / "sas.csv", "--target", "y", "--cv", 0, "-o", folder / "m")
    assert "when.days  number: days since 1970-01-01" in result.stdout
    result = run("score", folder / "m", folder / "sas.csv")
    assert result.exit_code == 0, result.output


def test_months_among_days_are_mistakes(tmp_path):
    days = [f"2024-01-{k % 28 + 1:02}" for k in range(59)]
    table = pd.DataFrame({"d": [*days, "2024-01"], "y": np.arange(60) % 2})
    table.to_csv(tmp_path / "t.csv", index=False)
    result = run("fit", tmp_path / "t.csv", "--target", "y", "--cv", 0)
    assert_one_line(result, tmp_path / "t.csv", "column 'd' has '2024-01' in line 61; expected")


def test_eight_digits_are_a_date_where_one_is_asked_for(dated):
    folder, frame = dated
    frame.assign(when=frame["when"].dt.strftime("%Y%m%d")).to_csv(folder / "d.csv", index=False)
    frame.assign(when=frame["when"].dt.strftime("%Y%m%d").astype(int)).to_parquet(folder / "d.pq")
    models = []
    for name in ("t.csv", "d.csv", "d.pq"):
        arguments = ["fit", folder / name, "--target", "y", "--cv", 0, "-o", folder / "m"]
        assert run(*arguments, "--type", "when=date").exit_code == 0
        models.append(run("score", folder / "m", folder / name).stdout)
    assert models == models[:1] * 3
    assert "when    number" in run("fit", folder / "d.csv", "--target", "y", "--cv", 0).stdout


NAMED = ["{:%-d %b %Y}", "{:%d-%B-%Y}", "{:%b. %d, %Y}", "{:%B %-d %Y}", "{:%Y-%b-%d}"]


@pytest.mark.parametrize("written", [*NAMED, "mixed", "mixed with numbers"])
def test_months_may_have_names_and_dates_several_forms(dated, written):
    folder, frame = dated
    forms = {"mixed": [*NAMED, "{:%Y-%m-%d}"], "mixed with numbers": [*NAMED, "{:%d/%m/%Y}"]}
    forms = forms.get(written, [written])
    when = [forms[i % len(forms)].format(day).upper() for i, day in enumerate(frame["when"])]
    frame.assign(when=when).to_csv(folder / "named.csv", index=False)
    column, order = text(*when), "dmy" if "numbers" in written else "ymd"
    assert find_order(column, None) == order
    days = (frame["when"] - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    assert parse_text(column, order).tolist() == days.tolist()
    model = folder / "named.model"
    result = run("fit", folder / "named.csv", "--target", "y", "--cv", 0, "--save", model)
    assert result.exit_code == 0, result.output
    expected = run("score", model, folder / "t.csv").stdout
    assert run("score", model, folder / "named.csv").stdout == expected


@pytest.mark.parametrize(
    "form",
    ["{:%d/%m/%y}", "{:%-d. Mai %Y}", "{:%Y-%m-%d %I:%M %p}", "{:%d%b%y}", "{:%d-%b}", "{:%b-%d}",
     "{:%a, %d %b %Y}"],
)  # fmt: skip
def test_what_only_looks_like_dates_is_no_category(tmp_path, form):
    days = [form.format(day) for day in pd.date_range("2024-01-31", periods=60, freq="11h")]
    table = pd.DataFrame({"d": days, "x": np.arange(60) % 9, "y": np.arange(60) % 2})
    table.to_csv(tmp_path / "t.csv", index=False)
    result = run("fit", tmp_path / "t.csv", "--target", "y", "--cv", 0)
    said = f"column 'd' has what looks like dates, such as {days[0]!r}"
    assert_one_line(result, tmp_path / "t.csv", said)
    assert "--type d=category" in result.stderr


def test_codes_are_no_dates():
    codes = [
        "123-45-6789",
        "10.0.0.1",
        "1.2.3",
        "99/99/99",
        "A 12 2024",
        "2024-13",
        "13-2024",
        "1-1824",
    ]
    for code in codes:
        assert find_order(text(code), None) is None
        assert not look_like_dates(text(code), 0.1)
