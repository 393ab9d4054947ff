"""`treerank score`: score the rows of a table."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from treerank.cli._command import command
from treerank.cli._errors import BadInput, one_line_errors
from treerank.cli._models import load_model
from treerank.cli._options import AnyTable, ModelFile, Threads, check_one_stdin
from treerank.cli._outputs import check_outputs
from treerank.cli._reasons import reason_columns
from treerank.cli._scoring import output_format, score_file
from treerank.cli._table_options import TableFormat


@dataclass(frozen=True, kw_only=True)
class ScoreOptions:
    """Options of the command."""

    model: ModelFile
    data: AnyTable
    out: Annotated[str, typer.Option("--out", "-o", help="CSV, TSV or Parquet; - for stdout.")] = (
        "-"
    )
    id: Annotated[list[str] | None, typer.Option(help="Column to copy; repeatable.")] = None
    probability: Annotated[bool, typer.Option(help="Write the class probabilities too.")] = False
    reasons: Annotated[
        int, typer.Option(min=0, help="Number of reasons to write for each score.")
    ] = 0
    baseline: Annotated[
        str | None, typer.Option(help="Rows that reasons compare with, such as the training rows.")
    ] = None
    reference: Annotated[
        str, typer.Option(help="Which of these rows: population, approved or best.")
    ] = "population"
    cutoff: Annotated[
        float, typer.Option(help="Score that separates the approved from the rest.")
    ] = 0.0
    direction: Annotated[
        str, typer.Option(help="Which direction is worse: down, or up if a high score is bad.")
    ] = "down"
    codes: Annotated[
        str | None, typer.Option(help="Table of reason codes: feature, code and text.")
    ] = None
    threads: Threads = 2
    format: TableFormat


@command
def score(options: ScoreOptions) -> None:
    """Score the rows of a table, which may be larger than memory."""
    with one_line_errors():
        out, ids = options.out, options.id or ()
        tables = [options.data, options.baseline, options.codes]
        check_outputs({"--out": out}, [options.model, *tables], stdout=True)
        output_format(out)
        loaded, ranker = load_model(options.model, options.threads)
        if options.probability and not hasattr(loaded, "predict_proba"):
            raise BadInput(f"{options.model}: a {loaded.__class__.__name__} has no probabilities.")
        check_one_stdin(tables)
        source = options.format.source(options.data)
        compared, table = (
            None if path is None else options.format.source(path)
            for path in (options.baseline, options.codes)
        )
        more = None
        if options.reasons:
            more = reason_columns(
                ranker, options.reasons, compared, ids, table, reference=options.reference,
                cutoff=options.cutoff, direction=options.direction,
            ).columns  # fmt: skip
        n_rows = score_file(loaded, source, out, ids, options.probability, more)
        if out != "-":
            print(f"Scored {n_rows:,} rows to {out}.", file=sys.stderr)
