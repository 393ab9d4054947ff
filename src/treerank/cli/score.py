"""`treerank score`: score the rows of a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

import treerank
from treerank.cli._errors import BadInput, check_out, one_line_errors
from treerank.cli._models import unwrap
from treerank.cli._options import DateOrder, Decimal, Delimiter, Encoding, Missing, Threads
from treerank.cli._reasons import reason_columns
from treerank.cli._scoring import score_file
from treerank.cli._sources import Source


def score(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    data: Annotated[str, typer.Argument(help="CSV, TSV or Parquet, .gz too; - for stdin.")],
    out: Annotated[
        str, typer.Option("--out", "-o", help="CSV, TSV or Parquet; - for stdout.")
    ] = "-",
    id: Annotated[list[str] | None, typer.Option(help="Column to copy; repeatable.")] = None,
    probability: Annotated[bool, typer.Option(help="Write the class probabilities too.")] = False,
    reasons: Annotated[
        int, typer.Option(min=0, help="Number of reasons to write for each score.")
    ] = 0,
    baseline: Annotated[
        str | None, typer.Option(help="Rows that reasons compare with, such as the training rows.")
    ] = None,
    reference: Annotated[
        str, typer.Option(help="Which of these rows: population, approved or best.")
    ] = "population",
    cutoff: Annotated[float, typer.Option(help="Score from which rows count as approved.")] = 0.0,
    direction: Annotated[
        str, typer.Option(help="Which direction is worse: down, or up if a high score is bad.")
    ] = "down",
    codes: Annotated[
        str | None, typer.Option(help="Table of reason codes: feature, code and text.")
    ] = None,
    threads: Threads = 2,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    missing: Missing = None,
    decimal: Decimal = ".",
    date_order: DateOrder = None,
) -> None:
    """Score the rows of a table, which may be larger than memory."""
    with one_line_errors():
        check_out(out, stdout=True)
        loaded = treerank.load(model)
        ranker, _ = unwrap(loaded)
        if hasattr(ranker, "n_jobs"):
            ranker.set_params(n_jobs=threads)
        if probability and not hasattr(loaded, "predict_proba"):
            raise BadInput(f"{model}: a {loaded.__class__.__name__} has no probabilities.")
        if [data, baseline, codes].count("-") > 1:
            raise BadInput("Got - twice; the standard input can be read once only.")
        source, compared, table = (
            None
            if path is None
            else Source(path, delimiter, encoding, missing or (), decimal, date_order)
            for path in (data, baseline, codes)
        )
        assert source is not None
        more = None
        if reasons:
            more = reason_columns(
                ranker, reasons, compared, id or (), table,
                reference=reference, cutoff=cutoff, direction=direction,
            ).columns  # fmt: skip
        n_rows = score_file(loaded, source, out, id or (), probability, more)
        if out != "-":
            print(f"Scored {n_rows:,} rows to {out}.", file=sys.stderr)
