"""`treerank score`: score the rows of a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

import treerank
from treerank.cli._errors import BadInput, check_out, one_line_errors
from treerank.cli._options import Delimiter, Encoding, Missing, Threads
from treerank.cli._scoring import score_file
from treerank.cli._sources import Source


def score(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    data: Annotated[str, typer.Argument(help="CSV, TSV or Parquet, .gz too; - for stdin.")],
    out: Annotated[str, typer.Option(help="CSV, TSV or Parquet; - for stdout.")] = "-",
    id: Annotated[list[str] | None, typer.Option(help="Column to copy; repeatable.")] = None,
    probability: Annotated[bool, typer.Option(help="Write the class probabilities too.")] = False,
    threads: Threads = 2,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf8",
    missing: Missing = None,
) -> None:
    """Score the rows of a table, block by block: it may be larger than the memory."""
    with one_line_errors():
        check_out(out, stdout=True)
        loaded = treerank.load(model)
        if hasattr(loaded, "n_jobs"):
            loaded.set_params(n_jobs=threads)
        if probability and not hasattr(loaded, "predict_proba"):
            raise BadInput(f"{model}: a {loaded.__class__.__name__} gives no probabilities.")
        source = Source(data, delimiter, encoding, missing or ())
        n_rows = score_file(loaded, source, out, id or (), probability)
        if out != "-":
            print(f"Scored {n_rows:,} rows to {out}.", file=sys.stderr)
