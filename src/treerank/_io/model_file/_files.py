"""Save and load estimators: the name, the parameters, and the attributes that `fit` has set."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from treerank._boosting import BoostedTreeRank
from treerank._forest import RankingForest
from treerank._geometric import GeometricRanker
from treerank._input.parameters import check_n_jobs
from treerank._io.atomic import atomic_write
from treerank._io.model_file._baselines import BASELINES, pack_baseline, unpack_baseline
from treerank._io.model_file._boosted import pack_boosted, unpack_boosted
from treerank._io.model_file._containers import read_container, write_container
from treerank._io.model_file._errors import ModelFileError
from treerank._io.model_file._forests import pack_forest, unpack_forest
from treerank._io.model_file._geometric import (
    pack_geometric,
    pack_geometric_parameters,
    unpack_geometric,
)
from treerank._io.model_file._nodes import Node
from treerank._io.model_file._scorecards import pack_scorecard, unpack_scorecard
from treerank._io.model_file._tree_models import RANKERS, pack_ranker, unpack_ranker
from treerank._io.model_file._values import pack_parameters, unpack_parameters
from treerank.scoring._scorecard import unwrap

FORMAT = "treerank-model"
FORMAT_NUMBER = 1
DEFAULT_LIMIT = 2**30
NO_LIMIT = 2**62  # bytes; for files that this process has written itself

ESTIMATORS: dict[str, type[Any]] = {
    **RANKERS,
    "RankingForest": RankingForest,
    "BoostedTreeRank": BoostedTreeRank,
    "GeometricRanker": GeometricRanker,
    **BASELINES,
}
PACKERS: dict[str, tuple[Any, Any]] = {
    **dict.fromkeys(RANKERS, (pack_ranker, unpack_ranker)),
    "RankingForest": (pack_forest, unpack_forest),
    "BoostedTreeRank": (pack_boosted, unpack_boosted),
    "GeometricRanker": (pack_geometric, unpack_geometric),
    **dict.fromkeys(BASELINES, (pack_baseline, unpack_baseline)),
}


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file that contains no code.

    A tree is stored as readable JSON; many trees, or a model with large arrays, as a zip of JSON
    and raw arrays. The file is written under a temporary name, read back with all checks of
    :func:`load`, and then renamed, so that it appears complete or not at all. The same model
    always gives the same bytes.

    Parameters
    ----------
    model : estimator
        Any fitted estimator of the library or of :mod:`treerank.baselines`, alone or with its
        grades and points (:class:`treerank.scoring.Scorecard`). A tree or forest must be
        split by `LeafRank` or `DyadicGrid`, since classifiers and functions are code. The
        scikit-learn tree of a `GeometricRanker` is loaded as a mapping of its arrays.
    path : path-like
        Any name; ``.json`` for trees and ``.treerank`` for forests are customary. For a symbolic
        link, the file that it points to is replaced. Devices and pipes are rejected.

    See Also
    --------
    load : Read the estimator back.

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
    given, (model, _) = model, unwrap(model)
    name = type(model).__name__
    if hasattr(model, "to_local"):
        raise TypeError(f"Got a {name}; expected its local copy. Pass model.to_local().")
    if ESTIMATORS.get(name) is not type(model):
        raise TypeError(
            f"Got a {name}; expected one of {', '.join(ESTIMATORS)}. Of a pipeline or a search "
            "pass the model inside, pipeline[-1] or best_estimator_; keep others with pickle or "
            "skops."
        )
    check_is_fitted(model)
    document = _pack(given)
    with atomic_write(path) as temporary:
        zipped = isinstance(model, RankingForest | BoostedTreeRank)
        write_container(temporary, document, zipped)
        _check_written(temporary, document)


def _pack(model: Any) -> dict[str, Any]:
    model, card = unwrap(model)
    name = type(model).__name__
    pack = pack_geometric_parameters if isinstance(model, GeometricRanker) else pack_parameters
    document = {
        "format": FORMAT,
        "format_number": FORMAT_NUMBER,
        "written_by": f"treerank-ml {version('treerank-ml')}",
        "estimator": name,
        "parameters": pack(model),
        "fitted": PACKERS[name][0](model),
    }
    return document if card is None else document | {"scorecard": pack_scorecard(card)}


def _check_written(path: Path, document: dict[str, Any]) -> None:
    """Raise if the model cannot be loaded unchanged, before the old file is replaced."""
    try:
        with ExitStack() as stack:
            again = _pack(_unpack(read_container(path, NO_LIMIT, stack)))
        changed = _first_difference(document, again, "")
        said = f"what is at {changed} would not come back as it is."
    except ModelFileError as error:
        changed, said = "", f"it could not be loaded again ({str(error).rstrip('.')})."
    if changed is not None:
        raise ValueError(
            f"Got a {document['estimator']} that a model file cannot hold: {said} Keep it with "
            "pickle or skops."
        )


def _first_difference(a: Any, b: Any, path: str) -> str | None:
    """Path at which two documents differ; None if they are bitwise equal."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        pairs = [(a[key], b[key], f"{path}.{key}") for key in a]
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        pairs = [(x, y, f"{path}[{i}]") for i, (x, y) in enumerate(zip(a, b, strict=True))]
    elif isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        alike = a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
        return None if alike else path
    elif isinstance(a, dict | list) or isinstance(b, dict | list):
        return path
    else:  # compared as JSON, where 1, 1.0 and true differ
        return None if json.dumps(a) == json.dumps(b) else path
    found = (_first_difference(*pair) for pair in pairs)
    return next((where for where in found if where is not None), None)


def load(path: str | os.PathLike[str], *, max_bytes: int = DEFAULT_LIMIT) -> Any:
    """Read an estimator from a file that :func:`save` has written.

    No code is executed, and nothing is used before it is checked: a damaged or hostile file
    raises `ModelFileError`, and does not crash the process. Scores are bitwise equal to those of
    the saved estimator.

    Parameters
    ----------
    path : path-like
    max_bytes : int, default=2**30
        Largest size of the file, and of its unpacked content.

    Returns
    -------
    estimator
        Fitted, of the class that was saved; a :class:`treerank.scoring.Scorecard` if the model
        was saved with one.

    Raises
    ------
    ModelFileError
        If the file is not a valid model file.
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
        "format", "format_number", "written_by", "estimator", "parameters", "fitted",
        optional=["scorecard"],
    )  # fmt: skip
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
        if "scorecard" in fields:
            return unpack_scorecard(fields["scorecard"], model)
    except ModelFileError:
        raise
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"Got values that do not fit together: {error}") from error
    return model
