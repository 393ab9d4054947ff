"""Fit to several Parquet files, or a folder of them, block by block, never all in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treerank._input.types import FittedClassifier
from treerank._io.parquet_files import ParquetFiles, feature_names, open_parquet
from treerank.cli._columns import is_number
from treerank.cli._dates import is_date_type
from treerank.cli._errors import BadInput
from treerank.cli._training import ColumnOptions, labels_in_order


def is_out_of_core(paths: Sequence[str]) -> bool:
    """Whether the rows come from several files."""
    if len(paths) > 1:
        return True
    [path] = paths
    return Path(path).is_dir() or (any(c in path for c in "*?[") and not Path(path).exists())


@dataclass(frozen=True)
class OutOfCoreTraining:
    """Arguments of `fit_parquet`, and the types of the columns."""

    paths: Sequence[str]
    files: ParquetFiles
    column_options: ColumnOptions
    features: list[str]
    kinds: dict[str, str]  # column to number or category

    @property
    def categories(self) -> list[str]:
        """Columns that are categories."""
        return [name for name, kind in self.kinds.items() if kind == "category"]

    def labels(self) -> dict[str, Any]:
        """Labels of the target by name; reads the target once."""
        from treerank._input.label_blocks import label_block  # noqa: PLC0415 (slow to import)

        seen = None
        for block in self.files.blocks([self.column_options.target], use_threads=False):
            found = label_block(block[self.column_options.target]).seen
            seen = found if seen is None else seen + found
        assert seen is not None
        return {str(label): label for label in seen.distinct.tolist()}

    def label_order(self, order: str | None) -> list[Any] | None:
        """Order of the labels by --order or --positive; None if neither is given."""
        positive = self.column_options.positive
        if order is None and positive is None:
            return None
        known = self.labels()
        if order is not None:
            return labels_in_order(order, list(known.values()))
        if positive not in known:
            raise BadInput(
                f"--positive names {positive!r}, which the target does not have; it has "
                f"{', '.join(known)}."
            )
        if len(known) > 2:
            raise BadInput(
                f"Got --positive for a target with {len(known)} labels in several files; "
                "expected two labels, or --order."
            )
        return sorted(known.values(), key=lambda label: str(label) == positive)


def open_out_of_core(paths: Sequence[str], column_options: ColumnOptions) -> OutOfCoreTraining:
    """Find the files and determine the types of their columns."""
    apart = [
        column_options.target,
        *([column_options.weight] if column_options.weight else []),
        *column_options.ids,
        *column_options.drop,
    ]
    wanted = column_options.type_of()
    files = open_parquet(list(paths), [*apart, *wanted])
    columns = [
        name
        for name in feature_names(files, column_options.target, column_options.weight, None)
        if name not in apart
    ]
    if not columns:
        raise BadInput("No column is left to learn from.")
    dates = [name for name in columns if is_date_type(files.schema.field(name).type)]
    if dates or column_options.dates:
        named = ", ".join(map(repr, dates)) or column_options.dates[0]
        raise BadInput(
            f"Got dates in several files ({named}); expected numbers, text or booleans: dates "
            "are converted to numbers in one table only. Leave them out with --drop, or store "
            "them as "
            "days since a fixed day."
        )
    kinds = {}
    for name in columns:
        kinds[name] = "number" if is_number(files.schema.field(name).type) else "category"
        if wanted.get(name, kinds[name]) != kinds[name]:
            if wanted[name] == "number":
                raise BadInput(
                    f"Got --type {name}=number for a column of text or booleans; in several files "
                    "expected it as numbers already."
                )
            kinds[name] = "category"
    return OutOfCoreTraining(paths, files, column_options, columns, kinds)


def fit_out_of_core(estimator: Any, data: OutOfCoreTraining, cache_dir: Path | None) -> None:
    """Fit the model block by block."""
    column_options = data.column_options
    estimator.fit_parquet(
        list(data.paths),
        column_options.target,
        sample_weight=column_options.weight,
        columns=data.features,
        cache_dir=cache_dir,
    )


def held_out_quality(model: FittedClassifier) -> tuple[float, float] | None:
    """AUC or VUS on the folds by which a tree was pruned, and its standard error."""
    path = getattr(model, "pruning_path_", None)
    if path is None or not hasattr(path, "heldout_auc"):
        return None
    return float(path.heldout_auc[path.chosen]), float(path.heldout_std_error[path.chosen])
