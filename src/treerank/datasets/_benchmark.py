"""Real data sets that the papers and the benchmarks of this library use.

The package contains no data. A set is searched for in a folder, then among scikit-learn's own
files, then at OpenML, and what is found is checked against the facts in ``benchmark_sets.csv``.
"""

import csv
import gzip
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml, load_breast_cancer, load_iris, load_wine

_TASKS = ("binary", "ordinal", "multiclass", "regression")


class BenchmarkUnavailableError(OSError):
    """A benchmark set is not in the folder and could not be fetched."""


class BenchmarkMismatchError(ValueError):
    """A benchmark set was found, but it is not the one that the papers used."""


@dataclass(frozen=True, eq=False)
class BenchmarkSet:
    """A real data set.

    Attributes
    ----------
    name, task : str
        The task is ``"binary"``, ``"ordinal"``, ``"multiclass"`` or ``"regression"``.
    X : DataFrame or ndarray
        A pandas frame, with categorical columns and with NaN for missing values. Without pandas, an
        array of floats, or of objects if there are categorical columns.
    y : ndarray
        Binary labels are 0 and 1, where 1 is the class of interest; others are those of the source.
    feature_names, categorical_features : tuple of str
        All columns of X, and the categorical ones.
    source : str
        Where the set came from: a path, ``"scikit-learn"`` or ``"OpenML 31"``.
    """

    name: str
    task: str
    X: Any
    y: NDArray[Any]
    feature_names: tuple[str, ...]
    categorical_features: tuple[str, ...]
    source: str


@dataclass(frozen=True)
class _Facts:
    """One line of ``benchmark_sets.csv``: what a set must be, and how to convert its source."""

    name: str
    task: str
    rows: int
    features: int
    missing: int  # cells; if 0, rows with missing values are dropped from the source
    classes: dict[str, int]
    openml_id: int | None
    openml_target: str  # column, if not OpenML's default
    openml_labels: tuple[str, ...]  # OpenML's names of the labels 0, 1, …
    cut: float | None  # targets above this get label 1
    drop: tuple[str, ...]
    categorical: tuple[str, ...]


def list_benchmarks(task: str | None = None) -> list[str]:
    """Return the names of the benchmark sets.

    Parameters
    ----------
    task : {"binary", "ordinal", "multiclass", "regression"}, default=None
        Only sets of this task.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from treerank.datasets import list_benchmarks
    >>> list_benchmarks(task="regression")
    ['auto_mpg']
    """
    if task is not None and task not in _TASKS:
        raise ValueError(f"Got task={task!r}; expected one of {', '.join(_TASKS)} or None.")
    return [name for name, facts in _read_facts().items() if task in (None, facts.task)]


def load_benchmark(
    name: str, *, folder: str | os.PathLike[str] | None = None, data_home: str | None = None
) -> BenchmarkSet:
    """Load a real data set by name, from a folder, from scikit-learn or from OpenML.

    Rows, columns and class counts are checked, so that a different set of the same name is
    rejected.

    Parameters
    ----------
    name : str
        One of `list_benchmarks`.
    folder : path, default=None
        Folder that contains ``NAME.csv.gz`` or ``NAME.csv``, with a header, the label in the column
        ``label`` and empty cells for missing values. By default the folder named by the environment
        variable ``TREERANK_DATA``; if it is not set, the set comes from scikit-learn or OpenML.
    data_home : str, default=None
        Where `sklearn.datasets.fetch_openml` caches its downloads.

    Returns
    -------
    BenchmarkSet

    Raises
    ------
    BenchmarkUnavailableError
        The set is not available; the message says how to get it.
    BenchmarkMismatchError
        A different set was found.

    Examples
    --------
    >>> from treerank.datasets import load_benchmark
    >>> wdbc = load_benchmark("wdbc")
    >>> wdbc.task, wdbc.X.shape, int(wdbc.y.sum())
    ('binary', (569, 30), 212)
    """
    facts = _read_facts().get(name)
    if facts is None:
        raise ValueError(f"Got name={name!r}; expected one of list_benchmarks().")
    path = _find_file(name, folder)
    if path is not None:
        found = _read_file(path, facts)
    elif name in _BUNDLED:
        found = _BUNDLED[name](facts)
    else:
        found = _fetch(facts, data_home)
    _check(found, facts)
    return found


