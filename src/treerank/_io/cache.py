"""Cached codes: the encoded rows of a large table in a folder, for further fits.

`codes.npy` holds the codes (features x rows), `rows.npz` the labels, weights, thresholds and
sampled values, and `about.json` what they were computed from and the checksums of all arrays.
The files hold numbers and text only, no executable code.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._binning.binning import Binning, Coded, OrderedCategory
from treerank._input.categories import SharedLevels
from treerank._input.column_stats import BinningSample
from treerank._input.columns import Column
from treerank._input.validation import Table, TrainingData
from treerank._input.warn import warn
from treerank._input.weights import Weights
from treerank._io.atomic import temporary_folder
from treerank._io.cache_checks import check_codes, check_rows, checksum, inspect_codes
from treerank._io.reserved import named_errors, reserved_file

CODES, ROWS, ABOUT = "codes.npy", "rows.npz", "about.json"
# Name prefixes of unfinished folders: inside a cache folder, and in the system's temporary folder,
# which is shared with other programs.
UNFINISHED, TEMPORARY = ".unfinished-", ".treerank-unfinished-"


@contextmanager
def folder_for(cache_dir: Any) -> Iterator[Path]:
    """Yield a folder to write into, temporary or inside `cache_dir`; it is removed at the end."""
    if cache_dir is None:
        with temporary_folder(Path(tempfile.gettempdir()), TEMPORARY) as folder:
            yield folder
        return
    target = Path(cache_dir)
    was_there = target.exists()
    _check_own_folder(target)
    target.mkdir(parents=True, exist_ok=True)
    try:
        with temporary_folder(target, UNFINISHED) as folder:
            yield folder
    finally:
        if not was_there:
            with suppress(OSError):  # not empty: it holds codes, perhaps of another fit
                target.rmdir()


def _check_own_folder(folder: Path) -> None:
    """Raise if the folder holds anything but cached codes."""
    if not folder.exists():
        return
    expected = "expected a new or empty folder, or one with codes that were kept before"
    if not folder.is_dir():
        raise ValueError(f"Got cache_dir={str(folder)!r}, a file; {expected}.")
    foreign = [
        entry.name
        for entry in folder.iterdir()
        if entry.name not in (CODES, ROWS, ABOUT) and not entry.name.startswith(UNFINISHED)
    ]
    if foreign:
        raise ValueError(f"Got cache_dir={str(folder)!r}, with {min(foreign)!r} in it; {expected}.")


def new_codes(folder: Path, shape: tuple[int, int], code_type: np.dtype[Any]) -> NDArray[Any]:
    """Create a file of codes and return it as a memory-mapped array."""
    described = np.lib.format.dtype_to_descr(code_type)
    with reserved_file(folder / CODES, shape[0] * shape[1] * code_type.itemsize) as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": described, "fortran_order": False, "shape": shape}
        )
    mapped: NDArray[Any] = np.load(folder / CODES, mmap_mode="r+")
    return mapped


def keep(
    folder: Path, cache_dir: Any, made_of: Any, data: TrainingData, coded: Coded, n_jobs: int
) -> None:
    """Complete the folder and move its files into place, the description last."""
    arrays = _arrays_of(data, coded)
    binning = coded.binning
    checksums, _ = inspect_codes(coded.codes, n_jobs)
    about = {
        "made_of": made_of,
        "given_rows": data.given_rows,
        "classes": data.classes.tolist(),
        "class_type": data.classes.dtype.str,
        "scale": data.weights.scale,
        "design_effect": data.weights.design_effect,
        "levels": [None if known is None else _format_levels(known) for known in binning.levels],
        "has_missing": binning.has_missing.tolist(),
        "ordered": {str(j): _format_order(order) for j, order in binning.ordered.items()},
        "checksums": {
            "codes": checksums,
            "rows": {name: checksum(array) for name, array in arrays.items()},
        },
    }
    about["checksum"] = _checksum_of(about)
    with named_errors(folder / ROWS, sum(array.nbytes for array in arrays.values())):
        np.savez(folder / ROWS, allow_pickle=False, **arrays)
    said = _as_json(about)
    with named_errors(folder / ABOUT, len(said)):
        (folder / ABOUT).write_text(said, encoding="utf-8")
    target = Path(cache_dir)
    (target / ABOUT).unlink(missing_ok=True)
    for name in (CODES, ROWS, ABOUT):
        (folder / name).replace(target / name)


def _arrays_of(data: TrainingData, coded: Coded) -> dict[str, NDArray[Any]]:
    """Arrays of `rows.npz`."""
    weights, binning, sample = data.weights, coded.binning, coded.sample
    arrays: dict[str, NDArray[Any]] = {"labels": data.labels}
    optional = {
        "repeats": weights.repeats,
        "units": weights.units,
        "kept": None if isinstance(data.kept, slice) else data.kept,
        "sample_units": sample.weights,
    }
    arrays |= {name: array for name, array in optional.items() if array is not None}
    for j, cuts in enumerate(binning.thresholds):
        arrays[f"thresholds_{j}"] = cuts
        if binning.levels[j] is None:
            arrays[f"sample_{j}"] = sample.values(j)
    return arrays


def find_kept(
    cache_dir: Any, made_of: Any, names: list[str], n_jobs: int
) -> tuple[TrainingData, Coded] | None:
    """Return cached codes; None if there are none, or they were computed from something else.

    Damaged codes are treated as absent, since they can be computed again. But they cause a
    warning, as the disk may be failing.
    """
    folder, wanted = Path(cache_dir), json.loads(_as_json(made_of))
    try:
        raw = (folder / ABOUT).read_bytes()
    except OSError:
        return None
    try:
        about = json.loads(raw)
        if about["made_of"] != wanted:
            return None
        return _read(folder, about, names, n_jobs)
    except Exception as error:  # whatever the error is, the codes cannot be used
        warn(
            f"Got damaged codes in {str(folder)!r} ({error}); the files are read again, and their "
            "codes made again.",
        )
        return None


def _read(
    folder: Path, about: dict[str, Any], names: list[str], n_jobs: int
) -> tuple[TrainingData, Coded]:
    expected = about.pop("checksum")
    if _checksum_of(about) != expected:
        raise ValueError(f"{ABOUT} has another checksum")
    mapped = np.load(folder / CODES, mmap_mode="r")
    with (folder / ROWS).open("rb") as file, np.load(file) as arrays:
        rows = dict(arrays)
    check_rows(rows, about["checksums"]["rows"])
    data, coded = _restore(about, mapped, rows, names)
    check_codes(data, coded, about["checksums"]["codes"], n_jobs)
    return data, coded


def _restore(
    about: dict[str, Any], codes: NDArray[Any], rows: dict[str, NDArray[Any]], names: list[str]
) -> tuple[TrainingData, Coded]:
    n_features, n_rows = len(names), codes.shape[1]
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
        {int(j): _read_order(said) for j, said in about["ordered"].items()},
    )
    columns = [
        Column(name, rows[f"sample_{j}"] if levels[j] is None else [])
        for j, name in enumerate(names)
    ]
    n_sampled = max((len(c.values) for c in columns), default=0)
    sampled = np.arange(n_sampled, dtype=np.uint32)
    table = Table(n_sampled, names, None, columns)
    return data, Coded(codes, binning, BinningSample(table, sampled, rows.get("sample_units")))


def _format_levels(levels: list[Any]) -> list[Any]:
    """Return levels for JSON. Levels that share a code form a list."""
    return [list(level) if isinstance(level, SharedLevels) else level for level in levels]


def _read_levels(said: list[Any]) -> list[Any]:
    return [SharedLevels(level) if isinstance(level, list) else level for level in said]


def _format_order(order: OrderedCategory) -> list[Any]:
    return [None if codes is None else codes.tolist() for codes in order]


def _read_order(said: list[Any]) -> OrderedCategory:
    place, single = (None if codes is None else np.array(codes, dtype=np.uint8) for codes in said)
    assert place is not None
    return OrderedCategory(place, single)


def _checksum_of(about: dict[str, Any]) -> int:
    return checksum(np.frombuffer(_as_json(about).encode(), dtype=np.uint8))


def _as_json(value: Any) -> str:
    try:
        return json.dumps(value, indent=1, allow_nan=False)
    except TypeError as error:
        raise ValueError(
            f"Codes cannot be kept of this table ({error}): expected levels, labels and "
            "label_order that are numbers or text. Leave cache_dir=None."
        ) from None
