"""Commands whose options are the fields of dataclasses."""

import inspect
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from treerank.cli._command import command
from treerank.cli._table_options import TableFormat
from treerank.cli.app import SUMMARIES


@dataclass(frozen=True, kw_only=True)
class Shared:
    colour: Annotated[str, typer.Option(help="Of the paint.")] = "red"


@dataclass(frozen=True, kw_only=True)
class Paint:
    wall: Annotated[str, typer.Argument(help="What to paint.")]
    coats: Annotated[int, typer.Option("--coats", "-n")] = 1
    shared: Shared = Shared()
    dry: bool = False


def test_fields_are_options_and_a_dataclass_among_them_a_group():
    seen = []

    @command
    def paint(options: Paint) -> None:
        """Paint a wall."""
        seen.append(options)

    assert list(inspect.signature(paint).parameters) == ["wall", "coats", "colour", "dry"]
    app = typer.Typer()
    app.command()(paint)
    assert CliRunner().invoke(app, ["north", "-n", "2", "--colour", "blue"]).exit_code == 0
    assert CliRunner().invoke(app, ["south", "--dry"]).exit_code == 0
    assert seen == [
        Paint(wall="north", coats=2, shared=Shared(colour="blue")),
        Paint(wall="south", dry=True),
    ]
    assert CliRunner().invoke(app, []).exit_code == 2  # no wall
    assert "Paint a wall." in CliRunner().invoke(app, ["--help"]).output


@pytest.mark.parametrize("name", sorted(set(SUMMARIES) - {"demo", "export", "rules"}))
def test_every_command_that_reads_a_table_takes_its_format(name):
    taken = inspect.signature(getattr(import_module(f"treerank.cli.{name}"), name)).parameters
    assert set(inspect.signature(TableFormat).parameters) <= set(taken)
