"""Random tables, labels and weights for the fuzzer, valid and invalid."""

from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

ODD_NUMBERS = [
    0.0, -0.0, 1.0, -1.0, 1e308, -1e308, 1.7976931348623157e308, 5e-324, -5e-324, 2.2e-308, 1e-300,
    1e154, -1e200, 2.0**53, 2.0**53 + 2, 2.0**63, -(2.0**64), 1e38, 3.5e38, 0.1, 1 / 3,
]  # fmt: skip
ODD_TEXT = [
    "",
    " ",
    "a",
    "A",
    "ä",
    "a\0b",
    "[i]",
    "nan",
    "None",
    "1",
    "1.0",
    "'",
    '"',
    "\n",
    "x" * 9,
]
SURROGATE = "lone \ud800"


def plain_numbers(rng, n):
    """Return floats that any estimator should accept."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.integers(-2, 3, size=n).astype(float)
    if kind == 1:
        return np.full(n, 7.0)
    return rng.normal(size=n) * 10.0 ** rng.integers(-6, 6)


def numbers(rng, n):
    """Return floats of one of several kinds, some of them missing."""
    kind = rng.choice(["normal", "few", "odd", "constant", "huge", "tiny", "missing", "ladder"])
    if kind == "normal":
        values = rng.normal(size=n)
    elif kind == "few":
        values = rng.integers(-2, 3, size=n).astype(float)
    elif kind == "odd":
        values = rng.choice(ODD_NUMBERS, size=n)
    elif kind == "constant":
        values = np.full(n, rng.choice(ODD_NUMBERS))
    elif kind == "huge":
        values = rng.choice([-1e308, 1e308, 1.2e308, 0.0], size=n)
    elif kind == "tiny":
        values = rng.choice([0.0, 5e-324, 1e-323, -5e-324, 1e-310], size=n)
    elif kind == "missing":
        values = np.full(n, np.nan)
    else:
        values = np.nextafter(1.0, 2.0) + np.arange(n) * np.finfo(float).eps
    if rng.random() < 0.3:
        values = np.where(rng.random(n) < rng.random(), np.nan, values)
    return values


def whole_numbers(rng, n, dtype):
    limits = np.iinfo(dtype)
    kind = rng.integers(3)
    if kind == 0:
        return rng.choice([limits.min, limits.max, 0, 1], size=n).astype(dtype)
    if kind == 1:
        return rng.integers(limits.min, limits.max, size=n, dtype=dtype, endpoint=True)
    return rng.integers(0, 5, size=n).astype(dtype)


def texts(rng, n, unseen):
    """Return text of one of several kinds, with unseen levels on demand."""
    kinds = ["few", "one", "one per row", "odd", "many", "surrogate"]
    kind = rng.choice(kinds, p=[0.4, 0.1, 0.15, 0.2, 0.1, 0.05])
    if kind == "one":
        values = ["only"] * n
    elif kind == "one per row":
        values = [f"id {i} {unseen}" for i in rng.permutation(n)]
    elif kind == "odd":
        values = rng.choice(ODD_TEXT, size=n).tolist()
    elif kind == "many":
        values = [f"level {i}" for i in rng.integers(0, 600, size=n)]
    elif kind == "surrogate":
        values = rng.choice(["plain", SURROGATE], size=n).tolist()
    else:
        values = [f"level {i}" for i in rng.integers(0, 4 + 3 * unseen, size=n)]
    return with_missing(rng, values)


def with_missing(rng, values):
    if rng.random() < 0.3:
        share = rng.choice([0.1, 0.5, 1.0], p=[0.6, 0.3, 0.1])
        return [None if rng.random() < share else v for v in values]
    return values


INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def good_column(rng, n, kind, unseen):
    """Return a pandas column."""
    if kind in INTEGERS:
        return pd.Series(whole_numbers(rng, n, kind))
    if kind == "plain":
        return pd.Series(plain_numbers(rng, n))
    if kind in ("float64", "float32", "float16"):
        limits = np.finfo(kind)
        return pd.Series(numbers(rng, n).clip(limits.min, limits.max).astype(kind))
    if kind == "bool":
        return pd.Series(rng.random(n) < rng.choice([0.5, 0.0]))
    if kind == "text":
        return pd.Series(texts(rng, n, unseen), dtype=object)
    if kind == "string":
        values = pd.Series(texts(rng, n, unseen), dtype=object)
        return values if SURROGATE in set(values) else values.astype("string")
    if kind == "category":
        values = pd.Series(texts(rng, n, unseen), dtype=object)
        if SURROGATE in set(values):
            return values
        levels = pd.Index(sorted({v for v in values if v is not None}), dtype=object)
        return values.astype(pd.CategoricalDtype(levels, ordered=bool(rng.integers(2))))
    if kind == "numeric category":
        return pd.Series(pd.Categorical(with_missing(rng, rng.integers(0, 4, size=n).tolist())))
    if kind == "Int64":
        return pd.Series(pd.array(with_missing(rng, rng.integers(0, 9, size=n).tolist()), "Int64"))
    if kind == "Float64":
        return pd.Series(pd.array(with_missing(rng, rng.normal(size=n).tolist()), "Float64"))
    if kind == "boolean":
        flags = (rng.random(n) < 0.5).tolist()
        return pd.Series(pd.array(with_missing(rng, flags), "boolean"))
    if kind == "objects":
        return pd.Series(with_missing(rng, numbers(rng, n).tolist()), dtype=object)
    if kind == "boolean objects":
        return pd.Series(with_missing(rng, (rng.random(n) < 0.5).tolist()), dtype=object)
    assert kind == "nothing"
    return pd.Series([None] * n, dtype=object)


GOOD = [
    *INTEGERS, "float64", "float64", "float64", "float32", "float16", "bool", "text", "text",
    "string", "category", "category", "numeric category", "Int64", "Float64", "boolean", "objects",
    "boolean objects", "nothing",
]  # fmt: skip


def bad_column(rng, n):
    """Return a column that may well be rejected."""
    kind = rng.integers(9)
    if kind == 0:
        return pd.Series(rng.choice([np.inf, -np.inf, 0.0], size=n))
    if kind == 1:
        return pd.Series(pd.date_range("2020-01-01", periods=n))
    if kind == 2:
        return pd.Series(np.arange(n) * 1j)
    if kind == 3:
        return pd.Series(rng.choice([1, "one", None], size=n).tolist(), dtype=object)
    if kind == 4:
        return pd.Series([10**400 * (i % 2) for i in range(n)], dtype=object)
    if kind == 5:
        return pd.Series([Decimal(i) / 3 for i in range(n)], dtype=object)
    if kind == 6:
        return pd.Series([(i,) for i in range(n)], dtype=object)
    if kind == 7:
        return pd.Series([[i] for i in range(n)], dtype=object)
    return pd.Series(pd.to_timedelta(np.arange(n), "D"))


ODD_NAMES = ["", "a b", "score", "true", "ä", '"', "x0", "a\0b", "\ud800", "[i]b", "x" * 80]


@dataclass
class TableMaker:
    """Makes tables with the same columns repeatedly: to fit and to score."""

    rng: np.random.Generator
    n_columns: int
    form: str
    plain: bool  # numbers that any estimator should accept

    def __post_init__(self):
        rng = self.rng
        self.kinds = rng.choice(["plain"] if self.plain else GOOD, size=self.n_columns).tolist()
        bad = not self.plain and rng.random() < 0.05
        self.bad = {int(rng.integers(self.n_columns))} if bad else set()
        self.same = rng.random() < 0.1  # all columns are copies of the first
        self.names = [f"column {j}" for j in range(self.n_columns)]
        odd = rng.random()
        if odd < 0.15:
            places = rng.choice(len(ODD_NAMES), size=self.n_columns, replace=False)
            self.names = [ODD_NAMES[k] for k in places]
        elif odd < 0.17:
            self.names = ["twice"] * self.n_columns
        elif odd < 0.22:
            self.names = list(range(self.n_columns))
        types = ["f8", "f4", "f2", "g", ">f8", "i8", "u1", "?", "O"]
        self.dtype = "f8" if self.plain else str(rng.choice(types))

    def make(self, n, unseen=0):
        if self.form == "numpy":
            return self._array(n)
        frame = self._frame(n, unseen)
        if self.form == "pandas":
            return frame
        return self._polars(frame)

    def _frame(self, n, unseen):
        columns = []
        for j, kind in enumerate(self.kinds):
            bad = j in self.bad
            columns.append(
                bad_column(self.rng, n) if bad else good_column(self.rng, n, kind, unseen)
            )
        if self.same:
            columns = [columns[0]] * self.n_columns
        frame = pd.concat(columns, axis=1) if columns else pd.DataFrame(index=range(n))
        frame.columns = pd.Index(self.names, dtype=object)
        if self.rng.random() < 0.2:
            frame.index = self.rng.integers(0, 3, size=n)
        return frame

    def _array(self, n):
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            column = plain_numbers if self.plain else numbers
            values = np.column_stack([column(self.rng, n) for _ in range(self.n_columns)])
            if self.same:
                values[:] = values[:, :1]
            if np.dtype(self.dtype).kind in "iub":
                values = np.nan_to_num(np.clip(values, 0, 100))
            values = values.astype(self.dtype)
        if np.dtype(self.dtype).kind == "f":
            values = np.nan_to_num(values, nan=np.nan)
        if self.bad:
            if np.dtype(self.dtype).kind == "f":
                values[0, 0] = np.inf
            elif self.dtype == "O":
                values[0, 0] = self.rng.choice(["text", None])
        form = self.rng.integers(5)
        if form == 0:
            return np.asfortranarray(values)
        if form == 1:
            return np.repeat(values, 2, axis=0)[::2]
        if form == 2:
            values.flags.writeable = False
        if form == 3:
            return values.tolist()
        return values

    def _polars(self, frame):
        names = [f"c{j}" if not isinstance(c, str) else c for j, c in enumerate(frame.columns)]
        if len(set(names)) < len(names):
            names = [f"c{j}" for j in range(len(names))]
        try:
            made = pl.DataFrame(
                {name: _polars_column(frame.iloc[:, j]) for j, name in enumerate(names)}
            )
        except Exception:  # polars cannot hold it: lone surrogates, objects
            return frame
        return made


def _polars_column(column):
    if isinstance(column.dtype, pd.CategoricalDtype):
        levels = [None if pd.isna(v) else str(v) for v in column]
        if column.dtype.ordered:
            return pl.Series(levels, dtype=pl.Enum(sorted({v for v in levels if v is not None})))
        return pl.Series(levels, dtype=pl.Categorical)
    if column.dtype == object:
        return pl.Series(column.tolist(), strict=False)
    return pl.Series(column.tolist()) if column.dtype == "float16" else pl.from_pandas(column)


def unreadable_table(rng, X):
    """Return something other than a table."""
    kind = rng.integers(8)
    if kind == 0:
        return sparse.csr_matrix(np.eye(len(X)))
    if kind == 1:
        return np.zeros(len(X))
    if kind == 2:
        return np.zeros((len(X), 2, 2))
    if kind == 3:
        return np.zeros((len(X), 0))
    if kind == 4:
        return X[:0]
    if kind == 5:
        return {"a": [1, 2]}
    if kind == 6:
        return np.array([["a", "b"]] * len(X))
    return None


def labels(rng, n):
    """Return labels of two to five classes, as one of many types; sometimes invalid ones."""
    n_classes = int(rng.choice([2, 2, 2, 2, 2, 2, 3, 5]))
    y = rng.integers(0, n_classes, size=n)
    y[: min(n, n_classes)] = np.arange(min(n, n_classes))
    y = rng.permutation(y)
    kind = int(rng.integers(35))
    if kind < 6 or kind > 17:
        return y
    if kind == 6:
        return y.astype(float)
    if kind == 7:
        return y == y.max()
    if kind == 8:
        return np.array(["no", "[i]yes", "ä", "z", ""])[y]
    if kind == 9:
        return np.array(["no", SURROGATE, "x", "y", "z"], dtype=object)[y]
    if kind == 10:
        return pd.Series(pd.Categorical.from_codes(y, list("edcba")[:n_classes], ordered=True))
    if kind == 11:
        return pl.Series([["low", "mid", "top", "a", "b"][k] for k in y])
    if kind == 12:
        return (y - 1) * 2**61
    if kind == 13:
        return y.reshape(-1, 1)
    if kind == 14:
        return pd.Series(y.astype("int8"), index=rng.permutation(n))
    if kind == 15:
        return np.array([-1.0, 1e15, -1e15, 0.0, 2.0])[y]
    return bad_labels(rng, y)


def bad_labels(rng, y):
    kind = rng.integers(9)
    if kind == 8:
        return np.array([-1.5, 1e300, -1e300, 0.0, 2.5])[y]
    if kind == 0:
        return np.zeros(len(y))
    if kind == 1:
        return np.where(y == 0, np.nan, y)
    if kind == 2:
        return y[:-1]
    if kind == 3:
        return np.array([0, "one", None, 2.0, 5], dtype=object)[y]
    if kind == 4:
        return np.arange(len(y))
    if kind == 5:
        return np.column_stack([y, y])
    if kind == 6:
        return pd.Series(y).astype("Int64").where(y > 0)
    return None


def weights(rng, n):
    """Return weights, or None; sometimes invalid ones."""
    kind = int(rng.integers(45))
    if kind < 8 or kind > 20:
        return None
    if kind == 8:
        return np.full(n, rng.choice([1.0, 3.0, 1e-320, 1e300, 0.1]))
    if kind == 9:
        return rng.integers(0, 4, size=n)
    if kind == 10:
        return rng.exponential(size=n)
    if kind == 11:
        return rng.choice([1e-320, 1.0, 1e300], size=n)
    if kind == 12:
        return np.where(rng.random(n) < 0.5, 0.0, rng.exponential(size=n))
    if kind == 13:
        return rng.choice([5e-324, 1e-310], size=n)
    if kind == 14:
        return rng.choice([1e307, 1.7e308], size=n)
    if kind == 15:
        return pd.Series(rng.integers(1, 2**40, size=n))
    if kind == 16:
        return 2.0
    if kind == 17:
        return rng.random(n).astype("f4").tolist()
    if kind == 18:
        return 10.0 ** rng.uniform(-300, 300, size=n)
    return bad_weights(rng, n)


def bad_weights(rng, n):
    kind = rng.integers(6)
    if kind == 0:
        return np.zeros(n)
    if kind == 1:
        return rng.choice([-1.0, 1.0], size=n)
    if kind == 2:
        return rng.choice([np.nan, np.inf, 1.0], size=n)
    if kind == 3:
        return np.ones(n + 1)
    if kind == 4:
        return ["heavy"] * n
    return np.ones((n, 2))
