"""Parquet files on a cluster: workers read row groups from a shared disk."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from treerank._io.file_stamps import FileStamp
from treerank._io.parquet import open_features
from treerank._io.parquet_files import ParquetFiles, import_pyarrow
from treerank.dask._collections import Blocks

# Rows per partition: enough to justify a task, and few enough to be kept as raw values.
LEAST_ROWS, MOST_ROWS = 50_000, 1_000_000
PARTITIONS_PER_WORKER = 4


def open_files(
    estimator: Any, path: Any, target: str, sample_weight: str | None, columns: Any, n_workers: int
) -> Blocks:
    """Return the partitions of Parquet files; set the names and number of features."""
    from dask.delayed import delayed  # noqa: PLC0415 (an extra)

    files, names = open_features(estimator, path, target, sample_weight, columns)
    read = delayed(_read, pure=False)
    blocks = [
        (
            read(stamp, groups, names),
            read(stamp, groups, target),
            None if sample_weight is None else read(stamp, groups, sample_weight),
        )
        for stamp, groups in _partitions(files, n_workers)
    ]
    return Blocks(names, blocks, sample_weight is not None)


def _partitions(files: ParquetFiles, n_workers: int) -> list[tuple[FileStamp, list[int]]]:
    """Return partitions: row groups of one file that are read together."""
    _, pq = import_pyarrow()
    wanted = files.n_rows // (PARTITIONS_PER_WORKER * n_workers)
    wanted = min(max(wanted, LEAST_ROWS), MOST_ROWS)
    partitions: list[tuple[FileStamp, list[int]]] = []
    for stamp in files.stamps:
        metadata = pq.read_metadata(stamp.path)
        n_rows = wanted  # each file starts a new partition
        for group in range(metadata.num_row_groups):
            if n_rows >= wanted:
                partitions.append((replace(stamp, path=stamp.path.resolve()), []))
                n_rows = 0
            partitions[-1][1].append(group)
            n_rows += metadata.row_group(group).num_rows
    return partitions


def _read(stamp: FileStamp, groups: list[int], names: str | list[str]) -> Any:
    """Read row groups of a file, which must be the same for every worker and every pass."""
    _, pq = import_pyarrow()
    columns = [names] if isinstance(names, str) else names
    if not stamp.path.exists():
        raise FileNotFoundError(
            f"A worker does not see {str(stamp.path)!r}; expected a disk that all workers and this "
            "process have at the same place."
        )
    stamp.check_unchanged(elsewhere=True)
    with pq.ParquetFile(stamp.path) as file:
        found = file.read_row_groups(groups, columns=columns, use_threads=False)
    stamp.check_unchanged(elsewhere=True)
    return found[names] if isinstance(names, str) else found.select(names)
