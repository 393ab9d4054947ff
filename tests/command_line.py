"""Run the commands in this process, and read their output."""

import pandas as pd
import pytest

import treerank

pytest.importorskip("typer", reason="typer is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")
from typer.testing import CliRunner

from treerank.cli import app

runner = CliRunner()


def run(*arguments, given=None):
    return runner.invoke(app, [str(a) for a in arguments], input=given, catch_exceptions=False)


def in_python(folder, name, table="new"):
    model = treerank.load(folder / f"{name}.model")
    rows = pd.read_csv(folder / f"{table}.csv", dtype={"member": str})
    return model, rows, model.score_samples(rows[model.feature_names_in_])


def assert_one_line(result, path, message):
    assert result.exit_code == 2, result.output
    lines = [line for line in result.stderr.splitlines() if "note:" not in line]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith(f"treerank: {path}: ")
    assert message in lines[0]


NEW = "id,income,age,home,member\n"
