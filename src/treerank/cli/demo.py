"""`treerank demo`: a tree fitted to a real table, from start to end."""

from __future__ import annotations

from typing import Annotated

import typer

from treerank.cli._errors import one_line_errors


def demo(
    folder: Annotated[str, typer.Argument(help="Folder for pictures, report and scores.")] = "demo",
) -> None:
    """Train on a real table; print AUC, strata and rules; draw pictures, write a report."""
    from treerank._demo import main as run_demo  # noqa: PLC0415

    with one_line_errors():
        run_demo(folder)
