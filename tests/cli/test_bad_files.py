"""One line names the file, the column and the remedy, and no output is left."""

import pandas as pd
import pytest
from command_line import NEW, assert_one_line, run

import treerank

HEADER = "id,income,age,home,member,default,w\n"


ROWS = "".join(f"{i},{i % 7}.5,{20 + i % 50},owns,true,{i % 2},1\n" for i in range(60))


BAD_TRAINING = {
    "missing target": (HEADER.replace("default", "bad") + ROWS, "no column 'default' (--target)"),
    "constant target": (
        HEADER + "".join(f"{i},1,2,owns,true,0,1\n" for i in range(9)),
        "column 'default' has the same label '0' in every row",
    ),
    "mixed types": (
        HEADER + ROWS + "60,lots,20,owns,true,1,1\n",
        "column 'income' has text in 1 of 61 rows (first: line 62, 'lots'); correct it, treat "
        "it as missing (--missing 'lots'), or make the column a category (--type "
        "income=category)",
    ),
    "duplicated names": (HEADER.replace("age", "income") + ROWS, "the column name 'income' occurs"),
    "a column without a name": (HEADER.replace("age", "") + ROWS, "column 3 has no name"),
    "a workbook": (b"PK\x03\x04" + bytes(99), "save the sheet as CSV"),
    "old line ends": ((HEADER + ROWS).replace("\n", "\r"), "end in a carriage return alone"),
    "a target that is no class": (
        HEADER + ROWS + "60,1,20,owns,true,0.5,1\n",
        "column 'default' has numbers with fractions (first: line 62, 0.5); expected classes"),
    "empty file": ("", "the file is empty"),
    "an empty first line": (
        "\r\n\n" + HEADER + ROWS,
        "the first line is empty; expected the names of the columns. Remove the empty lines"),
    "a blank first line": ("\ufeff  \n" + HEADER + ROWS, "the first line is empty"),
    "no rows": (HEADER, "there are column names but no rows"),
    "no rows and no line end": (HEADER.strip(), "there are column names but no rows"),
    "a line of spaces": (HEADER + ROWS + "  \n", "line 62 has 1 value, the first line has 7 names"),
    "spaces around names": (
        HEADER.replace("default", " default ") + ROWS, "Did you mean ' default '?"),
    "a short line": (HEADER + ROWS + "60,1\n", "line 62 has 2 values, the first line has 7 names"),
    "a missing label": (HEADER + ROWS + "60,1,20,owns,true,,1\n", "no label in 1 of 61 rows"),
    "a negative weight": (
        HEADER + ROWS + "60,1,20,owns,true,1,-1\n",
        "(--weight) has '-1' in line 62; expected finite numbers of at least 0. Correct it."),
    "no weight": (
        HEADER + ROWS + "60,1,20,owns,true,1,\n",
        "column 'w' (--weight) has no value in line 62; expected finite numbers of at least 0."),
    "a number beyond doubles": (
        HEADER + ROWS + "60,1e400,20,owns,true,1,1\n",
        "column 'income' has an infinite number in line 62; replace it by a number, or leave it"),
    "a label beyond doubles": (
        HEADER + ROWS + "60,1,20,owns,true,1e400,1\n",
        "column 'default' has an infinite number in line 62; expected classes. Correct it."),
    "an unclosed quote": (
        HEADER + ROWS + '60,1,20,"owns,true,1,1\n' + ROWS,
        "a quote opened in line 62 is not closed; close or remove it."),
    "an unclosed quote in the last column": (
        HEADER + ROWS + '60,1,20,owns,true,1,"1\n' + ROWS,
        "a quote opened in line 62 is not closed; close or remove it."),
    "an unclosed quote in the first line": (
        '"' + HEADER + ROWS, "a quote opened in line 1 is not closed"),
    "a line for a spreadsheet": (
        "sep=,\n" + HEADER + ROWS, "the first line is a separator for Excel; remove it."),
    "a title above the table": (
        "Loans in 2024,,,,,,\n,,,,,,\n" + HEADER + ROWS,
        "the first line has 'Loans in 2024' alone; expected the names of the columns. Remove"),
    "a weight with a comma": (
        HEADER.replace(",", ";") + (ROWS + "60,1,20,owns,true,1,x\n").replace(",", ";")
        .replace("x", "1,5"),
        "column 'w' (--weight) has '1,5' in line 62; expected finite numbers of at least 0. Use"),
    "an infinite weight": (
        HEADER + ROWS + "60,1,20,owns,true,1,1e999\n",
        "(--weight) has '1e999' in line 62; expected finite numbers of at least 0. Correct it."),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD_TRAINING)
