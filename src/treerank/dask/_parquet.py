"""Parquet files on a cluster: workers read row groups, from a disk that all of them see."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from treerank._parquet import open_features
from treerank._parquet_files import ParquetFiles, import_pyarrow
from treerank.dask._collections import Blocks

# Rows of a partition: enough to be worth a task, few enough to be held as raw values.
LEAST_ROWS, MOST_ROWS = 50_000, 1_000_000
PARTITIONS_PER_WORKER = 4


def open_files(
    estimator: Any, path: Any, target: str, sample_weight: str | None, columns: Any, n_workers: int
) -> Blocks:
    """Partitions of Parquet files; sets the names and number of features."""
    from dask.delayed import delayed  # noqa: PLC0415 (an extra)

    files, names = open_features(estimator, path, target, sample_weight, columns)
    read = delayed(_read, pure=False)
    blocks = [
        (
            read(file, groups, names),
            read(file, groups, target),
            None if sample_weight is None else read(file, groups, sample_weight),
        )
        for file, groups in _partitions(files, n_workers)
    ]
    return Blocks(names, blocks, sample_weight is not None)


def _partitions(files: ParquetFiles, n_workers: int) -> list[tuple[Path, list[int]]]:
    """Row groups of one file that are read together."""
    _, pq = import_pyarrow()
    wanted = files.n_rows // (PARTITIONS_PER_WORKER * n_workers)
    wanted = min(max(wanted, LEAST_ROWS), MOST_ROWS)
    partitions: list[tuple[Path, list[int]]] = []
    for path in files.paths:
        metadata = pq.read_metadata(path)
        n_rows = wanted  # a file begins a partition
        for group in range(metadata.num_row_groups):
            if n_rows >= wanted:
                partitions.append((path.resolve(), []))
                n_rows = 0
            partitions[-1][1].append(group)
            n_rows += metadata.row_group(group).num_rows
    return partitions


def _read(path: Path, groups: list[int], names: str | list[str]) -> Any:
    _, pq = import_pyarrow()
    columns = [names] if isinstance(names, str) else names
    try:
        with pq.ParquetFile(path) as file:
            found = file.read_row_groups(groups, columns=columns, use_threads=False)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"A worker does not see {str(path)!r}; expected a disk that all workers and this "
            "process have at the same place."
        ) from None
    return found[names] if isinstance(names, str) else found.select(names)
