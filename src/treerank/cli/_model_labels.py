"""Labels of new rows in the words of a model's classes."""

from __future__ import annotations

from treerank._input.label_order import label_order_of
from treerank._input.types import FittedClassifier
from treerank.cli._errors import BadInput


def in_the_models_words(
    model: FittedClassifier, labels: list[str], positive: str | None
) -> list[str]:
    """Return labels as the model was fitted to them, possibly one label against all others.

    Raises if `positive` is not the label that the model ranks first.
    """
    classes = label_order_of(model)
    first = str(classes[-1])
    if classes.dtype == bool and positive is not None:  # fitted to boolean labels
        return [str(label == positive) for label in labels]
    if positive is not None and spelling(positive) != spelling(first):
        raise BadInput(
            f"Got --positive {positive}; the model ranks the label {first} first. Leave --positive "
            "out."
        )
    if str(classes[0]) == f"not {first}":
        return [label if label == first else f"not {first}" for label in labels]
    return labels


def spelling(text: str) -> str:
    """Normalize the spelling of numbers: 1, 1.0 and 01 are the same label."""
    try:
        return repr(float(text))
    except ValueError:
        return text.casefold() if text.casefold() in ("true", "false") else text
