"""The commands rules, export, demo and compare, and the package as a module."""

import subprocess
import sys

import pytest
from command_line import in_python, run

import treerank


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


def test_models_are_compared_on_the_same_folds(folder):
    result = run("compare", folder / "train.csv", "--target", "default", "--drop", "w",
                 "--drop", "id", "--cv", 2)  # fmt: skip
    assert result.exit_code == 0, result.output
    for name in ("tree", "small tree", "forest", "boosting"):
        assert name in result.output
