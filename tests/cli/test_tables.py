"""Separators, encodings and numbers as they are written in a text file."""

import json

import numpy as np
import pandas as pd
import pytest
from command_line import NEW, assert_one_line, run
from text_tables import sample, text, write

import treerank
from treerank.cli._dialect import find_delimiter, find_encoding
from treerank.cli._numbers import find_style


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_separator_is_found(delimiter):
    lines = [delimiter.join(("a", "b c", "d")), delimiter.join(("1", '"2;,|\t3"', "4"))] * 4
    assert find_delimiter("\n".join(lines) + "\n") == delimiter


def test_decimal_commas_do_not_look_like_separators():
    assert find_delimiter("a;b\n1,5;2,5\n3,5;4,5\n") == ";"
    assert find_delimiter("a\n1\n") == ","


@pytest.mark.parametrize(
    "encoding", ["utf8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "latin-1"]
)
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


def test_decimal_points_where_commas_are_named_are_said(tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"{i},5;{i}.25;{i % 2}\n" for i in range(60)]
    path.write_text("a;b;y\n" + "".join(rows))
    result = run("fit", path, "--target", "y", "--decimal", ",")
    assert_one_line(
        result, path, "column 'b' has numbers with a decimal point, such as '0.25', and"
    )


@pytest.mark.parametrize("value", ["0,5", "1.234.567"])
def test_a_decimal_comma_is_said_of_rows_from_the_standard_input_too(tmp_path, value):
    formatted(tmp_path)
    model = tmp_path / "m"
    run("fit", tmp_path / "plain.csv", "--target", "y", "--cv", 0, "--save", model)
    result = run("score", model, "-", given=f"x;rate;amount\n;1;1\n{value};2;1\n")
    assert result.exit_code == 2
    said = f"standard input: column 'x' has numbers with a decimal comma, such as '{value}': use"
    assert said in result.stderr


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


ODD_LINES = 'a,note,default\n\n1,"two\nlines",0\n\r\n' + '2,"a ""quote""\n\n",1\n3,x,0\n' * 30


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("last", "arguments", "message"),
    [
        ("x,y,1", [], "column 'a' has text in 1 of 62 rows (first: {}, 'x')"),
        ("1,y,", [], "has no label in 1 of 62 rows (first: {})"),
        ("1,y,1e999", [], "column 'default' has an infinite number in {}"),
        ("1,y", [], "{} has 2 values, the first line has 3 names"),
        ('1,"y,1', [], "a quote opened in {} is not closed"),
    ],
)
def test_lines_are_counted_where_rows_have_several_or_none(
    tmp_path, ending, last, arguments, message
):
    path, lines = tmp_path / "t.csv", ODD_LINES.replace("\r", "")
    number = lines.count("\n") + 1
    path.write_bytes((lines + last + "\n").replace("\n", ending).encode("utf-8-sig"))
    result = run("fit", path, "--target", "default", *arguments)
    assert_one_line(result, path, message.format(f"line {number:,}"))


def test_places_are_lines_of_text_and_rows_of_other_tables(folder, tmp_path):
    path = tmp_path / "new.parquet"
    rows = pd.read_csv(folder / "new.csv", dtype={"member": str})
    rows["income"] = np.where(rows.index == 5, np.inf, rows["income"])
    rows.to_parquet(path)
    result = run("score", folder / "tree.model", path)
    assert_one_line(result, path, "infinite number in row 6;")
    start = NEW + "\n"
    given = start + "1,2.5,30,owns,true\n" * 3 + "1,inf,30,owns,true\n"
    result = run("score", folder / "tree.model", "-", given=given)
    assert_one_line(result, "standard input", "infinite number in line 6;")


def test_rows_may_have_line_breaks_anywhere_in_a_large_file(tmp_path, monkeypatch):
    monkeypatch.setattr("treerank.cli._sources.BLOCK_BYTES", 1000)
    monkeypatch.setattr("treerank.cli._sources.SAMPLE_BYTES", 1000)
    row = '{0},"1,{0:03}","first line\nsecond, line, and a very long one\nthird",{1}\n'
    text = "a,amount,note,default\n" + "".join(row.format(i, i % 3 == 0) for i in range(300))
    path, model, out = (tmp_path / name for name in ("t.csv", "model", "scores.csv"))
    path.write_text(text)
    common = ["--target", "default", "--drop", "note", "--cv", "0", "--type", "a=number"]
    result = run("fit", path, *common, "--save", model)
    assert result.exit_code == 0, result.output
    result = run("score", model, path, "--out", out)
    assert result.exit_code == 0, result.output
    assert len(pd.read_csv(out)) == 300
    path.write_text(text + '7,"1,000","not closed,1\n' + "1,2,3,4\n" * 900)
    monkeypatch.setattr("treerank.cli._sources.MOST_SCANNED_BYTES", 1000)
    result = run("score", model, path, "--out", out)
    assert_one_line(result, path, "a value has more than 1,000 bytes, probably because a quote")
