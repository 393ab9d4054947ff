"""Write a reference page for every public module: a table of its names, a page for each."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SUBJECTS = {
    "treerank": "ranking trees",
    "treerank.splitters": "splitting rules",
    "treerank.inspection": "reading a model",
    "treerank.scoring": "from score to decision",
    "treerank.export": "export",
    "treerank.dask": "clusters",
    "treerank.metrics": "measures",
    "treerank.plots": "pictures",
    "treerank.datasets": "data sets and simulated truths",
    "treerank.baselines": "baselines from the papers",
    "treerank.consensus": "consensus of rankings",
    "treerank.approximation": "best approximations of a known curve",
}


def _own_names(module: ModuleType) -> list[str]:
    """Public names that are defined here; what is imported from elsewhere is documented there."""
    return [
        name
        for name in getattr(module, "__all__", [])
        if getattr(getattr(module, name), "__module__", "").startswith("treerank")
    ]


def _page(title: str, module: ModuleType) -> str:
    names = "\n".join(f"   {name}" for name in _own_names(module))
    return (
        f"{title}\n{'=' * len(title)}\n\n"
        f".. currentmodule:: {module.__name__}\n\n"
        f".. autosummary::\n   :toctree: {module.__name__}\n\n{names}\n"
    )


def write_pages(app: Sphinx, config: object) -> None:
    """Write ``generated/<module>.rst`` for the modules that can be imported."""
    folder = Path(app.srcdir) / "generated"
    folder.mkdir(exist_ok=True)
    for name, subject in SUBJECTS.items():
        path = folder / f"{name}.rst"
        try:
            text = _page(f"{name}: {subject}", importlib.import_module(name))
        except ModuleNotFoundError:
            path.unlink(missing_ok=True)
            continue
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def escape_fitted_names(*event: Any) -> None:
    """Keep a type such as ``(n_features_in_,)`` from being read as a link."""
    lines: list[str] = event[-1]  # of the docstring, changed in place
    for i, line in enumerate(lines):
        field, colon, kind = line.partition(" : ")
        if colon and field.strip().isidentifier():
            lines[i] = field + colon + re.sub(r"_(?=[,)])", r"\\_", kind)


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before the sources are looked for."""
    app.connect("config-inited", write_pages)
    app.connect("autodoc-process-docstring", escape_fitted_names, priority=400)  # before numpydoc
    return {"parallel_read_safe": True}
