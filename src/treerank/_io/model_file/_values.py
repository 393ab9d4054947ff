"""Store parameters, class labels and levels, which are plain Python values."""

from __future__ import annotations

import math
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from treerank._io.model_file._nodes import DTYPES, NOT_FINITE, Node, format_not_finite
from treerank._leafrank import LeafRank
from treerank._treerank import TreeRank
from treerank.splitters import DyadicGrid

SCALARS = (bool, int, float, str)
# Besides plain values, a parameter may be an unfitted estimator, which is stored by its own
# parameters.
UNFITTED: dict[str, type[Any]] = {
    "LeafRank": LeafRank,
    "DyadicGrid": DyadicGrid,
    "TreeRank": TreeRank,
    "DecisionTreeClassifier": DecisionTreeClassifier,
}


def pack_value(value: Any, what: str) -> Any:
    """Convert a parameter or level to JSON values; arrays stay arrays."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float) and type(value) in SCALARS:
        known = isinstance(value, int) or math.isfinite(value)  # an int may exceed a double
        return value if known else {"float": format_not_finite(value)}
    name = type(value).__name__
    if UNFITTED.get(name) is type(value):
        return {name: pack_parameters(value)}
    if isinstance(value, list):
        return [pack_value(v, what) for v in value]
    if isinstance(value, tuple):
        return {"tuple": [pack_value(v, what) for v in value]}
    if isinstance(value, dict):
        pairs = [[pack_value(k, what), pack_value(v, what)] for k, v in value.items()]
        return {"dict": pairs}
    if hasattr(value, "__array__") and (packed := pack_labels(np.asarray(value))) is not None:
        return {"array": packed}
    raise ValueError(
        f"Got {what} of type {name}, which a model file cannot hold: it holds numbers, text, "
        "lists, arrays, LeafRank and DyadicGrid, and no code. Set it to one of these before "
        "saving, or keep the model with pickle or skops."
    )


def unpack_value(node: Node) -> Any:
    """Reverse of `pack_value`."""
    value = node.value
    if value is None or type(value) in SCALARS:
        return value if not isinstance(value, float) else node.number()
    if isinstance(value, list):
        return [unpack_value(item) for item in node.items()]
    entries = node.entries()
    if len(entries) != 1:
        raise node.error("an object with one field that names a type")
    [(kind, inner)] = entries.items()
    if kind == "float":
        return NOT_FINITE[inner.choice(*NOT_FINITE)]
    if kind == "tuple":
        return tuple(unpack_value(item) for item in inner.items())
    if kind == "dict":
        return dict(_pair(item) for item in inner.items())
    if kind == "array":
        return unpack_labels(inner)
    if kind in UNFITTED:
        return UNFITTED[kind](**unpack_parameters(inner, UNFITTED[kind]))
    raise node.error(f"a float, tuple, dict, array, or one of {', '.join(UNFITTED)}")


def _pair(node: Node) -> tuple[Any, Any]:
    items = node.items()
    if len(items) != 2 or type(items[0].value) not in SCALARS:
        raise node.error("a pair of a key and a value")
    return items[0].value, unpack_value(items[1])


def pack_parameters(model: Any) -> dict[str, Any]:
    """Return all parameters of an estimator except `device`, which does not affect the model."""
    owner = type(model).__name__
    parameters = model.get_params(deep=False)
    parameters.pop("device", None)
    return {n: pack_value(v, f"parameter {n} of {owner}") for n, v in parameters.items()}


def unpack_parameters(node: Node, estimator: type[Any]) -> dict[str, Any]:
    """Return the parameters in a file. Those that are absent keep their defaults."""
    known = signature(estimator).parameters
    parameters = {}
    for name, value in node.entries().items():
        if name not in known:
            raise value.error(f"parameters of {estimator.__name__} only")
        parameters[name] = unpack_value(value)
    return parameters


def pack_labels(labels: NDArray[Any]) -> Any:
    """Return an array of numbers or a list of strings for a file; None for anything else."""
    if labels.dtype.kind in "biuf" and labels.dtype.itemsize <= 8:
        little = labels.astype(labels.dtype.newbyteorder("<"))
        return little if little.dtype.str in DTYPES else None
    if labels.ndim == 1 and all(isinstance(v, str) for v in labels.tolist()):
        return {"text": labels.tolist(), "object": labels.dtype == object}
    return None


def unpack_labels(node: Node) -> NDArray[Any]:
    """Reverse of `pack_labels`."""
    if not isinstance(node.value, dict) or "text" not in node.value:
        return node.any_array()
    fields = node.fields("text", "object")
    text = [item.text() for item in fields["text"].items()]
    return np.array(text, dtype=object if fields["object"].flag() else np.str_)


def pack_classes(classes: NDArray[Any]) -> Any:
    """Return class labels, worst first."""
    packed = pack_labels(classes)
    if packed is None:
        raise ValueError(
            f"Got classes of type {classes.dtype}, which a model file cannot hold; expected "
            "numbers, booleans or text. Fit to such labels, or keep the model with pickle or skops."
        )
    return packed


def unpack_classes(node: Node) -> NDArray[Any]:
    """Return class labels: at least two, all different, worst first."""
    classes = unpack_labels(node)
    if classes.ndim != 1 or len(set(classes.tolist())) < max(2, len(classes)):
        raise node.error("two or more class labels, all different")
    return classes
