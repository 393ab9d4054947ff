"""Benchmarks are not type-checked and run seldom: at least they can be imported."""

from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "benchmarks").rglob("*.py")
    if not path.name.startswith("__")
)


@pytest.mark.parametrize("name", MODULES)
def test_what_a_benchmark_uses_is_there(name):
    try:
        import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in ("benchmarks", "treerank"):
            raise
        pytest.skip(f"{error.name} is not installed")


def test_no_two_tables_share_a_name():
    noisy = import_module("benchmarks.noisy_sets").NAMES
    many_levels = import_module("benchmarks.many_levels_sets").SETS
    assert not set(noisy) & set(many_levels)