@cache
def _read_facts() -> dict[str, _Facts]:
    table = resources.files(__package__).joinpath("benchmark_sets.csv")
    with table.open(encoding="utf-8") as lines:
        return {line["name"]: _parse_facts(line) for line in csv.DictReader(lines)}


def _parse_facts(line: dict[str, str]) -> _Facts:
    counts = (entry.rsplit(":", 1) for entry in line["classes"].split())
    return _Facts(
        name=line["name"],
        task=line["task"],
        rows=int(line["rows"]),
        features=int(line["features"]),
        missing=int(line["missing"]),
        classes={label: int(count) for label, count in counts},
        openml_id=int(line["openml_id"]) if line["openml_id"] else None,
        openml_target=line["openml_target"],
        openml_labels=_split(line["openml_labels"]),
        cut=float(line["cut"]) if line["cut"] else None,
        drop=_split(line["drop"]),
        categorical=_split(line["categorical"]),
    )


def _split(words: str) -> tuple[str, ...]:
    return tuple(words.split("|")) if words else ()


def _pandas() -> Any:
    """Return pandas, or None if it is not installed."""
    try:
        import pandas  # noqa: PLC0415
    except ImportError:
        return None
    return pandas


def _find_file(name: str, folder: str | os.PathLike[str] | None) -> Path | None:
    place = folder if folder is not None else os.environ.get("TREERANK_DATA")
    if not place:
        return None
    paths = (Path(place) / f"{name}{ending}" for ending in (".csv.gz", ".csv"))
    return next((path for path in paths if path.is_file()), None)


def _read_file(path: Path, facts: _Facts) -> BenchmarkSet:
    """Read a set from a CSV file in the format of `load_benchmark`."""
    pandas = _pandas()
    if pandas is None:
        return _read_file_as_array(path, facts)
    # Only an empty cell is missing: "NA" and "None" are categories of some sets.
    frame = pandas.read_csv(
        path,
        dtype=dict.fromkeys(facts.categorical, str),
        keep_default_na=False,
        na_values=[""],
        low_memory=False,
    )
    if "label" not in frame:
        raise BenchmarkMismatchError(f"Got {path} without a column 'label'.")
    labels = frame.pop("label")
    frame = frame.astype({column: "category" for column in facts.categorical if column in frame})
    return _from_frame(frame, labels.to_numpy(), facts, str(path))


def _read_file_as_array(path: Path, facts: _Facts) -> BenchmarkSet:
    opener: Callable[..., Any] = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", newline="") as lines:
        header, *rows = csv.reader(lines)
    columns = dict(zip(header, zip(*rows, strict=True), strict=True))
    labels = columns.pop("label", None)
    if labels is None:
        raise BenchmarkMismatchError(f"Got {path} without a column 'label'.")
    names = tuple(column for column in columns if column not in facts.drop)
    dtype = object if facts.categorical else np.float64
    X = np.column_stack(
        [_as_values(columns[column], column in facts.categorical, dtype) for column in names]
    )
    return BenchmarkSet(
        facts.name, facts.task, X, _as_labels(labels, facts), names, facts.categorical, str(path)
    )


def _as_values(cells: Sequence[str], categorical: bool, dtype: Any) -> NDArray[Any]:
    if categorical:
        return np.array([cell or np.nan for cell in cells], dtype=object)
    return np.array([cell or "nan" for cell in cells]).astype(np.float64).astype(dtype)


def _from_frame(frame: Any, labels: NDArray[Any], facts: _Facts, source: str) -> BenchmarkSet:
    """Convert a frame from any source to a benchmark set."""
    frame = frame.drop(columns=[column for column in facts.drop if column in frame])
    if facts.missing == 0:
        complete = frame.notna().all(axis=1).to_numpy()
        frame, labels = frame[complete].reset_index(drop=True), labels[complete]
    categories = tuple(frame.columns[frame.dtypes == "category"])
    return BenchmarkSet(
        facts.name,
        facts.task,
        frame,
        _as_labels(labels, facts),
        tuple(frame.columns),
        categories,
        source,
    )


def _as_labels(labels: Sequence[Any] | NDArray[Any], facts: _Facts) -> NDArray[Any]:
    """Return labels as integers or other numbers if possible, otherwise as text."""
    text = np.asarray(labels).astype(str)
    if facts.task == "regression":
        return text.astype(np.float64)
    try:
        numbers = text.astype(np.float64)
    except ValueError:
        return text
    return numbers.astype(np.int64) if np.all(numbers == np.round(numbers)) else numbers


