"""The guide can be read from page to page, as plain text too."""

import re
from itertools import pairwise
from pathlib import Path

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide"


def pages():
    """Pages in the order of the guide, without the list of words, which is for looking up."""
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", (GUIDE / "index.md").read_text(), re.S)
    names = re.findall(r"^\w+$", "\n".join(blocks), re.M)
    return [name for name in names if name != "words"]


def test_the_guide_lists_every_page():
    assert {*pages(), "words", "index"} == {path.stem for path in GUIDE.glob("*.md")}


def test_a_page_that_names_the_next_one_names_the_one_that_follows():
    order = pages()
    following = dict(pairwise(order))
    named = {
        name: found[1]
        for name in order
        if (
            found := re.search(
                r"^Next: \[[^]]*\]\((\w+)\.md\)", (GUIDE / f"{name}.md").read_text(), re.M
            )
        )
    }
    assert len(named) > len(order) / 2
    assert named == {name: following[name] for name in named}
