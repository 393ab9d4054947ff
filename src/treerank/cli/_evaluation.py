"""Read a table to evaluate a model on, with the model's column types and known labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import treerank
from treerank._input.label_order import label_order_of
from treerank._input.types import FittedClassifier, FittedRanker
from treerank.cli._errors import BadInput
from treerank.cli._model_labels import in_the_models_words, spelling
from treerank.cli._models import unwrap
from treerank.cli._scoring import check_finite, column_types, levels_of, rows_for
from treerank.cli._sources import Source
from treerank.cli._training import (
    ColumnOptions,
    Training,
    as_weights,
    check_columns,
    check_has_labels,
)
from treerank.cli._unusable import Unusable

if TYPE_CHECKING:
    from treerank._report._sample import ScoredRows
    from treerank.scoring._held_out import HeldOut


class Rows(NamedTuple):
    """Rows for `treerank.report`, with weights, groups and ids if requested."""

    features: Any
    labels: NDArray[Any]
    weights: NDArray[np.float64] | None
    groups: NDArray[Any] | None = None
    ids: NDArray[Any] | None = None


def read_rows(
    model: FittedClassifier,
    source: Source,
    column_options: ColumnOptions,
    group: str | None = None,
    id_column: str | None = None,
) -> Rows:
    """Read the columns that a model was fitted to, with labels and weights."""
    target, weight, drop = column_options.target, column_options.weight, column_options.drop
    extra = [target] if weight is None else [target, weight]
    beside = [name for name in (group, id_column) if name is not None]
    _check_named(model, source, column_options, {"--group": group, "--id": id_column})
    named = hasattr(model, "feature_names_in_")
    apart = {*extra, *drop} | (set() if named else set(beside))
    table, features = _read_table(model, source, apart, [*extra, *beside])
    groups, ids = (
        None if name is None else np.array(table[name].to_pylist(), dtype=object)
        for name in (group, id_column)
    )
    weights = None if weight is None else as_weights(source, table[weight], weight)
    return Rows(
        features=rows_for(model, table, features),
        labels=_known_labels(model, source, table[target], column_options, weights),
        weights=weights,
        groups=groups,
        ids=ids,
    )


def read_features(model: FittedClassifier, source: Source, drop: Sequence[str] = ()) -> Any:
    """Read the columns that a model was fitted to, without labels."""
    table, features = _read_table(model, source, set(drop), [])
    return rows_for(model, table, features)


def _check_named(
    model: FittedClassifier,
    source: Source,
    column_options: ColumnOptions,
    beside: dict[str, str | None],
) -> None:
    """Raise if columns named by options are missing, or if the labels or weights are features."""
    names = source.header()
    target, weight = column_options.target, column_options.weight
    check_columns(source, names, {"--target": [target], "--drop": column_options.drop})
    check_columns(source, names, {"--weight": [] if weight is None else [weight]})
    for name in (target, weight):
        if name in getattr(model, "feature_names_in_", ()):
            raise source.bad(
                f"column {name!r} is one that the model ranks by; it cannot be the labels or the "
                "weights (--target, --weight)."
            )
    check_columns(source, names, {k: [v] for k, v in beside.items() if v is not None})


def _read_table(
    model: FittedClassifier, source: Source, apart: set[str], extra: Sequence[str]
) -> tuple[Any, list[str]]:
    """Read the features and other columns; return the table and the names of the features."""
    left = [name for name in source.header() if name not in apart]
    types = column_types(model, source, left, (), "--drop")
    features = list(types)
    for name in extra:
        types.setdefault(name, source.own_type)
    table = read_finite(source, types, features)
    unusable = Unusable(source, levels_of(unwrap(model)[0], features))
    unusable.count(table)
    unusable.note()
    return table, features


def read_finite(source: Source, types: dict[str, Any], features: list[str]) -> Any:
    """Read a whole table, whose features must be finite."""
    blocks, done = [], 0
    for block in source.blocks(types):
        check_finite(source, block, features, done)
        blocks.append(block)
        done += block.num_rows
    if done == 0:
        raise source.bad("there are column names but no rows.")
    return pa.Table.from_batches(blocks)


def _known_labels(
    model: FittedClassifier,
    source: Source,
    column: Any,
    column_options: ColumnOptions,
    weights: NDArray[np.float64] | None,
) -> NDArray[Any]:
    """Return labels as classes of the model; raise for unknown labels or missing classes."""
    name = column_options.target
    check_has_labels(source, column, name)
    classes = label_order_of(model)
    positive = column_options.positive
    said = [str(value).strip() for value in column.to_pylist()]
    said = in_the_models_words(model, said, positive)
    number = {spelling(str(label)): k for k, label in enumerate(classes.tolist())}
    places = np.array([number.get(spelling(label), -1) for label in said])
    if (places < 0).any():
        row = int(np.argmax(places < 0))
        remedy = ": give the label that was ranked first (--positive)"
        raise source.bad(
            f"column {name!r} has the label {said[row]!r} in {source.place(row)}; expected one of "
            f"{', '.join(map(str, classes))}, as the model was fitted to"
            f"{remedy if classes.dtype == bool else ''}."
        )
    counted = places if weights is None else places[weights > 0]
    absent = np.setdiff1d(np.arange(len(classes)), counted)
    if len(absent):
        label = classes[absent[0]] if classes.dtype != bool or positive is None else positive
        raise source.bad(
            f"column {name!r} has no row of {str(label)!r}"
            f"{'' if weights is None else ' with a weight above 0'}; expected rows of every class, "
            "to measure how well they are separated."
        )
    return np.asarray(classes[places])


def write_report_of_fit(
    model: FittedRanker,
    data: Training,
    kept_back: Training | None,
    held_out: HeldOut | None,
    out: Path,
    seed: int,
    validation: Any = None,
) -> None:
    """Write the report of a model that has just been fitted, on held-out rows."""
    from treerank._report._judged import Judged, PageOptions  # noqa: PLC0415 - slow
    from treerank._report._page import write_page  # noqa: PLC0415
    from treerank._report._sample import (  # noqa: PLC0415
        calibrated_without,
        judged_by,
        read_sample,
    )

    def scored(rows: Training) -> ScoredRows:
        return read_sample(model, rows.features, rows.labels, rows.weights, target=rows.target)

    training = scored(data)
    if kept_back is not None:
        sample = scored(kept_back)
        sample = calibrated_without(sample, unwrap(model)[1])
        judged = Judged(sample, sample, training, None)
    else:
        if held_out is None:
            raise BadInput(
                f"{out}: one of the classes has a single row, so that none can be held out to "
                "evaluate the model; expected two rows of each class, or a report on new rows."
            )
        used = held_out.take(training.given)
        judged = Judged(judged_by(training, used, unwrap(model)[1]), training, None, used)
    ids = (data if kept_back is None else kept_back).ids
    try:
        write_page(model, judged, PageOptions(out=out, ids=ids, seed=seed, validation=validation))
    except ModuleNotFoundError as error:
        raise BadInput(f"{out}: {error}") from None


def write_report(
    model: FittedClassifier, rows: Rows, out: Path, seed: int, source: Source, more: dict[str, Any]
) -> None:
    """Write the report of a model on some rows."""
    try:
        treerank.report(
            model, rows.features, rows.labels,
            sample_weight=rows.weights, groups=rows.groups, ids=rows.ids, out=out,
            random_state=seed, **more,
        )  # fmt: skip
    except ModuleNotFoundError as error:
        raise BadInput(f"{out}: {error}") from None
    except ValueError as error:
        raise source.bad(str(error)) from None
