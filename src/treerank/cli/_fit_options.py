"""Options of `treerank fit`, their consistency checks, and the model that they describe."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

import treerank
from treerank.cli._errors import BadInput
from treerank.cli._grading import GradeOptions, check_can_grade
from treerank.cli._options import Dates, Drop, Focus, Target, Threads, Types, Weight, parse_focus
from treerank.cli._out_of_core import OutOfCoreTraining, is_out_of_core
from treerank.cli._outputs import check_outputs
from treerank.cli._table_options import TableFormat
from treerank.cli._training import ColumnOptions, Training

DEFAULT_DEPTH = 10
DEFAULT_FOLDS = 5


class ModelKind(StrEnum):
    """What to fit."""

    tree = "tree"
    forest = "forest"
    boosting = "boosting"


@dataclass(frozen=True, kw_only=True)
class InputOptions:
    """Tables, their columns and labels."""

    train: Annotated[
        list[str],
        typer.Argument(
            help="CSV, TSV or Parquet, .gz too; - for stdin. Several Parquet files, a folder or "
            "a pattern may be larger than memory."
        ),
    ]
    target: Target
    save: Annotated[Path | None, typer.Option("--save", "-o", help="Where to save the model.")] = (
        None
    )
    report: Annotated[
        Path | None, typer.Option(help="Where to write a report on held-out rows (HTML).")
    ] = None
    test_share: Annotated[
        float | None,
        typer.Option(help="Share of the rows to hold back for testing, such as 0.3."),
    ] = None
    model: Annotated[ModelKind, typer.Option(help="One readable tree, or many trees.")] = (
        ModelKind.tree
    )
    positive: Annotated[
        str | None, typer.Option(help="Label to rank first; by default the largest.")
    ] = None
    order: Annotated[
        str | None, typer.Option(help="Labels from the worst to the best, separated by commas.")
    ] = None
    weight: Weight = None
    id: Annotated[
        list[str] | None,
        typer.Option(
            help="Column that identifies a row: left out of the model; finds rows in the report."
        ),
    ] = None
    drop: Drop = None
    type: Types = None
    date: Dates = None


@dataclass(frozen=True, kw_only=True)
class FitOptions(InputOptions):
    """All options of the command, in the order of its help."""

    trees: Annotated[
        int | None,
        typer.Option(
            help="Number of trees; by default 200 for a forest, and as many as needed for boosting."
        ),
    ] = None
    focus: Focus = None
    max_depth: Annotated[
        int | None,
        typer.Option(
            help=f"Maximum depth, for --model tree; by default {DEFAULT_DEPTH}.", show_default=False
        ),
    ] = None
    small: Annotated[
        bool, typer.Option(help="Fewer strata: the smallest tree within one standard error.")
    ] = False
    cv: Annotated[
        int | None,
        typer.Option(
            help=f"Number of folds for the held-out AUC, by default {DEFAULT_FOLDS}; 0 for none.",
            show_default=False,
        ),
    ] = None
    bootstrap: Annotated[
        int, typer.Option(help="Measure optimism and instability with this many bootstrap samples.")
    ] = 0
    grading: GradeOptions
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0
    threads: Threads = 1
    cache_dir: Annotated[
        Path | None,
        typer.Option(help="Folder in which binned rows of several files are kept for later fits."),
    ] = None
    dask: Annotated[
        str | None,
        typer.Option(
            help="Train on a Dask cluster: its address, or 'local' for workers on this machine."
        ),
    ] = None
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="With --dask: file from which an interrupted fit continues."),
    ] = None
    format: TableFormat

    @property
    def out_of_core(self) -> bool:
        """Whether the rows are read file by file, or on a cluster."""
        return is_out_of_core(self.train) or self.dask is not None

    @property
    def n_folds(self) -> int:
        """Number of folds for the held-out AUC of a model of one table."""
        return DEFAULT_FOLDS if self.cv is None else self.cv

    def columns(self) -> ColumnOptions:
        """Return the options about columns."""
        return ColumnOptions(
            self.target, self.positive, self.weight, self.id or (), self.drop or (),
            self.type or (), self.date or (),
        )  # fmt: skip

    def check(self) -> None:
        """Raise if options contradict each other, before anything is read."""
        written = {"--save": self.save, "--report": self.report, "--checkpoint": self.checkpoint}
        check_outputs(written, self.train, page="--report")
        parse_focus(self.focus)
        self._check_model()
        self.grading.check()
        if self.bootstrap < 0 or self.bootstrap == 1:
            raise BadInput(
                f"Got --bootstrap {self.bootstrap}; expected 2 samples or more, such as 200, or 0 "
                "for none."
            )
        if self.out_of_core:
            self._check_out_of_core()
        if self.checkpoint is not None and self.dask is None:
            raise BadInput(
                "Got --checkpoint without --dask; a fit on one machine has no checkpoint."
            )
        if self.out_of_core or self._has_held_out_rows:
            return
        check_can_grade(self.grading, None)
        if self.report is not None:
            raise BadInput(
                f"Got --report with --cv {self.n_folds}; a report needs held-out rows: expected "
                "--cv 2 or more, or rows held back by --test-share."
            )

    def _check_model(self) -> None:
        """Raise for options that the model would ignore."""
        if self.n_folds < 0 or self.n_folds == 1:
            raise BadInput(f"Got --cv {self.n_folds}; expected 2 folds or more, or 0 for none.")
        if self.model is ModelKind.tree:
            if self.trees is not None:
                raise BadInput(
                    "Got --trees with one tree; expected it with --model forest or --model "
                    "boosting."
                )
            return
        of_a_tree = {"--max-depth": self.max_depth is not None, "--small": self.small}
        given = [option for option, is_given in of_a_tree.items() if is_given]
        if given:
            raise BadInput(
                f"Got {given[0]} with --model {self.model.value}; expected it with --model tree: "
                "leave it out, since the other models choose the size of their trees."
            )

    @property
    def _has_held_out_rows(self) -> bool:
        return self.n_folds >= 2 or self.test_share is not None or self.model is ModelKind.forest

    def _check_out_of_core(self) -> None:
        """Raise for options that several files or a cluster do not support."""
        where = "with several files or --dask; expected"
        if self.test_share is not None:
            raise BadInput(
                f"Got --test-share {where} it with one table: leave a file out of the fit, and use "
                "it with `treerank evaluate`."
            )
        if self.cv is not None:
            raise BadInput(
                f"Got --cv {where} it with one table: leave it out, since the held-out AUC is that "
                "of the folds that prune the tree, or of the rows that a forest's trees left out."
            )
        if self.cache_dir is not None and self.dask is not None:
            raise BadInput("Got --cache-dir with --dask; on a cluster the workers keep the codes.")
        if self.report is not None:
            raise BadInput(
                "Got --report with several files; expected it with one table that fits into "
                "memory: save the model, then `treerank report` on some of the rows."
            )
        if self.bootstrap:
            raise BadInput(f"Got --bootstrap {where} it with one table.")
        if self.grading.wanted:
            raise BadInput(
                f"Got --grades, --points or --calibration {where} them with one table: fit first, "
                "then `treerank grade` on new rows."
            )

    def estimator(self, data: Training | OutOfCoreTraining) -> Any:
        """Return an unfitted model for the columns of the data."""
        shared: dict[str, Any] = {
            "categorical_features": data.categories or None,
            "random_state": self.seed,
            "n_jobs": self.threads,
            "focus": parse_focus(self.focus),
        }
        if self.trees is not None:
            shared["n_estimators"] = self.trees
        if self.model is ModelKind.forest:
            return treerank.RankingForest(oob_score=True, **shared)
        if self.model is ModelKind.boosting:
            return treerank.BoostedTreeRank(**shared)
        depth = DEFAULT_DEPTH if self.max_depth is None else self.max_depth
        return treerank.TreeRank(max_depth=depth, one_standard_error=self.small, **shared)
