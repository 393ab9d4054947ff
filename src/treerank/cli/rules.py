"""`treerank rules`: the strata of a tree as text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import treerank
from treerank._input.label_order import label_order_of
from treerank.cli._errors import BadInput, one_line_errors
from treerank.cli._json import grades_of, print_json, strata_of
from treerank.cli._models import unwrap
from treerank.cli._options import Json


def rules(
    model: Annotated[Path, typer.Argument(help="A model file of a tree.")], json: Json = False
) -> None:
    """Print the strata of a tree and their rules in words."""
    with one_line_errors():
        loaded = treerank.load(model)
        text = as_text(loaded, model)
        if json:
            tree, card = unwrap(loaded)
            grades = {} if card is None or card.grades_ is None else {"grades": grades_of(card)}
            print_json({"classes": label_order_of(tree), **grades, "strata": strata_of(tree)})
        else:
            print(text)


def as_text(loaded: Any, path: Path) -> str:
    """Return a model as text; raise if it cannot be written as text."""
    from treerank.export import to_text  # noqa: PLC0415

    try:
        return to_text(loaded)
    except TypeError as error:
        raise BadInput(f"{path}: {error}") from None
