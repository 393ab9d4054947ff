"""Columns that are left out, misspelled or missing, and labels."""

import json
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from command_line import assert_one_line, run
from text_tables import sample, write

import treerank


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


@pytest.mark.parametrize(("command", "option"), [("fit", "--id"), ("compare", "--drop")])
def test_the_note_on_one_id_names_an_option_of_the_command(tmp_path, command, option):
    rows = [("row", "x", "y"), *((i, i % 7, i % 2) for i in range(60))]
    path = write(tmp_path / "t.csv", rows)
    result = run(command, path, "--target", "y", "--cv", 0)
    [line] = [line for line in result.stderr.splitlines() if "note:" in line]
    assert "left out because it identifies rows: 'row' (another" in line
    assert line.endswith(f"Give {option} COLUMN to silence this note.")
    assert "note:" not in run(command, path, "--target", "y", "--cv", 0, option, "row").stderr


def test_compare_names_the_option_of_a_column_that_is_missing(tmp_path):
    path = write(tmp_path / "t.csv", [("row", "x", "y"), (1, 2, 0), (2, 3, 1)])
    for option in ("--group", "--time"):
        result = run("compare", path, "--target", "y", option, "nix")
        assert result.exit_code == 2
        assert f"there is no column 'nix' ({option}); the columns are" in result.stderr


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
    assert treerank.load(model).label_order_.tolist() == classes
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
    assert treerank.load(model).label_order_.tolist() == ["not high", "high"]
    result = run("report", model, path, "--target", "y", "-o", tmp_path / "r.html", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["counts"]["high"] == grades.count("high")


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
    for arguments in (["evaluate"], ["report", "-o", tmp_path / "r.html"]):
        assert said in run(*arguments, model, path, "--target", "y").stderr
    assert run("score", model, tmp_path / "t.csv").stderr == ""


def test_rows_and_columns_without_any_value_are_said(tmp_path):
    x, _, y = sample()
    frame = pd.DataFrame({"x": x, "home": np.where(x > 0, "owns", "rents"), "y": y})
    path, model = tmp_path / "t.csv", tmp_path / "m"
    frame.to_csv(path, index=False)
    assert run("fit", path, "--target", "y", "--cv", 0, "-o", model).exit_code == 0
    nothing = pd.DataFrame({"y": [1, 0]})
    for table, said in (
        (pd.concat([frame, nothing]), "2 of 122 rows have no value in any column of the model "
         "(first: line 122)."),
        (frame.assign(home=None), "columns of the model without any value: 'home'."),
        (nothing.assign(x=None, home=None), "no row has a value in any column of the model."),
    ):  # fmt: skip
        table.to_csv(path, index=False)
        for arguments in (["score", model, path], ["evaluate", model, path, "--target", "y"]):
            result = run(*arguments)
            assert result.exit_code == 0, result.output
            assert result.stderr == f"treerank: note: {path}: {said}\n"


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


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_ids_of_many_digits_are_left_out(tmp_path, name):
    ids = 2**60 + 7 * np.arange(60)
    table = pd.DataFrame({"account": ids, "x": np.arange(60) % 9, "y": np.arange(60) % 2})
    path, model = tmp_path / name, tmp_path / "m.json"
    table.to_csv(path, index=False) if name == "t.csv" else table.to_parquet(path)
    result = run("fit", path, "--target", "y", "--cv", 0, "--save", model)
    assert result.exit_code == 0, result.output
    assert "left out because it identifies rows: 'account'" in result.stderr
    assert treerank.load(model).feature_names_in_.tolist() == ["x"]
    kept = ["--type", "account=number", "--save", model]
    assert run("fit", path, "--target", "y", "--cv", 0, *kept).exit_code == 0
    assert run("score", model, path).exit_code == 0


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
@pytest.mark.parametrize("spread", [7, 10**9 + 7])
def test_ids_of_many_digits_need_no_name_that_says_so(tmp_path, name, spread):
    ids = 10**16 + spread * np.arange(60)
    table = pd.DataFrame({"pan": ids, "x": np.arange(60) % 9, "y": np.arange(60) % 2})
    path = tmp_path / name
    table.to_csv(path, index=False) if name == "t.csv" else table.to_parquet(path)
    result = run("fit", path, "--target", "y", "--cv", 0)
    assert "left out because it identifies rows: 'pan'" in result.stderr


def test_large_measurements_are_no_ids(tmp_path):
    table = pd.DataFrame({"mass": 1e30 + 1e26 * np.arange(60.0) ** 2, "y": np.arange(60) % 2})
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        result = run("fit", tmp_path / name, "--target", "y", "--cv", 0)
        assert result.exit_code == 0, result.output
        assert "left out" not in result.stderr


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_the_index_of_a_data_frame_is_left_out_with_a_note(tmp_path, name):
    table = pd.DataFrame({"x": np.arange(60) % 9, "y": np.arange(60) % 2})
    table.index = 3 * np.arange(60) ** 2
    path, model, scores = tmp_path / name, tmp_path / "m.json", tmp_path / "scores.csv"
    table.to_csv(path) if name == "t.csv" else table.to_parquet(path)
    result = run("fit", path, "--target", "y", "--cv", 0, "--save", model)
    assert result.exit_code == 0, result.output
    assert "the index of a data frame" in result.stderr
    assert treerank.load(model).feature_names_in_.tolist() == ["x"]
    assert run("score", model, path, "--out", scores).exit_code == 0
    assert run("evaluate", model, path, "--target", "y").exit_code == 0


def test_an_index_that_is_named_by_an_option_is_used(tmp_path):
    rows = pd.DataFrame({"x": np.arange(60) % 9, "y": np.arange(60) % 2})
    rows.index = pd.Index(np.arange(60) % 7, name="age")
    path, model = tmp_path / "t.parquet", tmp_path / "m.json"
    rows.to_parquet(path)
    result = run("fit", path, "--target", "y", "--cv", 0, "--type", "age=number", "--save", model)
    assert result.exit_code == 0, result.output
    assert treerank.load(model).feature_names_in_.tolist() == ["x", "age"]


@pytest.mark.parametrize("levels", [["good", "bad"], ["low", "mid", "high"], ["3", "1", "2"]])
def test_an_ordered_categorical_as_target_says_the_order(tmp_path, levels):
    rows = pd.DataFrame({"x": np.arange(120) % 17})
    rows["y"] = pd.Categorical.from_codes(np.arange(120) % len(levels), levels, ordered=True)
    (tmp_path / "parts").mkdir()
    for name in ("t.parquet", "parts/a.parquet", "parts/b.parquet"):
        rows.to_parquet(tmp_path / name, row_group_size=40)
    expected = f"ranked {' < '.join(map(str, levels))}"
    for path in (tmp_path / "t.parquet", tmp_path / "parts"):
        result = run("fit", path, "--target", "y")
        assert expected in result.stdout, result.output
    turned = ["--order", ",".join(map(str, levels[::-1]))]
    result = run("fit", tmp_path / "t.parquet", "--target", "y", *turned)
    assert f"ranked {' < '.join(map(str, levels[::-1]))}" in result.stdout


@pytest.mark.parametrize("kind", ["date32[day]", "binary"])
def test_a_target_that_no_model_file_could_hold_is_refused_before_the_fit(tmp_path, kind):
    values = {"date32[day]": [date(2020, 1, 1), date(2020, 1, 2)], "binary": [b"a", b"b"]}[kind]
    pd.DataFrame({"x": np.arange(60), "y": values * 30}).to_parquet(tmp_path / "t.parquet")
    result = run("fit", tmp_path / "t.parquet", "--target", "y")
    assert_one_line(result, tmp_path / "t.parquet", f"column 'y' has type {kind}; expected text")
    assert result.stdout == ""


def test_decimal_labels_are_whole_numbers(tmp_path):
    labels = [Decimal(i % 2) for i in range(60)]
    pd.DataFrame({"x": np.arange(60) % 7, "y": labels}).to_parquet(tmp_path / "t.parquet")
    assert "ranked 0 < 1" in run("fit", tmp_path / "t.parquet", "--target", "y").stdout


@pytest.mark.parametrize("labels", [("no", "yes", "yes "), ("no", "yes", "Yes")])
def test_labels_that_differ_in_spaces_or_capitals_are_refused(tmp_path, labels):
    rows = [("x", "y"), *((i % 7, labels[i % 3]) for i in range(60))]
    result = run("fit", write(tmp_path / "t.csv", rows), "--target", "y")
    assert result.exit_code == 2
    assert f"has the labels 'yes' and {labels[2]!r}, which differ only in" in result.stderr


def test_the_note_on_the_order_of_labels_names_an_option(tmp_path):
    rows = [("x", "y"), *((i % 7, "abc"[i % 3]) for i in range(60))]
    result = run("fit", write(tmp_path / "t.csv", rows), "--target", "y", "--cv", 0)
    assert "Say the order by treerank fit --order" in result.stderr
    assert "label_order" not in result.stderr


def test_one_text_among_many_numbers_is_no_category(tmp_path):
    rows = [("x", "y"), *(("-" if i % 5 == 0 else i * 1.5, i % 2) for i in range(90))]
    path = write(tmp_path / "t.csv", rows)
    result = run("fit", path, "--target", "y", "--cv", 0)
    assert result.exit_code == 2
    assert "column 'x' has text in 18 of 90 rows" in result.stderr
    assert "--missing '-'" in result.stderr
    assert run("fit", path, "--target", "y", "--cv", 0, "--missing", "-").exit_code == 0


@pytest.mark.parametrize("texts", [["-", "."], ["n. d.", "?", "<10"]])
def test_a_few_texts_among_many_numbers_are_no_levels(tmp_path, texts):
    rows = [(texts[i % len(texts)] if i % 5 < 3 else i * 1.5, i % 2) for i in range(90)]
    path = write(tmp_path / "t.csv", [("x", "y"), *rows])
    result = run("fit", path, "--target", "y", "--cv", 0)
    assert_one_line(result, path, f"text in 54 of 90 rows (first: line 2, {texts[0]!r})")
    assert f"({' '.join(f'--missing {text!r}' for text in texts)})" in result.stderr
    options = [word for text in texts for word in ("--missing", text)]
    assert run("fit", path, "--target", "y", "--cv", 0, *options).exit_code == 0


@pytest.mark.parametrize(
    ("form", "number"),
    [
        ("{} kg", "98"),
        ("'{}", "98"),
        ('="{}"', "98"),
        ("\u2212{}", "-98"),
        ("{}\u2009000", "98000"),
    ],
)
def test_numbers_with_something_around_them_are_no_categories(tmp_path, form, number):
    rows = [("x", "y"), *((form.format(98 + i), i % 2) for i in range(80))]
    path = write(tmp_path / "t.csv", rows)
    result = run("fit", path, "--target", "y", "--cv", 0)
    assert_one_line(result, path, f"that are written {form.format(98)!r}; write {number}, leave")
    result = run("fit", path, "--target", "y", "--cv", 0, "--type", "x=category")
    assert result.exit_code == 0, result.output


def test_codes_of_digits_and_letters_are_no_numbers(tmp_path):
    codes = [f"{i}{'AB'[i % 2]}" for i in range(40)]
    phones = [f"555 {100 + i} {200 + i}" for i in range(40)]
    rows = [("x", "z", "y"), *((codes[i % 40], phones[i % 40], i % 2) for i in range(80))]
    result = run("fit", write(tmp_path / "t.csv", rows), "--target", "y", "--cv", 0)
    assert result.exit_code == 0, result.output


def test_of_very_many_columns_the_first_are_shown(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 3, (40, 100)), columns=[f"c{j}" for j in range(100)])
    table = table.assign(word=np.where(table["c3"] > 1, "a", "b"), y=table["c1"] > 0)
    table.to_csv(tmp_path / "t.csv", index=False)
    result = run("fit", tmp_path / "t.csv", "--target", "y", "--cv", 0)
    assert result.exit_code == 0, result.output
    listed = [line.split()[0] for line in result.stdout.splitlines() if " different" in line]
    assert listed == [f"c{j}" for j in range(40)]
    assert "61 more columns are not shown; taken 60 as number, 1 as category." in result.stdout
    table[[*table.columns[:60], "y"]].to_csv(tmp_path / "t.csv", index=False)
    result = run("fit", tmp_path / "t.csv", "--target", "y", "--cv", 0)
    assert "not shown; taken" not in result.stdout
    assert result.stdout.count(" different") == 60
