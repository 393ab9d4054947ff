"""`treerank export`: a model as SQL, ONNX or text."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import treerank
from treerank._io.atomic import atomic_write
from treerank.cli._errors import BadInput, one_line_errors
from treerank.cli._models import unwrap
from treerank.cli._outputs import check_outputs
from treerank.cli.rules import as_text


class Target(StrEnum):
    """Formats to export to."""

    sql = "sql"
    onnx = "onnx"
    text = "text"


class SqlDialect(StrEnum):
    """Databases."""

    postgresql = "postgresql"
    duckdb = "duckdb"
    sqlite = "sqlite"


def export(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    to: Annotated[Target, typer.Option(help="What to write.")] = Target.sql,
    out: Annotated[str, typer.Option("--out", "-o", help="File to write; - for stdout.")] = "-",
    table: Annotated[str, typer.Option(help="Table in the database.")] = "data",
    dialect: Annotated[SqlDialect, typer.Option(help="Database.")] = SqlDialect.postgresql,
    column: Annotated[
        list[str] | None, typer.Option(help="Column to return with the score; repeatable.")
    ] = None,
) -> None:
    """Write a model as SQL, as an ONNX graph or as text."""
    from treerank.export import to_onnx, to_sql  # noqa: PLC0415

    with one_line_errors():
        check_outputs({"--out": out}, [model], stdout=True)
        loaded = treerank.load(model)
        try:
            if to is Target.onnx:
                if out == "-" and sys.stdout.isatty():
                    raise BadInput("Got --to onnx without --out; an ONNX graph is binary.")
                written = to_onnx(unwrap(loaded)[0]).SerializeToString()
            elif to is Target.text:
                written = (as_text(loaded, model) + "\n").encode()
            else:
                query = to_sql(loaded, table, dialect.value, columns=column)
                written = (query + ";\n").encode()
        except (ValueError, TypeError) as error:
            raise BadInput(f"{model}: {error}") from None
        if out == "-":
            sys.stdout.buffer.write(written)
            return
        with atomic_write(out) as temporary:
            temporary.write_bytes(written)
