"""What is wrong with a text table that pyarrow cannot read: the line, the column and the remedy."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from treerank.cli._conversion import format_type, reads_as
from treerank.cli._errors import BadInput
from treerank.cli._numbers import has_decimal_comma
from treerank.cli._streams import first_undecodable

if TYPE_CHECKING:
    from treerank.cli._sources import Source


def fault(
    source: Source, error: Exception, types: dict[str, Any], max_value_bytes: int
) -> BadInput:
    """Return an error that names the line and column at which pyarrow failed."""
    said = str(error)
    if "UTF8" in said or "utf8" in said or "UTF-8" in said:
        return source.undecodable(_undecodable_line(source))
    if "Empty CSV file" in said:  # an empty file has no header, which is read before
        return source.bad("there are column names but no rows.")
    ragged = re.search(r"Expected (\d+) columns, got (\d+)", said)
    if ragged:
        row = re.search(r"Row #(\d+)", said) or _ragged_row(source, types)
        where = source.place(int(row[1]) - 2) if row else "a line"  # the names are row 1
        return source.bad(
            f"{where} has {_several(ragged[2], 'value')}, the first line has "
            f"{_several(ragged[1], 'name')}; correct "
            "the line, or give the right --delimiter."
        )
    if "straddles" in said:
        return source.bad(
            f"a value has more than {max_value_bytes:,} bytes, probably because a quote is not "
            "closed; close or remove it."
        )
    if re.search(r"In CSV column #\d+.*?: CSV conversion error to ", said, re.DOTALL):
        return _bad_number(source, types) or source.bad(said)
    return source.bad(f"it cannot be read ({said}).")


def _several(number: str, what: str) -> str:
    return f"{number} {what}" if number == "1" else f"{number} {what}s"


def _ragged_row(source: Source, types: dict[str, Any]) -> re.Match[str] | None:
    """Read again with one thread, so that pyarrow reports the row."""
    if source.path == "-":
        return None
    options = source.csv_options(dict.fromkeys(types, pa.string()), list(types))
    options["read_options"].use_threads = False
    try:
        for _ in pa_csv.open_csv(source.csv_bytes(), **options):
            pass
    except pa.ArrowInvalid as error:
        return re.search(r"Row #(\d+)", str(error))
    return None


def _undecodable_line(source: Source) -> int | None:
    if source.path == "-":
        return None
    with source.csv_bytes() as stream:
        return first_undecodable(stream, source.encoding or "utf8")


def _bad_number(source: Source, types: dict[str, Any]) -> BadInput | None:
    """Find the first value that does not have the type that the model needs."""
    if source.path == "-":
        return source.bad(
            "a column that should hold numbers has text in it; read from a file to see where."
        )
    wanted = [n for n, t in types.items() if t is not None and t != pa.string()]
    text = dict.fromkeys(wanted, pa.string())
    done = 0
    for batch in pa_csv.open_csv(source.csv_bytes(), **source.csv_options(text, wanted)):
        for name in wanted:
            for i, value in enumerate(batch.column(name).to_pylist()):
                if value is not None and not reads_as(value, types[name], source.decimal):
                    return source.bad(
                        f"column {name!r} has {value!r} in {source.place(done + i)}; expected "
                        f"{format_type(types[name])}, as in the data the model was fitted to. "
                        f"Correct it, or {_remedy(source, value)}."
                    )
        done += batch.num_rows
    return None


def _remedy(source: Source, value: str) -> str:
    if source.decimal == "." and has_decimal_comma(pa.array([value])):
        return "use --decimal , if all numbers have a decimal comma"
    return f"treat it as missing: --missing {value!r}"
