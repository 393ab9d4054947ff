"""Read tables: CSV, TSV or Parquet, compressed or not, from files or the standard input."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from treerank._io.parquet_files import SUFFIXES
from treerank.cli._conversion import (
    Copied,
    cast_block,
    plan_conversion,
)
from treerank.cli._dates import DATE_ORDERS
from treerank.cli._dialect import (
    DELIMITERS,
    check_title,
    decode_start,
    find_delimiter,
    find_encoding,
    first_line,
    no_table,
    split_names,
)
from treerank.cli._errors import BadInput, note
from treerank.cli._faults import fault
from treerank.cli._places import line_of_row
from treerank.cli._quotes import unclosed_quote
from treerank.cli._streams import (
    Prefixed,
    first_blocks,
    open_unpacked,
    read_full,
    whole_lines,
    whole_rows,
)

BLOCK_BYTES = 2 << 20
# Bytes from which the separator and number formats are detected, and those for the encoding, which
# are more because an accented name may come late.
SAMPLE_BYTES = 1 << 20
MOST_SCANNED_BYTES = 64 << 20


@dataclass
class Source:
    """A table to be read.

    Parameters
    ----------
    path : str
        ``-`` for the standard input, which is CSV.
    delimiter : str, optional
        By default a tab for .tsv, otherwise detected from the first lines.
    encoding : str, optional
        By default detected: UTF-8, UTF-16, Windows-1252 or Latin-1.
    missing : sequence of str
        Texts that mean a missing value, besides the usual ones.
    decimal : str
        Decimal mark of the numbers.
    date_order : {"ymd", "dmy", "mdy"}, optional
        Order of day, month and year; by default detected from the dates.
    """

    path: str
    delimiter: str | None = None
    encoding: str | None = None
    missing: Sequence[str] = ()
    decimal: str = "."
    date_order: str | None = None
    _start: bytes | None = field(default=None, repr=False)
    _stream: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.delimiter in ("\\t", "tab"):
            self.delimiter = "\t"
        if self.delimiter is None and ".tsv" in Path(self.path.lower()).suffixes:
            self.delimiter = "\t"
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise BadInput(f"Got --delimiter {self.delimiter!r}; expected one character.")
        if self.decimal not in (".", ","):
            raise BadInput(f"Got --decimal {self.decimal!r}; expected . or , (a comma).")
        if self.date_order not in (None, *DATE_ORDERS):
            raise BadInput(f"Got --date-order {self.date_order}; expected ymd, dmy or mdy.")

    @property
    def label(self) -> str:
        """Name for messages."""
        return "standard input" if self.path == "-" else self.path

    @property
    def is_parquet(self) -> bool:
        """Whether the file is Parquet rather than text."""
        return Path(self.path).suffix.lower() in SUFFIXES

    @property
    def own_type(self) -> Any:
        """Type as which a column is read if no other is wanted; None for its type in Parquet."""
        return None if self.is_parquet else pa.string()

    def bad(self, text: str) -> BadInput:
        """Return an error that names this table."""
        return BadInput(f"{self.label}: {text}")

    def place(self, row: int) -> str:
        """Say where a row, counted from 0, is: by its line, or by its number if lines are unknown.

        Parquet files have no lines, and the standard input cannot be read again.
        """
        line = None
        if not self.is_parquet:
            start = self._read_start()
            stream = io.BytesIO(start) if self.path == "-" else self._open()
            line = line_of_row(stream, self.encoding or "utf8", self.delimiter or ",", row)
        return f"row {row + 1:,}" if line is None else f"line {line:,}"

    def _open(self) -> Any:
        """Open the text as a stream of decompressed bytes."""
        if self.path == "-":
            if self._stream is None:
                if sys.stdin is None:
                    raise self.bad("it is closed; name a file, or send a table through a pipe.")
                raw = io.BufferedReader(sys.stdin.buffer)  # type: ignore[type-var]
                packed = raw.peek(2)[:2] == b"\x1f\x8b"
                self._stream = gzip.GzipFile(fileobj=raw) if packed else raw
            return self._stream
        self._check_file()
        return open_unpacked(self.path)

    def _check_file(self) -> None:
        """Raise if the path is not that of a file that can be opened."""
        path = Path(self.path)
        if path.is_dir():
            raise self.bad("this is a folder; name a file in it.")
        if path.exists() and not path.is_file():
            raise self.bad("this is a device, a pipe or a socket; name a file, or - for a pipe.")
        path.open("rb").close()

    def header(self) -> list[str]:
        """Read and check the names of the columns, without an unnamed index at the left."""
        names = self._parquet().schema_arrow.names if self.is_parquet else self._text_header()
        first = 1 if self._has_unnamed_index(names) else 0
        check_title(names, self.bad)
        seen: set[str] = set()
        for i, name in enumerate(names[first:], start=first + 1):
            if name in seen:
                raise self.bad(f"the column name {name!r} occurs twice; rename one of the columns.")
            if not name:
                raise self.bad(f"column {i} has no name; give it one, or remove the column.")
            seen.add(name)
        return list(names[first:])

    def _has_unnamed_index(self, names: Sequence[str]) -> bool:
        """Whether the first name is empty, as where pandas and R write the names of the rows."""
        return not self.is_parquet and len(names) > 1 and not names[0].strip()

    def index_columns(self) -> dict[str, str]:
        """Columns that hold the index of a data frame, by name, in words."""
        if self.is_parquet:
            stored = (self._parquet().schema_arrow.pandas_metadata or {}).get("index_columns", [])
            named = [name for name in stored if isinstance(name, str)]
            return {name: f"{name!r} (the index of a data frame)" for name in named}
        if self._has_unnamed_index(self._text_header()):
            return {"": "the first column (which has no name, as the index of a data frame)"}
        return {}

    @contextmanager
    def _unpacking(self) -> Iterator[None]:
        """Name the file if its compression is damaged, which the original errors do not."""
        try:
            yield
        except (EOFError, zlib.error, OSError) as error:
            if isinstance(error, OSError) and error.filename is not None:
                raise
            raise self.bad(f"it cannot be decompressed ({error}); compress it again.") from None

    def _read_start(self) -> bytes:
        """Read the first bytes, and detect the separator and encoding if they are not given."""
        if self._start is not None:
            return self._start
        with self._unpacking():
            if self.path == "-":
                start = read_full(self._open(), SAMPLE_BYTES)
                blocks: Iterable[bytes] = [whole_lines(start, SAMPLE_BYTES)]
            else:
                with self._open() as stream:
                    start = bytes(stream.read(SAMPLE_BYTES))
                blocks = self._scan() if self.encoding is None else []
            if start.strip():
                problem = no_table(start, self.encoding)
                if problem is not None:
                    raise self.bad(problem)
                self._find_dialect(start, blocks)
                self._check_quotes(start)
        self._start = start
        return start

    def _check_quotes(self, text: bytes) -> None:
        limit = SAMPLE_BYTES
        if len(text) == limit and self.path != "-":
            limit = MOST_SCANNED_BYTES
            with self._open() as stream:
                text = read_full(stream, limit)
        if len(text) < limit:  # otherwise, the quote may be closed further on
            line = unclosed_quote(text, self.encoding or "utf8", self.delimiter or ",")
            if line is not None:
                raise self.bad(
                    f"a quote opened in line {line:,} is not closed; close or remove it."
                )

    def _scan(self) -> Iterator[bytes]:
        with self._open() as stream:
            yield from first_blocks(stream, MOST_SCANNED_BYTES, BLOCK_BYTES)

    def _find_dialect(self, start: bytes, blocks: Iterable[bytes]) -> None:
        found = []
        if self.encoding is None:
            self.encoding = find_encoding(blocks)
            if not self._is_utf8:
                found.append(f"its encoding is {self.encoding} (--encoding)")
        if self.delimiter is None:
            try:
                self.delimiter = find_delimiter(decode_start(start, self.encoding))
            except (UnicodeError, LookupError) as error:
                raise self.undecodable(1, error) from None
            if self.delimiter != ",":
                found.insert(0, f"columns are separated by a {DELIMITERS[self.delimiter]}")
        if found:
            note(f"{self.label}: {', and '.join(found)}.")

    def _text_header(self) -> list[str]:
        start = self._read_start()
        if not start.strip():
            raise self.bad("the file is empty; expected a line of column names and rows.")
        assert self.encoding is not None
        try:
            text = first_line(decode_start(start, self.encoding)).rstrip("\r")
        except (UnicodeError, LookupError) as error:
            raise self.undecodable(1, error) from None
        return split_names(text, self.delimiter or ",", self.bad)

    @property
    def _is_utf8(self) -> bool:
        return (self.encoding or "").lower().replace("-", "") == "utf8"

    def undecodable(self, line: int | None, error: Exception | None = None) -> BadInput:
        """Return the error that the encoding is another one, or unknown."""
        if isinstance(error, LookupError):
            return self.bad(f"there is no encoding {self.encoding!r}; try --encoding latin-1.")
        where = "" if line is None else f" in line {line}"
        return self.bad(
            f"the text is not {(self.encoding or '').upper()}{where}; give its encoding, such as "
            "--encoding latin-1."
        )

    @property
    def _nulls(self) -> list[str]:
        return [*pa_csv.ConvertOptions().null_values, *self.missing]

    def csv_options(
        self, types: dict[str, Any], names: list[str], text_can_be_null: bool = True
    ) -> dict[str, Any]:
        """Return the options of pyarrow to read columns of text with the given types."""
        return {
            "read_options": pa_csv.ReadOptions(block_size=BLOCK_BYTES, encoding=self.encoding),
            "parse_options": pa_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            "convert_options": pa_csv.ConvertOptions(
                column_types=types,
                include_columns=names,
                strings_can_be_null=text_can_be_null,
                decimal_point=self.decimal,
                null_values=self._nulls,
            ),
        }

    def csv_bytes(self) -> Any:
        """Return a stream of the whole text, from its first byte."""
        start, stream = self._read_start(), self._open()
        return pa.PythonFile(Prefixed(start, stream)) if self.path == "-" else stream

    def _parquet(self) -> Any:
        self._check_file()
        with self._reading_parquet():
            return pq.ParquetFile(self.path)

    @contextmanager
    def _reading_parquet(self) -> Iterator[None]:
        """Name the file if it is damaged, which the original errors do not."""
        try:
            yield
        except (pa.ArrowInvalid, OSError) as error:
            said = str(error).strip(" .")
            raise self.bad(
                f"this is not a Parquet file, or it is damaged ({said}); write it again."
            ) from None

    def read(self, names: list[str]) -> Any:
        """Read the whole table: columns as text, or with their types in Parquet."""
        table = self._read_parquet(names) if self.is_parquet else self._read_text(names)
        if table.num_rows == 0:
            raise self.bad("there are column names but no rows.")
        return table

    def _read_parquet(self, names: list[str]) -> Any:
        file = self._parquet()
        with self._reading_parquet():
            return file.read(columns=names)

    def _read_text(self, names: list[str]) -> Any:
        types = dict.fromkeys(names, pa.string())
        try:
            with self._unpacking():
                return pa_csv.read_csv(self.csv_bytes(), **self.csv_options(types, names))
        except pa.ArrowInvalid as error:
            raise fault(self, error, types, BLOCK_BYTES) from None

    def blocks(self, types: dict[str, Any]) -> Iterable[Any]:
        """Read the columns block by block, with the given types."""
        read = self._parquet_sample if self.is_parquet else self._text_sample
        names = [getattr(t, "column", name) for name, t in types.items()]
        sample = read(list(dict.fromkeys(names)))
        convert = plan_conversion(types, sample, self.decimal, self.date_order, self)
        if not self.is_parquet and any(isinstance(t, Copied) for t in types.values()):
            convert.nulls = pa.array(self._nulls)
        done = 0
        blocks = (
            self._parquet_blocks(convert.read)
            if self.is_parquet
            else self._text_blocks(convert.read, text_can_be_null=convert.nulls is None)
        )
        for block in blocks:
            yield convert(block, done)
            done += block.num_rows

    def _text_sample(self, names: list[str]) -> Any:
        """First rows as text; None if they cannot be read, which blocks() will report."""
        start = self._read_start()
        whole = whole_rows(start, SAMPLE_BYTES)
        try:
            options = self.csv_options(dict.fromkeys(names, pa.string()), names)
            return pa_csv.read_csv(io.BytesIO(whole), **options)
        except (pa.ArrowInvalid, pa.ArrowKeyError, UnicodeError):
            return None

    def _parquet_sample(self, names: list[str]) -> Any:
        block = next(self._batches(1 << 14, names), None)
        return None if block is None else pa.Table.from_batches([block])

    def _batches(self, n_rows: int, names: list[str]) -> Iterator[Any]:
        batches = self._parquet().iter_batches(batch_size=n_rows, columns=names)
        while True:
            with self._reading_parquet():
                batch = next(batches, None)
            if batch is None:
                return
            yield batch

    def _text_blocks(self, types: dict[str, Any], text_can_be_null: bool) -> Iterable[Any]:
        options = self.csv_options(types, list(types), text_can_be_null)
        try:
            with self._unpacking():
                reader = iter(pa_csv.open_csv(self.csv_bytes(), **options))
            while (batch := self._next(reader)) is not None:
                yield batch
        except pa.ArrowInvalid as error:
            raise fault(self, error, types, BLOCK_BYTES) from None

    def _next(self, reader: Iterator[Any]) -> Any:
        with self._unpacking():
            return next(reader, None)

    def _parquet_blocks(self, types: dict[str, Any]) -> Iterable[Any]:
        done = 0
        for batch in self._batches(1 << 16, list(types)):
            columns = []
            for name, wanted in types.items():
                column = batch.column(name)
                columns.append(
                    column if wanted is None else cast_block(column, wanted, name, done, self)
                )
            yield pa.RecordBatch.from_arrays(columns, names=list(types))
            done += batch.num_rows