def _from_scikit_learn(
    loader: Callable[..., Any], labels: Callable[[Any], NDArray[Any]], facts: _Facts
) -> BenchmarkSet:
    bunch = loader(as_frame=_pandas() is not None)
    names = tuple(
        re.sub(r"\W+", "_", name.removesuffix(" (cm)")) for name in map(str, bunch.feature_names)
    )
    X = bunch.data
    if _pandas() is not None:
        X = X.set_axis(list(names), axis=1)
    y = _as_labels(labels(bunch), facts)
    return BenchmarkSet(facts.name, facts.task, X, y, names, (), "scikit-learn")


# In scikit-learn's breast cancer data 0 is malignant; its wines count from 0, UCI's from 1.
_BUNDLED: dict[str, Callable[[_Facts], BenchmarkSet]] = {
    "wdbc": lambda facts: _from_scikit_learn(
        load_breast_cancer, lambda bunch: 1 - np.asarray(bunch.target), facts
    ),
    "iris": lambda facts: _from_scikit_learn(
        load_iris, lambda bunch: bunch.target_names[np.asarray(bunch.target)], facts
    ),
    "wine": lambda facts: _from_scikit_learn(
        load_wine, lambda bunch: 1 + np.asarray(bunch.target), facts
    ),
}


def _fetch(facts: _Facts, data_home: str | None) -> BenchmarkSet:
    """Download a set from OpenML."""
    remedy = (
        f"put {facts.name}.csv.gz, with its label in the column 'label', into the folder that the "
        "environment variable TREERANK_DATA names"
    )
    if facts.openml_id is None:
        raise BenchmarkUnavailableError(
            f"The set {facts.name!r} is not in the data folder, and no OpenML number is known for "
            f"it: {remedy}."
        )
    if _pandas() is None:
        raise BenchmarkUnavailableError(
            f"Fetching {facts.name!r} from OpenML needs pandas: install it, or {remedy}."
        )
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="A network error occurred")
            bunch = fetch_openml(
                data_id=facts.openml_id,
                target_column=facts.openml_target or "default-target",
                as_frame=True,
                # With pandas 3.1, the faster parser fails on categories that are numbers.
                parser="liac-arff",
                data_home=data_home,
                n_retries=1,
            )
    except (OSError, ValueError, KeyError) as error:
        raise BenchmarkUnavailableError(
            f"The set {facts.name!r} is not in the data folder and could not be fetched as OpenML "
            f"data_id={facts.openml_id} ({error}): check the network, or {remedy}."
        ) from error
    labels = _translate(bunch.target.astype(str).to_numpy(), facts)
    return _from_frame(bunch.data, labels, facts, f"OpenML {facts.openml_id}")


def _translate(labels: NDArray[Any], facts: _Facts) -> NDArray[Any]:
    """Translate OpenML's labels to those of this package."""
    if facts.cut is not None:
        return (labels.astype(np.float64) > facts.cut).astype(np.int64)
    if not facts.openml_labels:
        return labels
    codes = {label: code for code, label in enumerate(facts.openml_labels)}
    # Case differs between versions of a set ("true", "True"); an unknown label fails the check.
    folded = {label.casefold(): code for label, code in codes.items()}
    return np.array([folded.get(label.casefold(), -1) for label in labels.astype(str)])


def _check(found: BenchmarkSet, facts: _Facts) -> None:
    """Raise an error if a set differs from the expected rows, columns or class counts."""
    if found.X.shape != (facts.rows, facts.features):
        raise BenchmarkMismatchError(
            f"Got {found.X.shape[0]} rows and {found.X.shape[1]} features for {facts.name!r} from "
            f"{found.source}; expected {facts.rows} rows and {facts.features} features."
        )
    if facts.task == "regression":
        return
    counts = dict(Counter(found.y.astype(str).tolist()))
    same = counts == facts.classes
    # Sources name the classes of unordered sets differently, but the class sizes must agree.
    if facts.task == "multiclass":
        same = sorted(counts.values()) == sorted(facts.classes.values())
    if not same:
        raise BenchmarkMismatchError(
            f"Got class counts {counts} for {facts.name!r} from {found.source}; expected "
            f"{facts.classes}."
        )
