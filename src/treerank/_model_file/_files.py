"""Save and load: the estimator's name, its parameters, and what `fit` has set."""

from __future__ import annotations

import os
from contextlib import ExitStack
from importlib.metadata import version
from typing import Any

from sklearn.utils.validation import check_is_fitted

from treerank._boosting import BoostedTreeRank
from treerank._forest import RankingForest
from treerank._geometric import GeometricRanker
from treerank._model_file._boosted import pack_boosted, unpack_boosted
from treerank._model_file._containers import read_container, write_container
from treerank._model_file._errors import ModelFileError
from treerank._model_file._forests import pack_forest, unpack_forest
from treerank._model_file._geometric import (
    pack_geometric,
    pack_geometric_parameters,
    unpack_geometric,
)
from treerank._model_file._nodes import Node
from treerank._model_file._rivals import RIVALS, pack_rival, unpack_rival
from treerank._model_file._tree_models import RANKERS, pack_ranker, unpack_ranker
from treerank._model_file._values import pack_parameters, unpack_parameters
from treerank._params import check_n_jobs

FORMAT = "treerank-model"
FORMAT_NUMBER = 1
DEFAULT_LIMIT = 2**30

ESTIMATORS: dict[str, type[Any]] = {
    **RANKERS,
    "RankingForest": RankingForest,
    "BoostedTreeRank": BoostedTreeRank,
    "GeometricRanker": GeometricRanker,
    **RIVALS,
}
PACKERS: dict[str, tuple[Any, Any]] = {
    **dict.fromkeys(RANKERS, (pack_ranker, unpack_ranker)),
    "RankingForest": (pack_forest, unpack_forest),
    "BoostedTreeRank": (pack_boosted, unpack_boosted),
    "GeometricRanker": (pack_geometric, unpack_geometric),
    **dict.fromkeys(RIVALS, (pack_rival, unpack_rival)),
}


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file that holds no code.

    A tree becomes JSON that a person can read; many trees, or a model with large arrays, a zip of
    JSON and raw arrays. The file is written under a temporary name and renamed, so that it is
    there whole or not at all. The same model gives the same bytes.

    Parameters
    ----------
    model : estimator
        Fitted: any of the library, or of :mod:`treerank.baselines`. A tree or forest must be
        split by `LeafRank` or `DyadicGrid`: classifiers and functions are code. Of a
        `GeometricRanker`, a tree of scikit-learn comes back as the mapping of its arrays.
    path : path-like
        Any name; ``.json`` for trees and ``.treerank`` for forests are the custom.

    See Also
    --------
    load : the reverse.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> import treerank
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = treerank.TreeRank().fit(X, y)
    >>> path = os.path.join(tempfile.mkdtemp(), "model.json")
    >>> treerank.save(model, path)
    >>> again = treerank.load(path)
    >>> bool((again.score_samples(X) == model.score_samples(X)).all())
    True
    """
    name = type(model).__name__
    if hasattr(model, "to_local"):
        raise TypeError(f"Got a {name}; expected its local copy. Pass model.to_local().")
    if ESTIMATORS.get(name) is not type(model):
        raise TypeError(
            f"Got a {name}; expected one of {', '.join(ESTIMATORS)}. Keep other models with "
            "pickle or skops."
        )
    check_is_fitted(model)
    pack = pack_geometric_parameters if isinstance(model, GeometricRanker) else pack_parameters
    document = {
        "format": FORMAT,
        "format_number": FORMAT_NUMBER,
        "written_by": f"treerank-ml {version('treerank-ml')}",
        "estimator": name,
        "parameters": pack(model),
        "fitted": PACKERS[name][0](model),
    }
    write_container(path, document, zipped=isinstance(model, RankingForest | BoostedTreeRank))


def load(path: str | os.PathLike[str], *, max_bytes: int = DEFAULT_LIMIT) -> Any:
    """Read an estimator from a file that :func:`save` has written.

    No code runs, and nothing is used before it is checked: a damaged or hostile file gets a
    `ModelFileError`, and no crash. The estimator scores as the saved one did, to the bit.

    Parameters
    ----------
    path : path-like
    max_bytes : int, default=2**30
        Largest size of the file, and of what it unpacks to.

    Returns
    -------
    estimator
        Fitted, of the class that was saved.

    Raises
    ------
    ModelFileError
        If the file is no model file, or not sound.
    """
    try:
        with ExitStack() as stack:
            return _unpack(read_container(path, max_bytes, stack))
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error.__cause__


def _unpack(document: Node) -> Any:
    if not isinstance(document.value, dict) or document.value.get("format") != FORMAT:
        raise ModelFileError(f"Got no field format={FORMAT!r}; expected a model file.")
    fields = document.fields(
        "format", "format_number", "written_by", "estimator", "parameters", "fitted"
    )
    number = fields["format_number"].value
    if type(number) is not int or number != FORMAT_NUMBER:
        raise ModelFileError(
            f"Got format number {number!r}; this version of treerank reads {FORMAT_NUMBER}. "
            f"The file says it was written by {fields['written_by'].value!r}."
        )
    fields["written_by"].text()
    name = fields["estimator"].choice(*ESTIMATORS)
    estimator = ESTIMATORS[name]
    parameters = unpack_parameters(fields["parameters"], estimator)
    try:
        model = estimator(**parameters)
        check_n_jobs(getattr(model, "n_jobs", None))
        PACKERS[name][1](fields["fitted"], model)
    except ModelFileError:
        raise
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"Got values that do not fit together: {error}") from error
    return model
