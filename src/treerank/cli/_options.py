"""Options that several commands take."""

from __future__ import annotations

from typing import Annotated

import typer

Delimiter = Annotated[str | None, typer.Option(help="Column separator; 'tab' for a tab.")]
Encoding = Annotated[str, typer.Option(help="Encoding of the text.")]
Missing = Annotated[
    list[str] | None, typer.Option(help="A text that stands for a missing value; repeatable.")
]
Threads = Annotated[int, typer.Option(help="Threads; -1 for all cores.")]
Group = Annotated[str | None, typer.Option(help="Column with groups of the rows, to be compared.")]
