"""Find Parquet files, check that they form one table, and read them block by block."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treerank._input.option_types import Paths
from treerank._input.parameters import listed
from treerank._io.file_stamps import FileStamp, take_stamp

# Size of a block whose values are doubles.
BLOCK_BYTES = 32 << 20
LEAST_ROWS, MOST_ROWS = 1 << 10, 1 << 19
SUFFIXES = (".parquet", ".pq")


def import_pyarrow() -> tuple[Any, Any]:
    """Return pyarrow and its Parquet module; an error says how to install them."""
    try:
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "Reading Parquet needs pyarrow; install it with: pip install 'treerank-ml[io]'."
        ) from error
    return pa, pq


@dataclass(frozen=True)
class ParquetFiles:
    """Files that together hold one table, in this order."""

    stamps: list[FileStamp]  # taken before anything was read
    schema: Any  # of the first file that has rows
    n_rows: int

    @property
    def paths(self) -> list[Path]:
        """Return the files in their order."""
        return [stamp.path for stamp in self.stamps]

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Raise if the files change while the block of this context reads them.

        Labels of one version would be combined with features of another. If the files have
        changed, any other exception is a consequence, and is replaced by this error.
        """
        try:
            yield
        except Exception:
            self._check_unchanged()
            raise
        self._check_unchanged()

    def _check_unchanged(self) -> None:
        for stamp in self.stamps:
            stamp.check_unchanged()

    def blocks(self, names: Sequence[str], use_threads: bool) -> Iterator[Any]:
        """Read the given columns block by block, as tables of pyarrow."""
        pa, pq = import_pyarrow()
        n_rows = min(max(BLOCK_BYTES // (8 * len(names)), LEAST_ROWS), MOST_ROWS)
        for path in self.paths:
            # Bounded buffer and no prefetching: a row group may be larger than the memory.
            with pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
                if file.metadata.num_rows == 0:
                    continue
                batches = file.iter_batches(n_rows, columns=names, use_threads=use_threads)
                while (batch := self._next(batches, path)) is not None:
                    yield pa.Table.from_batches([batch]).select(names)

    @staticmethod
    def _next(batches: Iterator[Any], path: Path) -> Any:
        """Return the next batch, None at the end; name the file if it is damaged."""
        pa, _ = import_pyarrow()
        try:
            return next(batches, None)
        except (pa.ArrowInvalid, OSError) as error:
            said = str(error).strip(" .")
            raise ValueError(
                f"Got {str(path)!r}, which is damaged ({said}); write it again."
            ) from error


def open_parquet(path: Paths, needed: Sequence[str]) -> ParquetFiles:
    """Find the files and check that they hold one table with the needed columns."""
    pa, pq = import_pyarrow()
    paths = _find(path)
    stamps = [take_stamp(file) for file in paths]
    schema, schema_of, n_rows = None, paths[0], 0
    for file in paths:
        try:
            metadata = pq.read_metadata(file)
        except (pa.ArrowInvalid, pa.ArrowIOError) as error:
            if getattr(error, "errno", None) is not None:  # it cannot be opened
                raise
            raise ValueError(f"Got {str(file)!r}, which is not a Parquet file ({error}).") from None
        if metadata.num_rows == 0:
            continue
        n_rows += metadata.num_rows
        found = pq.read_schema(file)
        _check_names(file, found.names, needed)
        if schema is None:
            schema, schema_of = found, file
        else:
            _compare(schema_of, schema, file, found)
    if schema is None:
        raise ValueError(f"Got {listed(paths)} without any row; expected rows to learn from.")
    return ParquetFiles(stamps, schema, n_rows)


def _find(path: Paths) -> list[Path]:
    """Return the files of a path in sorted order; those of a list in its order."""
    given = [path] if isinstance(path, str | os.PathLike) else list(path)
    if not given:
        raise ValueError(f"Got path={path!r}; expected at least one Parquet file.")
    found = [file for each in given for file in _find_one(os.fspath(each))]
    twice = next((file for i, file in enumerate(found) if file in found[:i]), None)
    if twice is not None:
        raise ValueError(f"Got {str(twice)!r} twice; expected every file once.")
    return found


def _find_one(path: str) -> list[Path]:
    if Path(path).is_file():
        return [Path(path)]
    if Path(path).is_dir():
        inside = [p for suffix in SUFFIXES for p in Path(path).rglob(f"*{suffix}") if p.is_file()]
        parts = {part for p in inside for part in p.relative_to(path).parts[:-1] if "=" in part}
        if parts:
            raise ValueError(
                f"Got the folder {path!r}, partitioned by a column ({min(parts)!r}), which its "
                "files lack; expected files with all columns. Pass a list of files to do without "
                "it."
            )
        found = [p for p in inside if not p.name.startswith((".", "_"))]
    else:
        matches = map(Path, glob.glob(path, recursive=True))  # noqa: PTH207 (absolute ones too)
        found = [match for match in matches if match.is_file()]
    if not found:
        what = "a folder without Parquet files" if Path(path).is_dir() else "which no file matches"
        raise FileNotFoundError(f"Got {path!r}, {what}; expected a file, a folder or a pattern.")
    return sorted(found, key=str)


def _check_names(file: Path, names: list[str], needed: Sequence[str]) -> None:
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise ValueError(f"Got {str(file)!r} with two columns {twice!r}; rename one of them.")
    for name in needed:
        if name not in names:
            raise ValueError(
                f"Got {str(file)!r} without the column {name!r}; it has {listed(names)}."
            )


def _compare(first: Path, expected: Any, file: Path, found: Any) -> None:
    """Raise if the columns of a file differ from those of the first."""
    for a, b, here, there in [(expected, found, first, file), (found, expected, file, first)]:
        missing = [name for name in a.names if name not in b.names]
        if missing:
            raise ValueError(
                f"Got the column {missing[0]!r} in {str(here)!r} but not in {str(there)!r}; "
                "expected files of the same columns."
            )
    for field in expected:
        other = found.field(field.name)
        kinds = _kind(field.type), _kind(other.type)
        if kinds[0] != kinds[1] and "null" not in kinds:
            raise ValueError(
                f"Got the column {field.name!r} as {field.type} in {str(first)!r} and as "
                f"{other.type} in {str(file)!r}; expected one type."
            )


def _kind(kind: Any) -> str:
    """Name of a type; types that hold the same values have the same name."""
    pa, _ = import_pyarrow()
    if pa.types.is_dictionary(kind):
        order = "ordered " if kind.ordered else ""
        return f"{order}dictionary of {_kind(kind.value_type)}"
    return {"large_string": "string", "string_view": "string"}.get(str(kind), str(kind))


def feature_names(
    files: ParquetFiles, target: str, sample_weight: str | None, columns: Any
) -> list[str]:
    """Return the given features, or all columns but the target, the weight and an index."""
    if target == sample_weight:
        raise ValueError(
            f"Got {target!r} as target and as sample_weight; expected another column of weights, "
            "or sample_weight=None."
        )
    if columns is None:
        stored = (files.schema.pandas_metadata or {}).get("index_columns", [])
        left_out = {target, sample_weight, *(name for name in stored if isinstance(name, str))}
        names = [name for name in files.schema.names if name not in left_out]
    else:
        names = [columns] if isinstance(columns, str) else list(columns)
    if not names or len(set(names)) < len(names):
        raise ValueError(f"Got columns={columns!r}; expected each feature once, and at least one.")
    for role, name in [("target", target), ("sample_weight", sample_weight)]:
        if name in names:
            raise ValueError(
                f"Got {name!r} both in columns and as {role}; expected other columns as features."
            )
    return names
