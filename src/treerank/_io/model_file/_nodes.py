"""Values of a model file with their paths, which can only be read through checks."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._io.model_file._errors import ModelFileError

Array = NDArray[Any]
Shape = tuple[int | None, ...]  # None: any size

# Array types allowed in a file: little-endian, fixed width.
DTYPES = {
    name: np.dtype(name)
    for name in ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8")
}
NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def format_not_finite(value: float) -> str:
    """Return the name of an infinity or NaN, which JSON cannot represent as a number."""
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


class Node:
    """One value of the document.

    Parameters
    ----------
    value : anything that JSON can hold
    path : str
        Position in the document, for error messages.
    read_member : callable
        Maps (name, dtype, shape) to the raw array of a member of the zip.
    max_bytes : int
        Most bytes that may be allocated for anything built from the file.
    """

    def __init__(
        self,
        value: Any,
        path: str,
        read_member: Callable[[str, np.dtype[Any], list[int]], Array],
        max_bytes: int,
    ) -> None:
        self.value = value
        self.path = path
        self._read_member = read_member
        self.max_bytes = max_bytes

    def _at(self, value: Any, step: str) -> Node:
        return Node(value, f"{self.path}{step}", self._read_member, self.max_bytes)

    def error(self, expected: str) -> ModelFileError:
        """Return an error that names this value and its path."""
        return ModelFileError(
            f"Got {reprlib.repr(self.value)} at {self.path or 'the top'}; expected {expected}."
        )

    @property
    def is_null(self) -> bool:
        """Whether the value is null."""
        return self.value is None

    def fields(self, *names: str, optional: Sequence[str] = ()) -> dict[str, Node]:
        """Return the fields of an object; raise unless it has these names and no others."""
        if not isinstance(self.value, dict):
            raise self.error(f"an object with {', '.join(names)}")
        for name in names:
            if name not in self.value:
                raise ModelFileError(f"Got no field {name!r} at {self.path or 'the top'}.")
        for name in self.value:
            if name not in names and name not in optional:
                raise ModelFileError(f"Got the unknown field {name!r} at {self.path or 'the top'}.")
        return self.entries()

    def entries(self) -> dict[str, Node]:
        """Return all fields of an object."""
        if not isinstance(self.value, dict):
            raise self.error("an object")
        return {name: self._at(value, f".{name}") for name, value in self.value.items()}

    def items(self) -> list[Node]:
        """Return the items of a list."""
        if not isinstance(self.value, list):
            raise self.error("a list")
        return [self._at(value, f"[{i}]") for i, value in enumerate(self.value)]

    def text(self) -> str:
        """Return the text."""
        if not isinstance(self.value, str):
            raise self.error("text")
        return self.value

    def choice(self, *choices: str) -> str:
        """Return a string that must be one of the choices."""
        if not isinstance(self.value, str) or self.value not in choices:
            raise self.error(" or ".join(map(repr, choices)))
        return self.value

    def flag(self) -> bool:
        """Return a boolean."""
        if not isinstance(self.value, bool):
            raise self.error("true or false")
        return self.value

    def integer(self, low: int, high: int) -> int:
        """Return an integer in a range."""
        if type(self.value) is not int or not low <= self.value <= high:
            raise self.error(f"an integer from {low} to {high}")
        return self.value

    def number(self, low: float = -math.inf, high: float = math.inf, nan: bool = False) -> float:
        """Return a finite number in a range; with `nan`, NaN is allowed too."""
        if nan and self.value == "NaN":
            return math.nan
        if type(self.value) not in (int, float):
            raise self.error("a number")
        try:
            value = float(self.value)
        except OverflowError:
            raise self.error("a number that a double can hold") from None
        if not math.isfinite(value) or not low <= value <= high:
            raise self.error(f"a finite number from {low:g} to {high:g}")
        return value

    def array(
        self, dtype: str, shape: Shape, low: float | None = None, high: float | None = None,
        finite: bool = True,
    ) -> Array:  # fmt: skip
        """Return an array of the given type and shape, with values in a range."""
        found, sides = self._described()  # checked before the values are unpacked
        if found != DTYPES[dtype]:
            raise self._array_error(f"the type {dtype!r}")
        if len(shape) != len(sides) or any(
            wanted not in (None, got) for wanted, got in zip(shape, sides, strict=True)
        ):
            said = " x ".join("any" if n is None else str(n) for n in shape)
            raise self._array_error(f"the shape {said}")
        array = self.any_array()
        if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
            raise self._array_error("finite numbers")
        if array.size and low is not None and array.min() < low:
            raise self._array_error(f"values of at least {low}")
        if array.size and high is not None and array.max() > high:
            raise self._array_error(f"values of at most {high}")
        return array

    def _array_error(self, expected: str) -> ModelFileError:
        dtype, shape = self._described()
        return ModelFileError(
            f"Got an array of type {dtype.str!r} and shape {tuple(shape)} at {self.path}; "
            f"expected {expected}."
        )

    def _described(self) -> tuple[np.dtype[Any], list[int]]:
        """Declared type and shape of an array."""
        if not isinstance(self.value, dict):
            raise self.error("an array: dtype, shape, and values or member")
        fields = self.fields("dtype", "shape", self._where)
        shape = [side.integer(0, 2**48) for side in fields["shape"].items()]
        if len(shape) > 4:
            raise fields["shape"].error("at most four sides")
        return DTYPES[fields["dtype"].choice(*DTYPES)], shape

    @property
    def _where(self) -> str:
        """Name of the field with the values of an array, or with the member that has them."""
        return "member" if "member" in self.value else "values"

    def any_array(self) -> Array:
        """Return an array of any allowed type."""
        dtype, shape = self._described()
        values = self.entries()[self._where]
        if self._where == "member":
            return self._read_member(values.text(), dtype, shape)
        return _inline(values, dtype, shape)


def _inline(node: Node, dtype: np.dtype[Any], shape: list[int]) -> Array:
    """Return an array whose values are in the document itself."""
    values = node.value
    if not isinstance(values, list) or len(values) != math.prod(shape):
        raise node.error(f"a list of {math.prod(shape)} values, as the shape says")
    kinds = set(map(type, values))
    allowed: set[type] = {bool} if dtype.kind == "b" else {int}
    if dtype.kind == "f":
        allowed = {int, float}
        if str in kinds:
            try:
                values = [NOT_FINITE[v] if isinstance(v, str) else v for v in values]
            except KeyError:
                raise node.error("numbers, 'NaN', 'Infinity' or '-Infinity'") from None
            kinds.discard(str)
    if not kinds <= allowed:
        raise node.error(f"values of type {dtype.str!r}")
    try:
        array = np.array(values, dtype=dtype)
    except OverflowError:
        raise node.error(f"values that fit the type {dtype.str!r}") from None
    return array.reshape(shape)
