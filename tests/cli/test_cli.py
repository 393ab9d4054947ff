"""The command line: what it prints and writes, and one line for whatever is wrong."""

import gzip
import io
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from saved_models import loans, new_rows, numbers

import treerank
from treerank import RankingForest, TreeRank, baselines
from treerank.inspection import reasons

pytest.importorskip("typer", reason="typer is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")
from typer.testing import CliRunner

from treerank.cli import app

runner = CliRunner()


def run(*arguments, given=None):
    return runner.invoke(app, [str(a) for a in arguments], input=given, catch_exceptions=False)


def read_csv(path, delimiter=","):
    """Read numbers to the bit."""
    from pyarrow import csv

    options = csv.ParseOptions(delimiter=delimiter)
    return csv.read_csv(path, parse_options=options).to_pandas()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Training and new rows in every format, and a tree and a forest fitted to them."""
    folder = tmp_path_factory.mktemp("cli")
    X, y = loans(600)
    train = X.assign(default=np.where(y == 1, "yes", "no"), w=1 + np.arange(600) % 3)
    train.insert(0, "id", [f"c{i}" for i in range(600)])
    train["member"] = train["member"].map({True: "true", False: "false"})
    new = new_rows(300)
    new["member"] = new["member"].map({True: "true", False: "false"})
    new.insert(0, "id", [f"n{i}" for i in range(300)])
    for name, table in (("train", train), ("new", new)):
        table.to_csv(folder / f"{name}.csv", index=False)
        table.to_csv(folder / f"{name}.tsv", index=False, sep="\t")
        table.to_csv(folder / f"{name}.csv.gz", index=False)
        table.to_parquet(folder / f"{name}.parquet")
    common = ["--target", "default", "--id", "id", "--drop", "w"]
    for kind, extra in (("tree", []), ("forest", ["--trees", "5"])):
        path = folder / f"{kind}.model"
        result = run("fit", folder / "train.csv", *common, "--model", kind, "--save", path, *extra)
        assert result.exit_code == 0, result.output
    return folder


def in_python(folder, name, table="new"):
    model = treerank.load(folder / f"{name}.model")
    rows = pd.read_csv(folder / f"{table}.csv", dtype={"member": str})
    return model, rows, model.score_samples(rows[model.feature_names_in_])


# --- fit ---


def test_fit_says_types_classes_strata_and_held_out_auc(folder):
    result = run("fit", folder / "train.csv", "--target", "default", "--id", "id", "--drop", "w")
    assert result.exit_code == 0
    out = result.output
    assert "income" in out
    assert "number" in out
    assert "category" in out
    assert "ranked no < yes" in out
    assert "AUC on held-out rows: 0." in out
    assert "stratum" in out


@pytest.mark.parametrize("name", ["train.tsv", "train.csv.gz", "train.parquet"])
def test_every_format_gives_the_same_model(folder, tmp_path, name):
    path = tmp_path / "model"
    arguments = ["--target", "default", "--id", "id", "--drop", "w", "--save", path, "--cv", "0"]
    assert run("fit", folder / name, *arguments).exit_code == 0
    fitted, expected = json.loads(path.read_text()), json.loads((folder / "tree.model").read_text())
    assert fitted["fitted"] == expected["fitted"]


def test_fit_reads_the_standard_input_packed_or_not(folder, tmp_path):
    for name in ("train.csv", "train.csv.gz"):
        path = tmp_path / "model"
        result = run(
            "fit", "-", "--target", "default", "--id", "id", "--drop", "w", "--save", path,
            given=(folder / name).read_bytes(),
        )  # fmt: skip
        assert result.exit_code == 0, result.output
        expected = json.loads((folder / "tree.model").read_text())
        assert json.loads(path.read_text())["fitted"] == expected["fitted"]


@pytest.fixture(scope="module")
def parts(folder):
    """The training rows in three Parquet files."""
    parts = folder / "parts"
    parts.mkdir()
    train = pd.read_parquet(folder / "train.parquet")
    for k, (i, j) in enumerate([(0, 100), (100, 450), (450, 600)]):
        train[i:j].to_parquet(parts / f"{k}.parquet")
    return parts


LARGE = ["--target", "default", "--id", "id", "--drop", "w"]


def test_several_parquet_files_give_the_model_of_one(folder, parts, tmp_path):
    expected = json.loads((folder / "tree.model").read_text())["fitted"]
    ways = [[parts], [parts / "*.parquet"], [parts / f"{k}.parquet" for k in range(3)]]
    for way in ways:
        path = tmp_path / "model"
        result = run("fit", *way, *LARGE, "--save", path, "--cache-dir", tmp_path / "codes")
        assert result.exit_code == 0, result.output
        assert json.loads(path.read_text())["fitted"] == expected
        assert "600 rows of 3 files; ranked no < yes" in result.output
        assert "AUC on held-out rows: 0." in result.output
    assert (tmp_path / "codes" / "codes.npy").is_file()


def test_a_cluster_gives_the_model_of_memory(folder, parts, tmp_path):
    from clusters import forked_workers

    expected = json.loads((folder / "tree.model").read_text())["fitted"]
    path = tmp_path / "model"
    log = tmp_path / "growth.npz"
    with forked_workers():
        result = run("fit", parts, *LARGE, "--save", path, "--dask", "local", "--checkpoint", log)
    assert result.exit_code == 0, result.output
    assert json.loads(path.read_text())["fitted"] == expected
    assert not log.exists()


def test_boosting_on_a_cluster_gives_the_model_of_files(parts, tmp_path):
    from clusters import forked_workers

    fit = ["fit", parts, *LARGE, "--model", "boosting", "--trees", "2", "--save"]
    with forked_workers():
        result = run(*fit, tmp_path / "cluster", "--dask", "local")
    assert result.exit_code == 0, result.output
    assert run(*fit, tmp_path / "here").exit_code == 0
    cluster, here = (treerank.load(tmp_path / name) for name in ("cluster", "here"))
    rows = pd.read_parquet(parts)[list(here.feature_names_in_)]
    assert np.array_equal(cluster.score_samples(rows), here.score_samples(rows))


def test_what_is_wrong_with_a_cluster_is_said_in_a_line(parts, monkeypatch):
    monkeypatch.setattr("treerank.cli._cluster.SECONDS_TO_CONNECT", 0.2)
    cases = [
        (["--dask", "tcp://127.0.0.1:1"], "no scheduler answers there"),
        (["--checkpoint", "growth.npz"], "--checkpoint without --dask"),
        (["--dask", "local", "--cache-dir", "kept"], "--cache-dir with --dask"),
    ]
    for options, said in cases:
        result = run("fit", parts, *LARGE, *options)
        assert result.exit_code == 2
        assert said in result.output.replace("\n", " ")


def test_several_files_obey_positive_order_weight_and_type(parts, tmp_path):
    path = tmp_path / "model"
    arguments = ["fit", parts, "--target", "default", "--drop", "id", "--save", path]
    result = run(*arguments, "--weight", "w", "--type", "age=category", "--positive", "no")
    assert result.exit_code == 0, result.output
    model = treerank.load(path)
    assert model.classes_.tolist() == ["yes", "no"]
    assert "age" in model.categorical_features
    result = run(*arguments, "--model", "forest", "--trees", "5", "--order", "yes, no")
    assert result.exit_code == 0, result.output
    assert "AUC on rows a tree has not seen" in result.output
    assert treerank.load(path).classes_.tolist() == ["yes", "no"]


def test_what_is_wrong_with_several_files_is_said_in_a_line(folder, parts, tmp_path):
    cases = [
        ([tmp_path / "*.parquet", *LARGE], "which no file matches"),
        ([folder / "train.csv", folder / "new.csv", *LARGE], "not a Parquet file"),
        ([parts, "--target", "nope"], "without the column 'nope'"),
        ([parts, *LARGE, "--positive", "perhaps"], "--positive names 'perhaps'"),
        ([parts, *LARGE, "--order", "no, maybe"], "--order names 'maybe'"),
        ([parts, *LARGE, "--type", "member=number"], "--type member=number"),
        ([parts, "--target", "member", "--positive", "true", "--report", "r.html"], "--report"),
    ]
    for arguments, expected in cases:
        result = run("fit", *arguments)
        assert result.exit_code == 2
        assert expected in result.stderr
        assert result.stderr.count("\n") == 1


def test_types_weights_positive_and_seed_are_obeyed(folder, tmp_path):
    path = tmp_path / "model"
    result = run(
        "fit", folder / "train.csv", "--target", "default", "--positive", "no", "--weight", "w",
        "--type", "age=category", "--drop", "id", "--seed", "7", "--save", path, "--small",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    model = treerank.load(path)
    assert model.classes_.tolist() == ["yes", "no"]
    assert model.categorical_features == ["age", "home", "member"]
    assert model.random_state == 7
    assert model.one_standard_error
    assert model.partition_.counts.sum() == 1200
    assert model.partition_.counts[:, 1].sum() > model.partition_.counts[:, 0].sum() / 3


def test_a_forest_is_judged_out_of_bag(folder, tmp_path):
    result = run(
        "fit", folder / "train.csv", "--target", "default", "--drop", "id", "--drop", "w",
        "--model", "forest", "--trees", "30", "--save", tmp_path / "model", "--threads", "2",
    )  # fmt: skip
    assert "AUC on rows a tree has not seen: 0." in result.output
    assert isinstance(treerank.load(tmp_path / "model"), RankingForest)


def test_boosted_trees_are_fitted_judged_and_saved(folder, tmp_path):
    result = run(
        "fit", folder / "train.csv", "--target", "default", "--drop", "id", "--drop", "w",
        "--model", "boosting", "--trees", "5", "--cv", "2", "--save", tmp_path / "model",
    )  # fmt: skip
    assert "AUC on held-out rows: 0." in result.output
    assert treerank.load(tmp_path / "model").n_estimators_ == 5


def test_boosting_has_as_many_trees_as_it_needs_and_learns_from_several_files(parts, tmp_path):
    result = run("fit", parts, *LARGE, "--model", "boosting", "--save", tmp_path / "model")
    assert result.exit_code == 0, result.output
    model = treerank.load(tmp_path / "model")
    assert model.n_estimators == "auto"
    plan = model.plan_
    assert model.n_estimators_ == plan.n_trees[plan.max_depth, plan.leafrank_depth]


# --- score ---


@pytest.mark.parametrize("model", ["tree", "forest"])
@pytest.mark.parametrize("name", ["new.csv", "new.tsv", "new.csv.gz", "new.parquet"])
def test_scores_are_those_of_python(folder, tmp_path, model, name):
    out = tmp_path / "scores.csv"
    result = run("score", folder / f"{model}.model", folder / name, "--out", out, "--id", "id",
                 "--probability")  # fmt: skip
    assert result.exit_code == 0, result.output
    loaded, rows, expected = in_python(folder, model)
    table = read_csv(out)
    assert table["id"].tolist() == rows["id"].tolist()
    np.testing.assert_array_equal(table["score"], expected)
    shares = loaded.predict_proba(rows[loaded.feature_names_in_])
    np.testing.assert_array_equal(table["probability_yes"], shares[:, 1])
    assert ("stratum" in table) == (model == "tree")
    assert [p.name for p in tmp_path.iterdir()] == ["scores.csv"]


def test_scores_go_to_every_format_and_to_the_standard_output(folder, tmp_path):
    _, _, expected = in_python(folder, "tree")
    readers = {
        "s.parquet": pd.read_parquet,
        "s.csv.gz": read_csv,
        "s.tsv": lambda p: read_csv(p, "\t"),
    }
    for name, read in readers.items():
        assert run("score", folder / "tree.model", folder / "new.csv", "--out", tmp_path / name)
        np.testing.assert_array_equal(read(tmp_path / name)["score"], expected)
    assert gzip.decompress((tmp_path / "s.csv.gz").read_bytes()).startswith(b'"score"')
    result = run("score", folder / "tree.model", "-", given=(folder / "new.csv").read_bytes())
    table = read_csv(io.BytesIO(result.stdout.encode()))
    np.testing.assert_array_equal(table["score"], expected)


@pytest.mark.parametrize("model", ["tree", "forest"])
@pytest.mark.parametrize("name", ["new.csv", "new.parquet"])
def test_reasons_are_those_of_python(folder, tmp_path, model, name):
    out, codes = tmp_path / "scores.parquet", tmp_path / "codes.csv"
    loaded, rows, _ = in_python(folder, model)
    rows = rows[loaded.feature_names_in_]
    feature = str(loaded.feature_names_in_[int(np.argmax(loaded.feature_importances_))])
    codes.write_text(f"feature,code,text\n{feature},R1,\n")
    result = run("score", folder / f"{model}.model", folder / name, "--out", out, "--reasons", "2",
                 "--baseline", folder / "train.csv", "--direction", "up", "--codes", codes,
                 "--id", "id")  # fmt: skip
    assert result.exit_code == 0, result.output
    baseline = in_python(folder, model, "train")[1][loaded.feature_names_in_]
    expected = reasons(loaded, rows, 2, baseline=baseline, direction="up", codes={feature: "R1"})
    table = pd.read_parquet(out)
    for k in range(2):
        listed = [row[k] if k < len(row) else None for row in expected]
        texts = ["" if r is None else r.text for r in listed]
        assert table[f"reason_{k + 1}"].fillna("").tolist() == texts
        said = table[f"reason_code_{k + 1}"]
        assert said.notna().tolist() == [r is not None and r.feature == feature for r in listed]


def test_reasons_without_a_baseline_say_values_alone(folder, tmp_path):
    out = tmp_path / "scores.csv"
    result = run("score", folder / "forest.model", folder / "new.csv", "--out", out,
                 "--reasons", "1")  # fmt: skip
    assert result.exit_code == 0, result.output
    table = read_csv(out)
    assert table["reason_1"].str.len().gt(0).any()
    assert "reason_2" not in table
    assert "reason_code_1" not in table


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--reference", "best"], "without a baseline"),
        (["--direction", "left"], "Got --direction 'left'"),
        (["--codes", "FOLDER/new.csv"], "there is no column 'feature'"),
        (["--baseline", "FOLDER/nothing.csv"], "there is no such file"),
    ],
)
def test_wrong_reason_options_are_one_line(folder, tmp_path, options, message):
    options = [option.replace("FOLDER", str(folder)) for option in options]
    out = tmp_path / "scores.csv"
    result = run("score", folder / "tree.model", folder / "new.csv", "--out", out, "--reasons", "2",
                 *options)  # fmt: skip
    assert result.exit_code == 2
    assert message in result.output
    assert result.output.count("\n") == 1
    assert not out.exists()


def test_blocks_add_up_to_the_whole(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("treerank.cli._sources.BLOCK_BYTES", 2000)
    out = tmp_path / "scores.csv"
    assert run("score", folder / "tree.model", folder / "new.csv", "--out", out).exit_code == 0
    _, _, expected = in_python(folder, "tree")
    np.testing.assert_array_equal(read_csv(out)["score"], expected)


def test_models_made_in_python_score_files_by_position_or_with_booleans(tmp_path):
    X, y = numbers()
    pd.DataFrame(X).to_csv(tmp_path / "new.csv", index=False)
    named = pd.DataFrame(X).add_prefix("x")
    named.to_csv(tmp_path / "named.csv", index=False)
    frame, labels = loans()
    frame.to_csv(tmp_path / "loans.csv", index=False)
    cases = [
        (TreeRank().fit(X, y), X, "new.csv"),
        (baselines.RankBoost(n_estimators=5).fit(X, y), X, "new.csv"),
        (baselines.RankBoost(n_estimators=5).fit(named, y), named, "named.csv"),
        (TreeRank().fit(frame, labels), frame, "loans.csv"),
    ]
    for model, rows, name in cases:
        treerank.save(model, tmp_path / "model")
        result = run("score", tmp_path / "model", tmp_path / name, "--out", tmp_path / "out.csv")
        assert result.exit_code == 0, result.output
        assert "note" not in result.output
        found = read_csv(tmp_path / "out.csv")["score"]
        np.testing.assert_array_equal(found, model.score_samples(rows))


# --- rules, export, demo ---


def test_rules_are_printed(folder):
    result = run("rules", folder / "tree.model")
    model = treerank.load(folder / "tree.model")
    assert all(rule in result.output for rule in model.partition_.rules())


def test_export_writes_sql_onnx_and_text(folder, tmp_path):
    import sqlite3

    query = run("export", folder / "tree.model", "--table", "t", "--dialect", "sqlite",
                "--column", "id").output  # fmt: skip
    connection = sqlite3.connect(":memory:")
    _, rows, expected = in_python(folder, "tree")
    rows.to_sql("t", connection, index=False)
    found = dict(row[::2] for row in connection.execute(query.rstrip(";\n")))
    connection.close()
    assert [found[i] for i in rows["id"]] == expected.tolist()
    text = run("export", folder / "tree.model", "--to", "text")
    assert text.output == run("rules", folder / "tree.model").output
    pytest.importorskip("onnx")
    out = tmp_path / "model.onnx"
    assert run("export", folder / "forest.model", "--to", "onnx", "--out", out).exit_code == 0
    assert out.stat().st_size > 1000


def test_demo_writes_pictures_and_scores(tmp_path):
    result = run("demo", tmp_path)
    assert "AUC on the held-out cases" in result.output
    written = {p.name for p in tmp_path.iterdir()}
    assert written == {"roc.png", "tree.png", "scored.csv", "report.html"}


def test_the_package_runs_as_a_module():
    command = [sys.executable, "-m", "treerank", "--help"]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert all(name in done.stdout for name in ("fit", "score", "rules", "export", "demo"))


# --- bad input: one line, status 2, and nothing left behind ---

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
    "no rows": (HEADER, "there are column names but no rows"),
    "a short line": (HEADER + ROWS + "60,1\n", "line 62 has 2 values, the first line has 7 names"),
    "a missing label": (HEADER + ROWS + "60,1,20,owns,true,,1\n", "no label in 1 of 61 rows"),
    "a negative weight": (
        HEADER + ROWS + "60,1,20,owns,true,1,-1\n", "no weight of at least 0 in line 62"),
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


def assert_one_line(result, path, message):
    assert result.exit_code == 2, result.output
    lines = [line for line in result.stderr.splitlines() if "note:" not in line]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith(f"treerank: {path}: ")
    assert message in lines[0]


NEW = "id,income,age,home,member\n"
BAD_NEW = {
    "a missing column": ("id,income,age,home\n1,1,2,owns\n", "no column 'member', which the model"),
    "text among numbers": (
        NEW + "1,2.5,30,owns,true\n" * 40 + "1,lots,30,owns,true\n",
        "column 'income' has 'lots' in line 42; expected numbers, as in the data the model was "
        "fitted to. Correct it, or treat it as missing: --missing 'lots'",
    ),
    "infinity": (NEW + "1,inf,30,owns,true\n", "infinite number in line 2"),
    "empty": ("", "the file is empty"),
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


def test_a_report_is_written_of_the_training_rows_and_of_others(folder, tmp_path):
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    common = ["--target", "default", "--drop", "w", "--drop", "id"]
    page, other = tmp_path / "fit.html", tmp_path / "other.html"
    result = run("fit", folder / "train.csv", *common, "--cv", 2, "--report", page)
    assert result.exit_code == 0, result.output
    result = run("report", folder / "tree.model", folder / "train.csv", *common, "--out", other)
    assert result.exit_code == 0, result.output
    for path in (page, other):
        assert "</html>" in path.read_text()
    result = run("report", folder / "tree.model", folder / "train.csv", "--target", "missing")
    assert result.exit_code == 2
    assert "missing" in result.output


def judged(folder, *arguments):
    """Report of the tree on its training rows, whose other columns need not be named."""
    return run("report", folder / "tree.model", folder / "train.csv", "--target", "default",
               *arguments)  # fmt: skip


def test_a_report_compares_with_training_rows_and_later_ones(folder, tmp_path):
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    out = tmp_path / "report.html"
    result = judged(folder, "--train", folder / "train.parquet", "--new", folder / "new.csv.gz",
                    "--out", out, "--title", "Loans & <more>")  # fmt: skip
    assert result.exit_code == 0, result.output
    text = out.read_text()
    assert "From the training rows to the evaluation rows" in text
    assert "From the evaluation rows to the new rows" in text
    assert "Loans &amp; &lt;more&gt;" in text
    model, _, scores = in_python(folder, "tree")
    train = pd.read_csv(folder / "train.csv", dtype={"member": str})
    before = model.score_samples(train[model.feature_names_in_])
    moved = treerank.metrics.population_stability_index(before, scores)
    section = text.split("From the evaluation rows to the new rows")[1]
    assert f"{moved:.3f}" in section or f"{moved:.2f}" in section


def test_a_report_reads_columns_and_labels_as_the_model_knows_them(folder, tmp_path):
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    model, out = tmp_path / "model", tmp_path / "report.html"
    train = folder / "train.csv"
    fitted = ["--target", "default", "--positive", "no", "--type", "age=category", "--drop", "id"]
    result = run("fit", train, *fitted, "--drop", "w", "--cv", 0, "--save", model)
    assert result.exit_code == 0, result.output
    asked = ["--target", "default", "--out", out]
    result = run("report", model, train, *asked, "--positive", "no", "--weight", "w")
    assert result.exit_code == 0, result.output
    out.unlink()
    result = run("report", model, train, *asked)
    assert result.exit_code == 0, result.output
    result = run("report", model, train, *asked, "--positive", "yes")
    assert result.exit_code == 2
    assert "the model ranks the label no first" in result.stderr


BAD_JUDGED = {
    "missing target": ("id,income,age,home,member\n1,1,2,owns,true\n", "no column 'default'"),
    "constant target": (
        NEW[:-1] + ",default\n" + "1,2,30,owns,true,no\n" * 9,
        "column 'default' has no row of 'yes'"),
    "an unknown label": (
        NEW[:-1] + ",default\n1,2,30,owns,true,yes\n1,2,30,owns,true,maybe\n",
        "column 'default' has the label 'maybe' in line 3; expected one of no, yes"),
    "a missing label": (
        NEW[:-1] + ",default\n1,2,30,owns,true,yes\n1,2,30,owns,true,\n", "no label in 1 of 2"),
    "a missing column": ("id,income,age,home,default\n1,1,2,owns,no\n", "no column 'member'"),
    "text among numbers": (
        NEW[:-1] + ",default\n1,much,30,owns,true,yes\n", "column 'income' has 'much' in line 2"),
    "duplicated names": (NEW.replace("age", "home"), "'home' occurs twice"),
    "empty": ("", "the file is empty"),
    "no rows": (NEW[:-1] + ",default\n", "there are column names but no rows"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD_JUDGED)
@pytest.mark.parametrize("place", ["data", "--train", "--new"])
def test_bad_rows_to_report_on_are_named_in_one_line(folder, tmp_path, kind, place):
    if place == "--new" and ("label" in kind or "target" in kind):
        pytest.skip("new rows need no labels")
    content, message = BAD_JUDGED[kind]
    path, out = tmp_path / "rows.csv", tmp_path / "report.html"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    if place == "data":
        result = run("report", folder / "tree.model", path, "--target", "default", "--out", out)
    else:
        result = judged(folder, place, path, "--out", out)
    assert_one_line(result, path, message)
    assert [p.name for p in tmp_path.iterdir()] == ["rows.csv"]


def test_every_kind_of_saved_model_scores_a_file(tmp_path):
    frame, labels = loans()
    frame.to_csv(tmp_path / "loans.csv", index=False)
    models = [
        treerank.BoostedTreeRank(n_estimators=5).fit(frame, labels),
        treerank.GeometricRanker(TreeRank(max_depth=2)).fit(frame, labels),
        TreeRank(treerank.splitters.DyadicGrid(2)).fit(frame, labels),
    ]
    for model in models:
        treerank.save(model, tmp_path / "model")
        result = run("score", tmp_path / "model", tmp_path / "loans.csv", "--out",
                     tmp_path / "out.csv", "--probability")  # fmt: skip
        assert result.exit_code == 0, result.output
        table = read_csv(tmp_path / "out.csv")
        np.testing.assert_array_equal(table["score"], model.score_samples(frame))
        np.testing.assert_array_equal(table["probability_1"], model.predict_proba(frame)[:, 1])


def test_models_are_compared_on_the_same_folds(folder):
    result = run("compare", folder / "train.csv", "--target", "default", "--drop", "w",
                 "--drop", "id", "--cv", 2)  # fmt: skip
    assert result.exit_code == 0, result.output
    for name in ("tree", "small tree", "forest", "boosting"):
        assert name in result.output


def test_labels_are_ordered_as_told(folder, tmp_path):
    table = pd.read_csv(folder / "train.csv")
    table["grade"] = np.array(["c", "b", "a"])[
        (table["age"] > 35).astype(int) + (table["age"] > 60)
    ]
    table.drop(columns=["w", "id"]).to_csv(tmp_path / "graded.csv", index=False)
    model = tmp_path / "model"
    result = run("fit", tmp_path / "graded.csv", "--target", "grade", "--order", "c,b,a",
                 "--model", "forest", "--trees", 5, "--save", model)  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "c < b < a" in result.output
    assert "VUS on rows a tree has not seen" in result.output
    assert treerank.load(model).classes_.tolist() == ["c", "b", "a"]
    result = run("fit", tmp_path / "graded.csv", "--target", "grade", "--order", "c,b,x")
    assert result.exit_code == 2
    assert "'x'" in result.output


def test_brackets_and_colons_in_names_are_printed_as_they_are(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    grade = np.where(x + rng.normal(size=200) > 0, "[i]neg", "[/b]pos\\")
    kind = rng.choice(["[red]a", ":smile:"], 200)
    rows = pd.DataFrame({"[b]x": x, ":x:": x**2, "kind": kind, "grade": grade})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    out = run("fit", tmp_path / "rows.csv", "--target", "grade")
    assert out.exit_code == 0, out.output
    said = " ".join(out.output.split())
    for name in ("[b]x", ":x:", "[/b]pos\\ < [i]neg", "share of [i]neg"):
        assert name in said
    rows.to_parquet(tmp_path / "rows.parquet")
    rows.to_parquet(tmp_path / "more.parquet")
    paths = [tmp_path / "rows.parquet", tmp_path / "more.parquet"]
    out = run("fit", *paths, "--target", "grade", "--order", "[/b]pos\\,[i]neg")
    assert out.exit_code == 0, out.output
    said = " ".join(out.output.split())
    for name in ("[b]x", ":x:", "[/b]pos\\ < [i]neg", "share of [i]neg"):
        assert name in said


def test_of_many_strata_the_best_and_the_worst_are_printed(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3_000, 3))
    y = (x[:, 0] + x[:, 1] + 0.5 * rng.normal(size=3_000) > 0).astype(int)
    pd.DataFrame(x, columns=list("abc")).assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    result = run("fit", tmp_path / "rows.csv", "--target", "y", "--save", tmp_path / "m.json")
    n = len(treerank.load(tmp_path / "m.json").partition_)
    assert n > 20
    assert f"{n - 20} strata in the middle are not shown" in result.output
    table = result.output.split("\nstratum ")[1].split(" strata in the middle")[0]
    shown = [line.split()[0] for line in table.split("\n")[:-1] if line[:2].strip().isdigit()]
    assert shown == [str(k) for k in (*range(15), *range(n - 5, n))]
