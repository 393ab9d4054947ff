"""Render plain data as a page, and write it atomically."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from treerank._io.atomic import atomic_write, find_target

# After an underscore, between lower and upper case, and after a dot between letters.
BREAKS = re.compile(r"(?<=\w_)(?=\w)|(?<=[a-z0-9])(?=[A-Z])|(?<=[a-z]\.)(?=[a-z])")
PAGE_ENDINGS = ("", ".html", ".htm")
PAGE_NAME = "a name that ends in .html: a report is a page for browsers, which can print it to PDF"


def render(context: dict[str, Any], data: dict[str, Any]) -> str:
    """Fill in the template of the report.

    Everything is escaped: names and values as HTML, the data of the script as JSON in which
    no character can end the element around it. Script and style are allowed by their hashes
    only, and nothing may be loaded.
    """
    jinja2 = require_jinja2()
    script = _read("report.js")
    return render_page(
        "report.html.jinja",
        context
        | {
            "data": jinja2.utils.htmlsafe_json_dumps(data, allow_nan=False, separators=(",", ":")),
            "script": jinja2.utils.markupsafe.Markup(script),
            "script_hash": _hash(script),
        },
    )


def render_page(name: str, context: dict[str, Any]) -> str:
    """Fill in a template, with the stylesheet that all pages share."""
    markup = require_jinja2().utils.markupsafe
    style = _read("report.css")
    shared = {"style": markup.Markup(style), "style_hash": _hash(style)}
    return str(_environment().get_template(name).render(context | shared))


@cache
def _environment() -> Any:
    """Keep compiled templates: compiling them takes longer than most pages do."""
    jinja2 = require_jinja2()
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "pct": percent,
        "num": number,
        "weight": weight,
        "area": area,
        "breakable": lambda text: breakable(str(text)),
    }
    return environment


def breakable(text: str) -> Any:
    """Escape a text, and allow line breaks in long names at underscores, capitals and dots."""
    markup = require_jinja2().utils.markupsafe
    parts = [markup.escape(part) for part in re.split(BREAKS, text)]
    return markup.Markup("<wbr>").join(parts)


def _read(name: str) -> str:
    return (resources.files("treerank._report") / name).read_text(encoding="utf-8")


def require_jinja2() -> Any:
    """Return jinja2; an error says how to install it."""
    try:
        import jinja2  # noqa: PLC0415
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "A report needs jinja2; install it, or treerank-ml[report]."
        ) from None
    return jinja2


def is_page_name(path: Path) -> bool:
    """Whether a page may have this name; with another ending it would pass for another format."""
    return path.suffix.lower() in PAGE_ENDINGS


def check_page(out: Any) -> Path | None:
    """Raise if a page cannot be written to this path, before any work is done."""
    path = check_out(out)
    if path is not None and not is_page_name(path):
        raise ValueError(f"Got out={str(path)!r}; expected {PAGE_NAME}.")
    return path


def check_out(out: Any, name: str = "out") -> Path | None:
    """Raise if a path cannot be written, before any work is done."""
    if out is None:
        return None
    try:
        path = Path(out)
    except TypeError:
        raise TypeError(f"Got {name}={out!r}; expected a path, or None for the text.") from None
    if path.is_dir():
        raise IsADirectoryError(f"Got {name}={str(path)!r}, a folder; expected the path of a file.")
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"Got {name}={str(path)!r}; expected a path in a folder that is there."
        )
    if not os.access(find_target(path).parent, os.W_OK):
        raise PermissionError(f"Got {name}={str(path)!r}; expected a folder that can be written.")
    return path


def write(text: str, path: Path) -> None:
    """Write the page atomically."""
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")


def percent(value: float | None, digits: int = 1) -> str:
    """Format a share; the script does the same."""
    return "–" if value is None else f"{_fixed(100 * value, digits)}%"


def number(value: float | None, digits: int = 4) -> str:
    """Format a number with this many digits."""
    return "–" if value is None else f"{value:.{digits}g}"


def area(value: float | None, decimals: int = 4) -> str:
    """Format an AUC or a similar measure."""
    return "–" if value is None else f"{_fixed(value, decimals)}"


def weight(value: float) -> str:
    """Format a number of rows, or the sum of their weights."""
    return f"{_fixed(value, 1):,}".removesuffix(".0")


def _fixed(value: float, digits: int) -> Decimal:
    """Round halves up, as JavaScript does and Python does not: 6.25 becomes 6.3 in both."""
    if not np.isfinite(value):
        return Decimal(value)
    rounded = Decimal(float(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return rounded + 0  # not -0.00


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
