"""The command line: fit, score, read and export models without writing Python."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

# Summary of each command, in the order of the help. The module of the same name is imported when
# the command is called.
SUMMARIES = {
    "fit": "Fit a model to a table, show how well it ranks, and save it.",
    "grade": "Add grades, points and calibrated probabilities to a model, using new rows.",
    "score": "Score the rows of a table, which may be larger than memory.",
    "evaluate": "Show how well a model ranks new rows: AUC with its interval, calibration, gains.",
    "report": "Write a report of a model on new rows, as one HTML file that works offline.",
    "monitor": "Monitor a model in use for drift, decline and calibration; exit status 3 is an "
    "alarm.",
    "challenge": "Compare two models on new rows: paired AUCs, swap sets, net benefit.",
    "compare": "Compare a tree, a smaller tree, a forest and boosting on the same folds.",
    "rules": "Print the strata of a tree and their rules in words.",
    "export": "Write a model as SQL, as an ONNX graph or as text.",
    "demo": "Train on a real table; print AUC, strata and rules; draw pictures, write a report.",
}
SETTINGS = {"help_option_names": ["-h", "--help"]}


class LazyGroup(TyperGroup):
    """Commands whose modules are imported when they are called, not when they are listed."""

    def list_commands(self, ctx: Any) -> list[str]:
        """List the names of the commands."""
        return list(SUMMARIES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command that only has its help text."""
        if cmd_name not in SUMMARIES:
            return None
        return TyperCommand(cmd_name, help=SUMMARIES[cmd_name])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the command that is called."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, None if command is None else load_command(str(name)), rest


def load_command(name: str) -> Any:
    """Import a command and its options."""
    alone = typer.Typer(add_completion=False, context_settings=SETTINGS)
    function = getattr(import_module(f"treerank.cli.{name}"), name)
    alone.command(name)(function)
    return typer.main.get_command(alone)


app = typer.Typer(
    name="treerank",
    cls=LazyGroup,
    help="Ranking trees: order cases so that the positive ones come first.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=SETTINGS,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from treerank import __version__  # noqa: PLC0415

        print(f"treerank {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    app()
