"""Commands, options and public names are listed quickly."""

import inspect
import subprocess
import sys
from importlib import import_module

import pandas as pd
import pytest
from command_line import run
from text_tables import sample, write

import treerank
from treerank.cli.app import SUMMARIES


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
