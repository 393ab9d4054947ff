"""What is public: every module without an underscore says its names, and documents them."""

import importlib
import inspect
import sys
from pathlib import Path

import pytest

import treerank

SOURCE = Path(treerank.__file__).parent
sys.path.append(str(SOURCE.parents[1] / "docs" / "_ext"))
_FOUND = sorted(
    f"treerank.{path.stem}"
    for path in SOURCE.iterdir()
    if not path.name.startswith(("_", "."))
    and (path.suffix == ".py" or (path / "__init__.py").exists())
)
MODULES = ["treerank", *_FOUND]
# The names of the command line are its commands.
DOCUMENTED = [name for name in MODULES if name != "treerank.cli"]


@pytest.mark.parametrize("name", MODULES)
def test_names_are_there_and_say_what_they_are(name):
    module = importlib.import_module(name)
    for public in module.__all__:
        found = getattr(module, public)
        if inspect.isclass(found) or inspect.isroutine(found):
            assert inspect.getdoc(found), f"{name}.{public}"


@pytest.mark.parametrize("name", DOCUMENTED)
def test_nothing_else_looks_public(name):
    module = importlib.import_module(name)
    defined = {
        public
        for public, value in vars(module).items()
        if not public.startswith("_")
        and getattr(value, "__module__", None) == name
        and (inspect.isclass(value) or inspect.isfunction(value))
    }
    assert defined <= set(module.__all__)


def test_every_public_module_has_a_page_in_the_reference():
    public_names = importlib.import_module("public_names")
    assert set(public_names.SUBJECTS) == set(DOCUMENTED)


def test_public_modules_need_no_import_of_their_own():
    with_extras = {"treerank", "treerank.dask"}
    assert {f"treerank.{name}" for name in treerank._MODULES} == set(DOCUMENTED) - with_extras
