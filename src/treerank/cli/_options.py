"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from treerank.cli._errors import BadInput

ModelFile = Annotated[Path, typer.Argument(help="A model file.")]
AnyTable = Annotated[str, typer.Argument(help="CSV, TSV or Parquet, .gz too; - for stdin.")]
LabelledRows = Annotated[str, typer.Argument(help="New rows with their labels.")]
Target = Annotated[str, typer.Option(help="Column with the labels.")]
RankedFirst = Annotated[str | None, typer.Option(help="Label that was ranked first.")]
Weight = Annotated[str | None, typer.Option(help="Column with the weights of rows.")]
Drop = Annotated[list[str] | None, typer.Option(help="Column to leave out.")]
Types = Annotated[
    list[str] | None, typer.Option(help="COLUMN=category, =number or =date; repeatable.")
]
Dates = Annotated[
    list[str] | None,
    typer.Option(
        "--date",
        help="COLUMN=PARTS: numbers to compute from dates, such as when=days,month,weekday; "
        "repeatable. By default days since 1970-01-01.",
    ),
]
Focus = Annotated[
    str | None,
    typer.Option(
        help="The top of the list to optimise: a share of the rows, such as 0.1, or a range of "
        "false positive rates, such as 0,0.05."
    ),
]
Threads = Annotated[int, typer.Option(help="Threads; -1 for all cores.")]
Group = Annotated[str | None, typer.Option(help="Column with groups of rows to compare.")]
Level = Annotated[float, typer.Option(help="Confidence level.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for other programs.")]
OnlyJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def check_one_stdin(paths: Sequence[str | None]) -> None:
    """Raise if more than one table is to be read from the standard input."""
    if paths.count("-") > 1:
        raise BadInput("Got - twice; the standard input can be read once only.")


def parse_focus(text: str | None) -> float | tuple[float, ...] | None:
    """Convert the focus to a parameter of the models."""
    if text is None:
        return None
    from treerank._input.focus import check_focus  # noqa: PLC0415 (slow; not for the help)

    try:
        rates = [float(part) for part in text.split(",")]
        focus: Any = rates[0] if len(rates) == 1 else tuple(rates)
        check_focus(focus, n_classes=2)
    except ValueError:
        raise BadInput(
            f"Got --focus {text}; expected a share of the rows between 0 and 1, such as 0.1, or "
            "two false positive rates from 0 to 1, the lower one first, such as 0,0.05; leave out "
            "--focus for the whole list."
        ) from None
    return cast("float | tuple[float, ...]", focus)
