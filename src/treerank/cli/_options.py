"""Options that several commands take."""

from __future__ import annotations

from typing import Annotated

import typer

from treerank.cli._errors import BadInput

Delimiter = Annotated[
    str | None, typer.Option(help="Column separator, 'tab' for a tab; detected by default.")
]
Encoding = Annotated[str | None, typer.Option(help="Encoding of the text; detected by default.")]
Decimal = Annotated[str, typer.Option(help="Decimal mark: a point or a comma.")]
DateOrder = Annotated[
    str | None, typer.Option(help="Order of dates: ymd, dmy or mdy; detected by default.")
]
Dates = Annotated[
    list[str] | None,
    typer.Option(
        "--date",
        help="COLUMN=PARTS: numbers to compute from dates, such as when=days,month,weekday; "
        "repeatable. By default days since 1970-01-01.",
    ),
]
Missing = Annotated[
    list[str] | None, typer.Option(help="Text that means a missing value; repeatable.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for other programs.")]
Focus = Annotated[
    str | None,
    typer.Option(
        help="The top of the list to optimise: a share of the rows, such as 0.1, or a range of "
        "false positive rates, such as 0,0.05."
    ),
]
Threads = Annotated[int, typer.Option(help="Threads; -1 for all cores.")]
Group = Annotated[str | None, typer.Option(help="Column with groups of rows to compare.")]


def parse_focus(text: str | None) -> float | tuple[float, ...] | None:
    """Return the focus as the models take it; what is no focus they refuse themselves."""
    if text is None:
        return None
    try:
        rates = [float(part) for part in text.split(",")]
    except ValueError:
        raise BadInput(
            f"Got --focus {text}; expected a share of the rows, such as 0.1, or two false "
            "positive rates, such as 0,0.05."
        ) from None
    return rates[0] if len(rates) == 1 else tuple(rates)
