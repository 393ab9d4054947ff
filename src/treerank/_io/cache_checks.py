"""Checks of cached codes: inconsistent arrays could crash the core, or give a wrong model.

Checksums detect random damage; the core relies on the lengths and ranges.
"""

from __future__ import annotations

import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._binning.binning import MAX_LEVELS, Coded
from treerank._binning.category_statistics import n_codings_in
from treerank._input.validation import TrainingData

BLOCK_CODES = 1 << 22  # codes per block: small enough for the CPU cache


def checksum(array: NDArray[Any]) -> int:
    """CRC-32 of the bytes of an array."""
    return zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data)


def inspect_codes(codes: NDArray[Any], n_jobs: int) -> tuple[list[int], list[int]]:
    """Checksum and largest code of each feature, in one pass."""
    with ThreadPoolExecutor(max(n_jobs, 1)) as pool:  # both computations release the GIL
        found = list(pool.map(_inspect_feature, codes))
    return [each[0] for each in found], [each[1] for each in found]


def _inspect_feature(codes: NDArray[Any]) -> tuple[int, int]:
    sum_so_far = largest = 0
    for start in range(0, len(codes), BLOCK_CODES):
        part = codes[start : start + BLOCK_CODES]
        sum_so_far = zlib.crc32(part.view(np.uint8).data, sum_so_far)
        largest = max(largest, int(part.max()))
    return sum_so_far, largest


def check_rows(rows: dict[str, NDArray[Any]], checksums: dict[str, int]) -> None:
    """Check that the arrays stored with the codes are unchanged."""
    if rows.keys() != checksums.keys():
        raise ValueError("arrays are missing from rows.npz")
    for name, array in rows.items():
        if checksum(array) != checksums[name]:
            raise ValueError(f"{name} in rows.npz has another checksum")


def check_codes(data: TrainingData, coded: Coded, checksums: list[int], n_jobs: int) -> None:
    """Check that codes, labels, weights and thresholds belong to one table."""
    _check_lengths(data, coded)
    _check_binning(coded)
    found, largest = inspect_codes(coded.codes, n_jobs)
    if found != checksums:
        raise ValueError("codes.npy has another checksum")
    binning, n_codes = coded.binning, coded.binning.columns.n_codes
    n_more = n_codings_in(coded.codes, binning) - 1
    of_codings = np.tile(n_codes[list(binning.ordered)], n_more)
    if (np.array(largest) >= np.append(n_codes, of_codings)).any():
        raise ValueError("codes.npy has codes that no value has")
    if int(data.labels.max()) >= len(data.classes):
        raise ValueError("there are labels of no class")


def _check_lengths(data: TrainingData, coded: Coded) -> None:
    codes, weights, sample = coded.codes, data.weights, coded.sample
    n_rows, n_features = data.table.n_rows, data.table.n_features
    binning = coded.binning
    n_more = max(n_codings_in(codes, binning), 1) - 1
    shape = binning.n_columns + n_more * len(binning.ordered), n_rows
    expected: dict[str, tuple[Any, tuple[type, ...], tuple[int, ...]]] = {
        "codes": (codes, (np.uint8, np.uint16), shape),
        "labels": (data.labels, (np.uint8,), (n_rows,)),
        "repeats": (weights.repeats, (np.uint8,), (n_rows,)),
        "units": (weights.units, (np.int64,), (n_rows,)),
        "kept": (None if isinstance(data.kept, slice) else data.kept, (np.intp,), (n_rows,)),
        "sample_units": (sample.units, (np.int64,), (sample.table.n_rows,)),
        "has_missing": (binning.has_missing, (np.bool_,), (n_features,)),
    }
    for j, column in enumerate(sample.table.columns):
        if not column.is_categorical:
            expected[f"sample_{j}"] = (column.values, (np.float64,), (sample.table.n_rows,))
    for name, (array, types, wanted) in expected.items():
        if array is None:
            continue
        if array.dtype.type not in types or array.shape != wanted or not array.flags.c_contiguous:
            raise ValueError(f"{name} are {array.dtype} of shape {array.shape}, not {wanted}")
    if n_rows < 1 or (isinstance(data.kept, slice) and data.given_rows != n_rows):
        raise ValueError(f"there are {n_rows} rows of {data.given_rows}")


def _check_binning(coded: Coded) -> None:
    binning = coded.binning
    for j, (cuts, levels) in enumerate(zip(binning.thresholds, binning.levels, strict=True)):
        sound = cuts.dtype == np.float64 and cuts.ndim == 1 and np.isfinite(cuts).all()
        if not sound or not (np.diff(cuts) > 0).all() or (levels is not None and len(cuts)):
            raise ValueError(f"the thresholds of feature {j} do not ascend")
        if levels is not None and len(levels) > MAX_LEVELS:
            raise ValueError(f"feature {j} has more than {MAX_LEVELS} levels")
    for j, order in binning.ordered.items():
        known = [codes for codes in order if codes is not None]
        if binning.levels[j] is None or any(len(c) != binning.n_codes[j] for c in known):
            raise ValueError(f"the order of feature {j} is not that of its levels")
    if int(binning.n_codes.max()) > np.iinfo(binning.code_type).max + 1:
        raise ValueError("there are more thresholds than codes")
