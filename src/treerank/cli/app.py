"""The command line: fit, score, read and export models without writing Python."""

from __future__ import annotations

import typer

from treerank.cli.challenge import challenge
from treerank.cli.compare import compare
from treerank.cli.demo import demo
from treerank.cli.evaluate import evaluate
from treerank.cli.export import export
from treerank.cli.fit import fit
from treerank.cli.grade import grade
from treerank.cli.monitor import monitor
from treerank.cli.report import report
from treerank.cli.rules import rules
from treerank.cli.score import score

app = typer.Typer(
    name="treerank",
    help="Ranking trees: order cases so that the positive ones come first.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (
    fit,
    grade,
    score,
    evaluate,
    report,
    monitor,
    challenge,
    compare,
    rules,
    export,
    demo,
):
    app.command()(command)


def main() -> None:
    """Run the command line."""
    app()
