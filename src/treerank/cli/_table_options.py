"""Groups of options about tables, which several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from treerank.cli._options import RankedFirst, Weight
from treerank.cli._sources import Source
from treerank.cli._training import ColumnOptions


@dataclass(frozen=True, kw_only=True)
class TableFormat:
    """How the text of a table is read."""

    delimiter: Annotated[
        str | None, typer.Option(help="Column separator, 'tab' for a tab; detected by default.")
    ] = None
    encoding: Annotated[
        str | None, typer.Option(help="Encoding of the text; detected by default.")
    ] = None
    missing: Annotated[
        list[str] | None, typer.Option(help="Text that means a missing value; repeatable.")
    ] = None
    decimal: Annotated[str, typer.Option(help="Decimal mark: a point or a comma.")] = "."
    date_order: Annotated[
        str | None, typer.Option(help="Order of dates: ymd, dmy or mdy; detected by default.")
    ] = None

    def source(self, path: str) -> Source:
        """Return a table in this format."""
        return Source(
            path, self.delimiter, self.encoding, self.missing or (), self.decimal, self.date_order
        )


@dataclass(frozen=True, kw_only=True)
class LabelColumns:
    """Columns of rows that a fitted model is evaluated on, besides the target."""

    positive: RankedFirst = None
    weight: Weight = None
    drop: Annotated[
        list[str] | None,
        typer.Option(help="Column to leave out, if the model has no column names."),
    ] = None

    def with_target(self, target: str) -> ColumnOptions:
        """Return the options together with the target."""
        return ColumnOptions(target, self.positive, self.weight, (), self.drop or ())
