"""Tables as people write them: separators, encodings, dates, units, ids, and what is said."""

import datetime
import inspect
import json
import subprocess
import sys
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

import treerank

pytest.importorskip("typer", reason="typer is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")
import pyarrow as pa
from typer.testing import CliRunner

from treerank.cli import app
from treerank.cli._dates import PARTS, find_order, parse_text, take_part
from treerank.cli._dialect import find_delimiter, find_encoding
from treerank.cli._numbers import find_style
from treerank.cli.app import SUMMARIES

runner = CliRunner()


def run(*arguments, given=None):
    return runner.invoke(app, [str(a) for a in arguments], input=given, catch_exceptions=False)


def write(path, rows, encoding="utf8", delimiter=",", quote=False):
    """Write rows of text as CSV."""
    lines = [delimiter.join(f'"{v}"' if quote else str(v) for v in row) for row in rows]
    path.write_bytes(("\n".join(lines) + "\n").encode(encoding))
    return path


def text(*values):
    return pa.chunked_array([pa.array(values, pa.string())])


def sample(n=120, seed=0):
    """A number that ranks, one that does not, and labels."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n).round(2)
    return x, rng.normal(size=n).round(2), (x + rng.normal(size=n) > 0).astype(int)


# --- the command itself ---


def test_short_options_and_the_version(tmp_path):
    x, z, y = sample()
    path = write(tmp_path / "t.csv", [("x", "z", "y"), *zip(x, z, y, strict=True)])
    assert run("--version").output == f"treerank {treerank.__version__}\n"
    assert "fit" in run("-h").output
    assert run("fit", "-h").output == run("fit", "--help").output
    model, scores = tmp_path / "m", tmp_path / "s.csv"
    assert run("fit", path, "--target", "y", "--cv", 0, "-o", model).exit_code == 0
    assert run("score", model, path, "-o", scores).exit_code == 0
    assert run("export", model, "--to", "text", "-o", tmp_path / "m.txt").exit_code == 0
    assert len(pd.read_csv(scores)) == len(y)


def test_every_command_is_listed_with_the_first_line_of_its_help():
    for name, summary in SUMMARIES.items():
        command = getattr(import_module(f"treerank.cli.{name}"), name)
        assert inspect.getdoc(command).splitlines()[0] == summary


def test_help_does_not_wait_for_what_only_a_fit_needs():
    code = (
        "import sys; from importlib import import_module; from treerank.cli.app import SUMMARIES\n"
        "[import_module(f'treerank.cli.{name}') for name in SUMMARIES]\n"
        "print([m for m in ('sklearn', 'scipy', 'pandas', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout == "[]\n"


def test_public_names_and_modules_are_found_when_asked_for():
    assert set(treerank.__all__) <= set(dir(treerank))
    for name in treerank.__all__:
        assert getattr(treerank, name) is not None
    assert treerank.metrics is import_module("treerank.metrics")
    with pytest.raises(AttributeError, match="no attribute 'nix'"):
        treerank.nix


# --- separators and encodings ---


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_separator_is_found(delimiter):
    lines = [delimiter.join(("a", "b c", "d")), delimiter.join(("1", '"2;,|\t3"', "4"))] * 4
    assert find_delimiter("\n".join(lines) + "\n") == delimiter


def test_decimal_commas_do_not_look_like_separators():
    assert find_delimiter("a;b\n1,5;2,5\n3,5;4,5\n") == ";"
    assert find_delimiter("a\n1\n") == ","


@pytest.mark.parametrize("encoding", ["utf8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])
def test_the_encoding_is_found(encoding):
    raw = "größe,x\nlänge,1\n".encode(encoding) + (b"\x81" if encoding == "latin-1" else b"")
    found = find_encoding([raw[:5], raw[5:]])
    assert found == {"utf-8-sig": "utf8"}.get(encoding, encoding)
    assert "größe" in raw.decode(found)


def test_the_last_character_of_a_file_counts():
    assert find_encoding(["Straße, groß".encode("cp1252")]) == "cp1252"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_a_table_is_read_whatever_its_separator_and_encoding(tmp_path, encoding, delimiter):
    x, _, y = sample()
    kind = np.where(y == 1, "größer", "kürzer")
    rows = [("maß", "art", "y"), *zip(x, kind, y, strict=True)]
    path = write(tmp_path / "t.csv", rows, encoding, delimiter)
    model = tmp_path / "m"
    for given, source in ((None, path), (path.read_bytes(), "-")):
        result = run("fit", source, "--target", "y", "--cv", 0, "--save", model, given=given)
        assert result.exit_code == 0, result.output
        fitted = treerank.load(model)
        assert fitted.feature_names_in_.tolist() == ["maß", "art"]
        assert fitted._binning.levels == [None, ["größer", "kürzer"]]
        name = {";": "semicolon", "\t": "tab"}[delimiter]
        assert f"columns are separated by a {name}" in result.stderr
        assert ("its encoding is" in result.stderr) == (encoding != "utf-8-sig")
        scored = run("score", model, source, given=given)
        assert scored.exit_code == 0, scored.output
        assert len(scored.stdout.splitlines()) == len(y) + 1


def test_an_accent_late_in_the_file_is_found_too(tmp_path, monkeypatch):
    monkeypatch.setattr("treerank.cli._sources.SAMPLE_BYTES", 200)
    x, _, y = sample()
    rows = [("x", "kind", "y"), *((v, "owns", k) for v, k in zip(x, y, strict=True))]
    path = write(tmp_path / "t.csv", [*rows, ("1", "größe", "1")], "cp1252")
    result = run("fit", path, "--target", "y", "--cv", 0)
    assert result.exit_code == 0, result.output
    assert "its encoding is cp1252" in result.stderr
    result = run("fit", path, "--target", "y", "--encoding", "utf8")
    assert "the text is not UTF8 in line 122; give its encoding" in result.stderr


# --- numbers ---


@pytest.mark.parametrize(
    ("values", "decimal", "numbers"),
    [
        (["1", " 2.5 ", None, "-1e3", ".5"], ".", [1, 2.5, None, -1000, 0.5]),
        (["5%", "-7.5 %", None], ".", [5, -7.5, None]),
        (["$1,200.50", "-$3", "($4.5)", "$-6"], ".", [1200.5, -3, -4.5, -6]),
        (["1.200,5 €", "3 €"], ",", [1200.5, 3]),
        (["1'200 CHF", "CHF 3"], ".", [1200, 3]),
        (["1,200,300", "7"], ".", [1200300, 7]),
        (["3,5", "-4", "1e2"], ",", [3.5, -4, 100]),
        (["12,5"], ".", None),
        (["0,567"], ".", None),
        (["5 EUR", "6 USD"], ".", None),
        (["5%", "6"], ".", None),
        (["ABC 12"], ".", None),
        (["SKU12", "SKU13"], ".", None),
        (["(-3)"], ".", None),
        (["1,23,456"], ".", None),
    ],
)  # fmt: skip
def test_text_is_a_number(values, decimal, numbers):
    column = text(*values)
    style = find_style(column, decimal)
    if numbers is None:
        assert style is None
    else:
        assert style.to_numbers(column).to_pylist() == numbers


def formatted(tmp_path, decimal=","):
    """A table with a decimal comma, percentages and a currency, and the plain one beside it."""
    x, z, y = sample()
    amount = np.round(np.abs(z) * 5000, 2)
    plain = pd.DataFrame({"x": x, "rate": z, "amount": amount, "y": y})
    rows = [("x", "rate", "amount", "y")]
    for v, r, a, k in plain.itertuples(index=False):
        money = f"{a:,.2f} €".replace(",", "_").replace(".", ",").replace("_", ".")
        rows.append((str(v).replace(".", ","), f"{r}%".replace(".", ","), money, k))
    plain.to_csv(tmp_path / "plain.csv", index=False)
    return write(tmp_path / "t.csv", rows, delimiter=";"), plain


def test_decimal_commas_percentages_and_currencies_give_the_model_of_plain_numbers(tmp_path):
    path, plain = formatted(tmp_path)
    ours, theirs = tmp_path / "a", tmp_path / "b"
    result = run("fit", path, "--target", "y", "--decimal", ",", "--cv", 0, "--save", ours)
    assert result.exit_code == 0, result.output
    assert "number, in %" in result.output
    assert "number, in €, thousands" in " ".join(result.output.split())
    run("fit", tmp_path / "plain.csv", "--target", "y", "--cv", 0, "--save", theirs)
    assert json.loads(ours.read_text())["fitted"] == json.loads(theirs.read_text())["fitted"]
    scores = tmp_path / "s.csv"
    result = run("score", ours, path, "--decimal", ",", "--out", scores)
    assert result.exit_code == 0, result.output
    expected = treerank.load(ours).score_samples(plain[["x", "rate", "amount"]])
    np.testing.assert_allclose(pd.read_csv(scores)["score"], expected, rtol=1e-15)


def test_a_decimal_comma_that_is_not_named_is_said(tmp_path):
    path, _ = formatted(tmp_path)
    result = run("fit", path, "--target", "y")
    assert result.exit_code == 2
    assert "column 'x' has numbers with a decimal comma, such as" in result.stderr
    assert "use --decimal ," in result.stderr


def test_a_broken_number_late_among_formatted_ones_is_named(tmp_path, monkeypatch):
    path, _ = formatted(tmp_path)
    model = tmp_path / "m"
    assert run("fit", path, "--target", "y", "--decimal", ",", "--save", model).exit_code == 0
    monkeypatch.setattr("treerank.cli._sources.SAMPLE_BYTES", 1000)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines, "1,5;lots;3 €;0"]) + "\n")
    result = run("score", model, path, "--decimal", ",", "--out", tmp_path / "s.csv")
    assert result.exit_code == 2
    assert "column 'rate' has 'lots' in line 122; expected numbers" in result.stderr
    assert not (tmp_path / "s.csv").exists()


# --- dates ---


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


# --- columns that identify rows, and several problems at once ---


def test_ids_and_free_text_are_left_out_with_one_line(tmp_path):
    x, z, y = sample()
    rows = [("loan_id", "row", "note", "x", "z", "y")]
    for i, values in enumerate(zip(x, z, y, strict=True)):
        rows.append((90_000 + 17 * i, i + 1, f"called on day {i}", *values))
    path, model = write(tmp_path / "t.csv", rows), tmp_path / "m"
    result = run("fit", path, "--target", "y", "--cv", 0, "--save", model)
    assert result.exit_code == 0, result.output
    [line] = result.stderr.splitlines()
    assert "left out because they identify rows: 'loan_id'" in line
    assert "'row' (another whole number in each row)" in line
    assert "'note' (120 different texts in 120 rows)" in line
    assert "--type COLUMN=number" in line
    assert treerank.load(model).feature_names_in_.tolist() == ["x", "z"]
    kept = ["--type", "row=number", "--id", "loan_id", "--drop", "note"]
    result = run("fit", path, "--target", "y", "--cv", 0, "--save", model, *kept)
    assert result.stderr == ""
    assert treerank.load(model).feature_names_in_.tolist() == ["row", "x", "z"]


def test_whole_numbers_that_are_no_ids_stay(tmp_path):
    rng = np.random.default_rng(0)
    income = rng.permutation(10_000)[:100]
    rows = [("income", "paid", "y"), *((v, v % 7, int(v > 5000)) for v in income)]
    result = run("fit", write(tmp_path / "t.csv", rows), "--target", "y", "--cv", 0)
    assert result.exit_code == 0, result.output
    assert "left out" not in result.stderr


def test_all_problems_of_columns_are_said_at_once(tmp_path):
    rows = [("a", "b", "c", "y")]
    rows += [(i % 7, i % 5, f"{i % 3},5", i % 2) for i in range(60)]
    rows += [("lots", 1, "2,5", 1), (2, "few", "2,5", "")]
    path = write(tmp_path / "t.csv", rows, quote=True)
    result = run("fit", path, "--target", "y")
    assert result.exit_code == 2
    [line] = result.stderr.splitlines()
    for said in (
        "column 'a' has text in 1 of 62 rows (first: line 62, 'lots')",
        "column 'b' has text in 1 of 62 rows (first: line 63, 'few')",
        "column 'c' has numbers with a decimal comma",
        "column 'y' has no label in 1 of 62 rows",
    ):
        assert said in line
    result = run("fit", path, "--target", "nix", "--drop", "nope")
    assert "there is no column 'nix' (--target) nor 'nope' (--drop)" in result.stderr
    assert "Did you mean" not in result.stderr


@pytest.mark.parametrize("target", ["Default", "defualt", "DEFAULT"])
def test_a_column_that_is_almost_spelled_right_is_suggested(tmp_path, target):
    x, z, y = sample()
    path = tmp_path / "t.csv"
    write(path, [("x", "other", "default"), *zip(x, z, y, strict=True)])
    result = run("fit", path, "--target", target)
    assert result.exit_code == 2
    assert result.stderr.endswith("Did you mean 'default'?\n")


def test_columns_that_a_model_misses_are_named_together(tmp_path):
    x, z, y = sample()
    path = write(tmp_path / "t.csv", [("x", "z", "y"), *zip(x, z, y, strict=True)])
    assert run("fit", path, "--target", "y", "--cv", 0, "-o", tmp_path / "m").exit_code == 0
    new = write(tmp_path / "n.csv", [("a",), (1,)])
    result = run("score", tmp_path / "m", new)
    assert "there is no column 'x' nor 'z', which the model was fitted to" in result.stderr


# --- labels ---


def labelled(path, labels):
    x, z, y = sample()
    rows = [("x", "z", "y"), *((a, b, labels[k]) for a, b, k in zip(x, z, y, strict=True))]
    return write(path, rows)


@pytest.mark.parametrize(
    ("labels", "positive", "classes"),
    [(("Yes", "No"), "No", ["Yes", "No"]), ((0, 1), "0", [1, 0]), (("a", "b"), "a", ["b", "a"])],
)
def test_positive_keeps_the_labels(tmp_path, labels, positive, classes):
    path, model = labelled(tmp_path / "t.csv", labels), tmp_path / "m"
    result = run("fit", path, "--target", "y", "--positive", positive, "--save", model)
    assert result.exit_code == 0, result.output
    assert f"ranked {classes[0]} < {classes[1]}." in result.output
    assert treerank.load(model).classes_.tolist() == classes
    scored = run("score", model, path, "--probability").output
    assert f"probability_{positive}" in scored.splitlines()[0]
    compared = run("compare", path, "--target", "y", "--positive", positive, "--cv", 2)
    assert compared.exit_code == 0, compared.output


def test_one_label_against_all_others_is_called_so(tmp_path):
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    x, z, _ = sample()
    grades = [("low", "mid", "high")[int(v > -0.5) + int(v > 0.5)] for v in x]
    path = write(tmp_path / "t.csv", [("x", "z", "y"), *zip(x, z, grades, strict=True)])
    model = tmp_path / "m"
    result = run("fit", path, "--target", "y", "--positive", "high", "--save", model)
    assert result.exit_code == 0, result.output
    assert treerank.load(model).classes_.tolist() == ["not high", "high"]
    result = run("report", model, path, "--target", "y", "-o", tmp_path / "r.html", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["counts"]["high"] == grades.count("high")


# --- levels that are new, and JSON ---


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_levels_that_the_model_has_not_seen_are_counted(tmp_path, suffix):
    x, _, y = sample()
    frame = pd.DataFrame({"x": x, "home": np.where(x > 0, "owns", "rents"), "y": y})
    frame.to_csv(tmp_path / "t.csv", index=False)
    model = tmp_path / "m"
    assert run("fit", tmp_path / "t.csv", "--target", "y", "--cv", 0, "-o", model).exit_code == 0
    new = frame.assign(home=["tent"] * 3 + ["boat"] + [None] + ["owns"] * 115)
    path = tmp_path / f"n.{suffix}"
    new.to_csv(path, index=False) if suffix == "csv" else new.to_parquet(path)
    result = run("score", model, path)
    said = "not seen, scored as missing: 'home' in 4 rows ('tent', 'boat')."
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert run("score", model, tmp_path / "t.csv").stderr == ""


def test_rules_and_report_give_json(tmp_path):
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    path, model = labelled(tmp_path / "t.csv", ("no", "yes")), tmp_path / "m"
    assert run("fit", path, "--target", "y", "--cv", 0, "-o", model).exit_code == 0
    loaded = treerank.load(model)
    found = json.loads(run("rules", model, "--json").stdout)
    assert found["classes"] == ["no", "yes"]
    assert [s["rule"] for s in found["strata"]] == loaded.partition_.rules()
    assert [s["score"] for s in found["strata"]] == loaded.partition_.scores.tolist()
    assert [list(s["counts"].values()) for s in found["strata"]] == (
        loaded.partition_.counts.tolist()
    )
    out = tmp_path / "r.html"
    result = run("report", model, path, "--target", "y", "-o", out, "--json")
    found = json.loads(result.stdout)
    frame = pd.read_csv(path)
    expected = treerank.metrics.auc_interval(frame["y"], loaded.score_samples(frame[["x", "z"]]))
    assert (found["auc"], found["lower"], found["upper"]) == (
        expected.auc, expected.lower, expected.upper)  # fmt: skip
    assert found["report"] == str(out)
    assert found["rows"] == 120
