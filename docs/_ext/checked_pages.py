"""Run the Python blocks of a Markdown page and compare what they print with the page.

A ``text`` block that follows a ``python`` block directly is its output. A block may
end with an exception; its output is then the exception's type and message. The blocks of a
page share their variables. The site is built with warnings as errors, so a page that
shows what the code does not print stops the build. Files that a page writes are thrown away, but
for pictures: ``--write`` keeps them beside the page, which shows them.

    python docs/_ext/checked_pages.py docs/guide/*.md            # compare
    python docs/_ext/checked_pages.py --write docs/guide/*.md    # put the real output in
"""

import argparse
import io
import re
import shutil
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)


def _run(code: str, variables: dict[str, object], where: str) -> str:
    """Execute a block and return what it prints."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        try:
            exec(compile(code, where, "exec"), variables)
        except Exception as error:
            print("".join(traceback.format_exception_only(error)).rstrip())
    return "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines())


def real_page(page: Path, *, keep_pictures: bool = False) -> str:
    """Return the text of the page with the real output of every block."""
    page = page.resolve()
    variables: dict[str, object] = {"__name__": page.stem}

    def with_output(block: re.Match[str]) -> str:
        output = _run(block["code"], variables, f"{page.name}: example")
        shown = f"\n```text\n{output}```\n" if output else ""
        return f"```python\n{block['code']}```\n{shown}"

    sys.path.insert(0, str(page.parent))  # a page may import a file beside it
    try:
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            text = BLOCK.sub(with_output, page.read_text(encoding="utf-8"))
            for picture in Path().glob("*.png") if keep_pictures else ():
                shutil.copy(picture, page.parent)
            return text
    finally:
        sys.path.remove(str(page.parent))


def wrong_lines(page: Path) -> Iterator[str]:
    """Yield the lines by which the page and reality differ."""
    said = page.read_text(encoding="utf-8").splitlines()
    real = real_page(page).splitlines()
    for number, (a, b) in enumerate(zip(said, real, strict=False), start=1):
        if a != b:
            yield f"{page.name}:{number}: page says {a!r}, code prints {b!r}"
    if len(said) != len(real):
        yield f"{page.name}: the page has {len(said)} lines, with real output {len(real)}"


def _check_all(app) -> None:
    from sphinx.util.logging import getLogger  # noqa: PLC0415

    pages = [ROOT / "README.md", ROOT / "docs/index.md", *sorted(ROOT.glob("docs/guide/*.md"))]
    for page in pages:
        for line in wrong_lines(page):
            getLogger(__name__).warning(line)


def setup(app) -> dict[str, bool]:
    """Check the guide and the README before the site is built."""
    app.connect("builder-inited", _check_all)
    return {"parallel_read_safe": True}


def main() -> int:
    """Compare or rewrite the pages given on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the real output into the pages")
    parser.add_argument("pages", nargs="+", type=Path)
    options = parser.parse_args()
    if options.write:
        for page in options.pages:
            page.write_text(real_page(page, keep_pictures=True), encoding="utf-8")
        return 0
    wrong = [line for page in options.pages for line in wrong_lines(page)]
    print("\n".join(wrong) or f"{len(options.pages)} pages are right")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
