"""CONTRIBUTING.md names files and functions that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
# Places from which the page names files.
FOLDERS = [ROOT / place for place in (".", "src", "src/treerank", "src/core")]
MADE = ("build/", ".venv", "docs/_build")  # by make; not in the repository


def find(name):
    """Files or folders of that name; without an ending, a source and its header."""
    names = (name, f"{name}.?pp")
    return [path for folder in FOLDERS for each in names for path in folder.glob(each)]


def paths_named():
    quoted = re.findall(r"`([\w./*-]+/[\w./*-]*)`", TEXT)
    return [name for name in quoted if not name.startswith(MADE) and "<" not in name]


def test_files_and_folders_are_there():
    named = paths_named()
    assert len(named) > 30
    assert [name for name in named if not find(name)] == []


def test_names_are_in_the_files_that_are_said_to_have_them():
    pairs = re.findall(r"`(\w+)`\s+(?:\(|of |in )`([\w./-]+\.(?:py|[ch]pp))`", TEXT)
    assert len(pairs) >= 5
    wrong = [
        (name, place)
        for name, place in pairs
        if not any(re.search(rf"\b{name}\b", path.read_text()) for path in find(place))
    ]
    assert wrong == []
