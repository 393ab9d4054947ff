"""Kept codes: the coded rows of a large table in a folder, to be fitted to again.

`codes.npy` has the codes (features x rows), `rows.npz` labels, weights, thresholds and the
sampled values, `about.json` what they were made of. Numbers and text only, and no code.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from treerank._binning import Binning, Coded, Sample
from treerank._columns import Column
from treerank._validate import Table, TrainingData
from treerank._weights import Weights

CODES, ROWS, ABOUT = "codes.npy", "rows.npz", "about.json"
UNFINISHED = ".unfinished-"


@contextmanager
def folder_for(codes: Any) -> Iterator[Path]:
    """Folder to write into: a temporary one, or one that becomes `codes` when all is well."""
    if codes is None:
        with tempfile.TemporaryDirectory(prefix="treerank-") as name:
            yield Path(name)
        return
    target = Path(codes)
    was_there = target.exists()
    _refuse_foreign(target)
    target.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(dir=target, prefix=UNFINISHED))
    try:
        yield unfinished
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
        if not was_there and not any(target.iterdir()):
            target.rmdir()


def _refuse_foreign(folder: Path) -> None:
    """Never write into a folder that holds something else."""
    if not folder.exists():
        return
    expected = "expected a new or empty folder, or one with codes that were kept before"
    if not folder.is_dir():
        raise ValueError(f"Got codes={str(folder)!r}, a file; {expected}.")
    foreign = [
        entry.name
        for entry in folder.iterdir()
        if entry.name not in (CODES, ROWS, ABOUT) and not entry.name.startswith(UNFINISHED)
    ]
    if foreign:
        raise ValueError(f"Got codes={str(folder)!r}, with {min(foreign)!r} in it; {expected}.")


def new_codes(folder: Path, shape: tuple[int, int], code_type: np.dtype[Any]) -> NDArray[Any]:
    """Array of codes in a file, mapped into memory."""
    return np.lib.format.open_memmap(folder / CODES, mode="w+", dtype=code_type, shape=shape)


def keep(folder: Path, codes: Any, made_of: Any, data: TrainingData, coded: Coded) -> None:
    """Complete the folder and move its files into place, the description last."""
    arrays: dict[str, NDArray[Any]] = {"labels": data.labels}
    weights, binning, sample = data.weights, coded.binning, coded.sample
    optional = {
        "repeats": weights.repeats,
        "units": weights.units,
        "kept": None if isinstance(data.kept, slice) else data.kept,
        "sample_units": sample.masses,
    }
    arrays |= {name: array for name, array in optional.items() if array is not None}
    for j, cuts in enumerate(binning.thresholds):
        arrays[f"thresholds_{j}"] = cuts
        if binning.levels[j] is None:
            arrays[f"sample_{j}"] = sample.values(j)
    np.savez(folder / ROWS, allow_pickle=False, **arrays)
    about = {
        "made_of": made_of,
        "given_rows": data.given_rows,
        "classes": data.classes.tolist(),
        "class_type": data.classes.dtype.str,
        "scale": weights.scale,
        "design_effect": weights.design_effect,
        "levels": [None if known is None else _say_levels(known) for known in binning.levels],
        "has_missing": binning.has_missing.tolist(),
    }
    (folder / ABOUT).write_text(_as_json(about))
    target = Path(codes)
    (target / ABOUT).unlink(missing_ok=True)
    for name in (CODES, ROWS, ABOUT):
        (folder / name).replace(target / name)


def find_kept(codes: Any, made_of: Any, names: list[str]) -> tuple[TrainingData, Coded] | None:
    """Read kept codes, or None if there are none, or they were made of something else."""
    folder = Path(codes)
    try:
        about = json.loads((folder / ABOUT).read_text())
        if about["made_of"] != json.loads(_as_json(made_of)):
            return None
        mapped = np.load(folder / CODES, mmap_mode="r")
        with (folder / ROWS).open("rb") as file, np.load(file) as arrays:
            rows = dict(arrays)
        return _restore(about, mapped, rows, names)
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):  # none, or damaged
        return None


def _restore(
    about: dict[str, Any], codes: NDArray[Any], rows: dict[str, NDArray[Any]], names: list[str]
) -> tuple[TrainingData, Coded]:
    n_features, n_rows = codes.shape
    weights = Weights(
        rows.get("repeats"), rows.get("units"), about["scale"], about["design_effect"]
    )
    classes = np.array(about["classes"], dtype=np.dtype(about["class_type"]))
    data = TrainingData(
        Table(n_rows, names, None, []), classes, rows["labels"], weights,
        about["given_rows"], rows.get("kept", slice(None)),
    )  # fmt: skip
    levels = [None if said is None else _read_levels(said) for said in about["levels"]]
    binning = Binning(
        [rows[f"thresholds_{j}"] for j in range(n_features)],
        levels,
        codes.dtype,
        np.array(about["has_missing"], dtype=bool),
    )
    columns = [
        Column(name, rows[f"sample_{j}"] if levels[j] is None else [])
        for j, name in enumerate(names)
    ]
    n_sampled = max((len(c.values) for c in columns), default=0)
    sampled = np.arange(n_sampled, dtype=np.uint32)
    table = Table(n_sampled, names, None, columns)
    return data, Coded(codes, binning, Sample(table, sampled, rows.get("sample_units")))


def _say_levels(levels: list[Any]) -> list[Any]:
    """Levels for JSON; a list among them stands for levels that share a code."""
    return [list(level) if isinstance(level, tuple) else level for level in levels]


def _read_levels(said: list[Any]) -> list[Any]:
    return [tuple(level) if isinstance(level, list) else level for level in said]


def _as_json(value: Any) -> str:
    try:
        return json.dumps(value, indent=1, allow_nan=False)
    except TypeError as error:
        raise ValueError(
            f"Codes cannot be kept of this table ({error}): expected levels, labels and "
            "label_order that are numbers or text. Leave codes=None."
        ) from None