def test_bad_training_data_is_named_in_one_line(tmp_path, kind):
    content, message = BAD_TRAINING[kind]
    path = tmp_path / "train.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    result = run("fit", path, "--target", "default", "--weight", "w", "--save", tmp_path / "model")
    assert_one_line(result, path, message)
    assert [p.name for p in tmp_path.iterdir()] == ["train.csv"]


def test_a_parquet_file_without_rows_is_named_in_one_line(folder, tmp_path):
    path, out, model = tmp_path / "rows.parquet", tmp_path / "out", folder / "tree.model"
    pd.read_parquet(folder / "train.parquet")[:0].to_parquet(path)
    for command in (
        ["fit", path, "--target", "default", "--save", out],
        ["compare", path, "--target", "default"],
        ["report", model, path, "--target", "default", "--out", out],
        ["score", model, path, "--out", out],
    ):
        assert_one_line(run(*command), path, "there are column names but no rows.")
    for several in (tmp_path, tmp_path / "*.parquet"):
        result = run("fit", several, "--target", "default", "--save", out)
        said = "rows.parquet' without any row; expected rows to learn from."
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
        assert said in result.stderr
    assert list(tmp_path.iterdir()) == [path]


BAD_NEW = {
    "a missing column": ("id,income,age,home\n1,1,2,owns\n", "no column 'member', which the model"),
    "text among numbers": (
        NEW + "1,2.5,30,owns,true\n" * 40 + "1,lots,30,owns,true\n",
        "column 'income' has 'lots' in line 42; expected numbers, as in the data the model was "
        "fitted to. Correct it, or treat it as missing: --missing 'lots'",
    ),
    "decimal commas": (
        NEW.replace(",", ";") + "1;;30;owns;true\n1;2;30;owns;true\n1;0,1257;30;owns;true\n",
        "column 'income' has numbers with a decimal comma, such as '0,1257': use --decimal ,."),
    "a decimal comma among points": (
        NEW + "1,2.5,30,owns,true\n1,\"0,1257\",30,owns,true\n",
        "column 'income' has '0,1257' in line 3; expected numbers, as in the data the model was "
        "fitted to. Correct it, or use --decimal , if all numbers have a decimal comma."),
    "infinity": (NEW + "1,inf,30,owns,true\n", "infinite number in line 2"),
    "empty": ("", "the file is empty"),
    "an empty first line": ("\n" + NEW + "1,2.5,30,owns,true\n", "the first line is empty"),
    "no rows": (NEW, "no rows"),
    "duplicated names": (NEW.replace("age", "home") + "1,2,3,4,5\n", "'home' occurs twice"),
    "a long line": (NEW + "1,2,3,owns,true,8\n", "has 6 values, the first line has 5 names"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD_NEW)
def test_bad_rows_to_score_are_named_in_one_line(folder, tmp_path, kind):
    content, message = BAD_NEW[kind]
    path = tmp_path / "new.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    out = tmp_path / "scores.csv"
    result = run("score", folder / "tree.model", path, "--out", out, "--id", "id")
    assert_one_line(result, path, message)
    assert [p.name for p in tmp_path.iterdir()] == ["new.csv"]


def test_a_fault_late_in_the_file_leaves_no_output(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("treerank.cli._sources.BLOCK_BYTES", 1000)
    path, out = tmp_path / "new.csv", tmp_path / "scores.csv"
    out.write_text("old scores\n")
    path.write_text(NEW + "1,2.5,30,owns,true\n" * 3000 + "1,lots,30,owns,true\n")
    result = run("score", folder / "tree.model", path, "--out", out)
    assert_one_line(result, path, "column 'income' has 'lots' in line 3,002")
    assert out.read_text() == "old scores\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["new.csv", "scores.csv"]


def test_other_mistakes_are_one_line_too(folder, tmp_path):
    train = folder / "train.csv"
    target = ["--target", "default"]
    (tmp_path / "damaged").write_text("{}")
    (tmp_path / "no.parquet").write_text("PAR1?")
    for arguments, message in [
        (["fit", tmp_path / "nothing.csv", *target], "nothing.csv: there is no such file"),
        (["fit", tmp_path, *target], "not a Parquet file"),
        (["fit", train, *target, "--type", "age"], "expected COLUMN=category, COLUMN=number"),
        (["fit", train, *target, "--type", "age=time"], "expected COLUMN=category"),
        (["fit", train, *target, "--type", "home=number"], "column 'home' has text in"),
        (["fit", train, *target, "--drop", "nix"], "no column 'nix' (--drop)"),
        (["fit", train, *target, "--positive", "maybe"], "no label 'maybe' (--positive); it has"),
        (["fit", train, *target, "--delimiter", ",,"], "expected one character"),
        (["fit", train, *target, "--delimiter", ";"], "use --delimiter ','"),
        (["fit", train, *target, "--encoding", "utf-16"], "the text is not UTF-16"),
        (["fit", train, *target, "--decimal", "x"], "Got --decimal 'x'; expected . or ,"),
        (["fit", train, *target, "--date-order", "ydm"], "expected ymd, dmy or mdy"),
        (["fit", train, *target, "--date", "age=decade"], "some of days, year, month, weekday"),
        (["fit", train, *target, "--encoding", "klingon"], "no encoding 'klingon'"),
        (["fit", train, *target, "--save", tmp_path / "no" / "m"], "there is no folder"),
        (["fit", train, *target, "--threads", "0"], "Got --threads 0;"),
        (["fit", tmp_path / "no.parquet", *target], "not a Parquet file"),
        (["score", tmp_path / "nothing", train], "nothing: there is no such file"),
        (["score", tmp_path / "damaged", train], "expected a model file"),
        (["score", folder / "tree.model", train, "--id", "nix"], "no column 'nix' (--id)"),
        (["fit", train, *target, "--weight", "default"], "cannot be both --target and --weight"),
        (["fit", train, *target, "--drop", "default"], "cannot be both --target and --drop"),
        (["fit", train, *target, "--type", "default=category"], "both --target and --type"),
        (["compare", train, *target, "--group", "default"], "both --target and --group"),
        (["fit", train, *target, "--weight", "home"], "column 'home' (--weight) has"),
        (["fit", train, *target, "--save", tmp_path], "this is a folder"),
        (["score", folder / "tree.model", train, "--out", tmp_path], "this is a folder"),
        (["score", folder / "tree.model", train, "--out", tmp_path / "no" / "s"], "no folder"),
        (["export", folder / "tree.model", "--out", tmp_path / "no" / "s"], "no folder"),
        (["report", folder / "tree.model", train, *target, "--out", tmp_path], "this is a folder"),
        (["report", folder / "tree.model", "-", *target, "--new", "-"], "read once only"),
        (["report", folder / "tree.model", train, "--target", "age"], "that the model ranks by"),
        (["report", folder / "tree.model", train, *target, "--positive", "no"], "Leave --positive"),
        (["report", train, train, *target], "train.csv: Got something else than JSON or a zip"),
        (["compare", train, *target, "--cv", "900"], "expected at least one per fold"),
        (["rules", folder / "forest.model"], "no text that a person could read"),
        (["export", folder / "forest.model"], "Got no --column; expected the columns to return"),
    ]:
        result = run(*arguments)
        assert result.exit_code == 2, (arguments, result.output)
        lines = [line for line in result.stderr.splitlines() if "note:" not in line]
        assert len(lines) == 1, lines
        assert message in lines[0], lines
        assert lines[0].startswith("treerank: ")


def test_a_damaged_packing_is_named(folder, tmp_path):
    whole = (folder / "train.csv.gz").read_bytes()
    for name, raw in (("cut.csv.gz", whole[:-500]), ("not.csv.gz", b"id,income\n1,2\n")):
        path = tmp_path / name
        path.write_bytes(raw)
        for arguments in (
            ["fit", path, "--target", "default", "--save", tmp_path / "model"],
            ["score", folder / "tree.model", path, "--out", tmp_path / "out.csv"],
            ["compare", path, "--target", "default"],
        ):
            assert_one_line(run(*arguments), path, "it cannot be decompressed")
    assert {p.name for p in tmp_path.iterdir()} == {"cut.csv.gz", "not.csv.gz"}


def test_latin_1_and_other_words_for_missing_can_be_named(tmp_path):
    path = tmp_path / "train.csv"
    rows = "".join(
        f"{i % 5 or 'n. v.'};{'größe' if i % 2 else 'länge'};{i % 2}\n" for i in range(60)
    )
    path.write_bytes(("a;b;y\n" + rows).encode("latin-1"))
    result = run(
        "fit", path, "--target", "y", "--delimiter", ";", "--encoding", "latin-1",
        "--missing", "n. v.", "--save", tmp_path / "model",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    binning = treerank.load(tmp_path / "model")._binning
    assert binning.levels == [None, ["größe", "länge"]]
    assert binning.has_missing[0]
