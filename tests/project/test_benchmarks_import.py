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
