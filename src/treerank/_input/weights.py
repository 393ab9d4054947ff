"""Converts sample weights to integer units, independently of how rows are divided into blocks.

Only ratios of weights matter: multiplying all weights by a constant changes nothing. Weights that
are small multiples of a common unit (1, 2, 3 or 0.5, 1, 1.5) are treated as repeated rows; all
others are rescaled to a mean of 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treerank import _core

# The largest number of repeated rows that a weight may stand for. Larger integers are more likely
# survey weights than counts, and are treated as relative weights.
LARGEST_COUNT = 255
# Tolerated relative distance of a ratio of two weights from a fraction: a few rounding errors.
_TOLERANCE = 2.0**-48
# Doubles are integer multiples of 2^-1074, so their sum can be an exact integer in this unit.
_SMALLEST = 1074
# This many integers of 27 bits can be summed exactly in a double.
_EXACT_ROWS = 1 << 24
# Resolution of relative weights. With finer steps, the rounding of a constant factor that all
# weights are multiplied by would make a difference.
_FINEST_SCALE = 2.0**26


@dataclass(frozen=True)
class Weights:
    """Sample weights as integers.

    `repeats` holds small integer weights, one byte per row; `units` holds all other weights in
    fixed point, with `scale` units for a weight of 1. If both are None, every row has weight 1.
    `design_effect` (Kish 1965) is the factor by which unequal relative weights increase the
    variance of a sum: rows of this total weight carry as much information as one row of an
    unweighted sample. It is 1 for repeated rows.
    """

    repeats: NDArray[np.uint8] | None = None
    units: NDArray[np.int64] | None = None
    scale: float = 1.0
    design_effect: float = 1.0

    @property
    def as_units(self) -> NDArray[np.int64] | None:
        """Integer weights in either form; None if every row has weight 1."""
        return self.repeats.astype(np.int64) if self.repeats is not None else self.units

    def of_rows(self, n_rows: int) -> NDArray[np.int64]:
        """Return `as_units` for this many rows, with ones if every row has weight 1."""
        units = self.as_units
        return np.ones(n_rows, dtype=np.int64) if units is None else units

    def take(self, rows: NDArray[np.integer[Any]]) -> Weights:
        """Return the weights of some of the rows, in the same units."""
        return replace(
            self,
            repeats=None if self.repeats is None else self.repeats[rows],
            units=None if self.units is None else self.units[rows],
        )

    def where(self, kept: NDArray[np.bool_]) -> Weights:
        """Return the weights with those of rows that are not kept set to 0."""
        if self.units is not None:
            return replace(self, units=np.where(kept, self.units, 0))
        if self.repeats is None:
            return replace(self, repeats=kept.view(np.uint8))
        return replace(self, repeats=np.where(kept, self.repeats, np.uint8(0)))


def join_weights(parts: list[Weights]) -> Weights:
    """Concatenate the weights of several blocks, which have the same form and units."""
    first = parts[0]
    repeats = [part.repeats for part in parts if part.repeats is not None]
    units = [part.units for part in parts if part.units is not None]
    return replace(
        first,
        repeats=np.concatenate(repeats) if repeats else None,
        units=np.concatenate(units) if units else None,
    )


@dataclass(frozen=True)
class WeightSums:
    """Sums that determine the units of weights; those of blocks can be added exactly.

    `total` is in units of 2^-1074, the smallest double. `squares` is the sum of the squared ratios
    of the weights to the largest weight, and is not exact. `distinct` has the distinct weights in
    ascending order; it is empty if there are too many for them to be counts.
    """

    n_rows: int = 0  # of positive weight
    total: int = 0
    largest: float = 0.0
    squares: float = 0.0
    distinct: tuple[float, ...] = ()

    def __add__(self, other: WeightSums) -> WeightSums:
        if not self.n_rows or not other.n_rows:
            return self if self.n_rows else other
        distinct: tuple[float, ...] = ()
        if self.distinct and other.distinct:
            distinct = _few(np.union1d(self.distinct, other.distinct))
        largest = max(self.largest, other.largest)
        return WeightSums(
            self.n_rows + other.n_rows,
            self.total + other.total,
            largest,
            sum(s.squares * (s.largest / largest) ** 2 for s in (self, other)),
            distinct,
        )

    @property
    def mean(self) -> Fraction:
        """Exact mean of the weights."""
        return Fraction(self.total, self.n_rows << _SMALLEST)

    @property
    def design_effect(self) -> float:
        """Mean of the squared weights over the square of their mean.

        Rounded to multiples of 1/64, so that rounding errors, which depend on the division into
        blocks and on a constant factor of all weights, make no difference.
        """
        mean = float(self.mean / Fraction(self.largest))
        return round(64 * self.squares / (self.n_rows * mean**2)) / 64

    @property
    def largest_count(self) -> int | None:
        """Number of rows that the largest weight stands for; None if weights are relative.

        It is the smallest integer that turns all ratios to the largest weight into integers.
        """
        if not self.distinct:
            return None
        count = 1
        for ratio in (np.array(self.distinct) / self.largest).tolist():
            fraction = Fraction(ratio).limit_denominator(LARGEST_COUNT)
            if abs(ratio - fraction) > _TOLERANCE * ratio:
                return None
            count = lcm(count, fraction.denominator)
            if count > LARGEST_COUNT:
                return None
        return count


def _few(distinct: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(distinct.tolist()) if len(distinct) <= LARGEST_COUNT else ()


def sum_weights(weight: NDArray[np.float64]) -> WeightSums:
    """Sum the weights of a block, all of which must be positive."""
    if len(weight) == 0:
        return WeightSums()
    total = sum(
        _exact_total(weight[i : i + _EXACT_ROWS]) for i in range(0, len(weight), _EXACT_ROWS)
    )
    largest = float(weight.max())
    squares = float(np.square(weight / largest).sum())
    return WeightSums(len(weight), total, largest, squares, _few(np.unique(weight)))


def _exact_total(weight: NDArray[np.float64]) -> int:
    """Sum in units of 2^-1074: the upper and lower halves of the mantissas for each exponent."""
    mantissa, exponent = np.frexp(weight)
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    lowest = int(exponent.min())
    upper = np.bincount(exponent - lowest, weights=whole >> 26)
    lower = np.bincount(exponent - lowest, weights=whole & ((1 << 26) - 1))
    total = 0  # in units of 2^(lowest - 53)
    for shift in np.flatnonzero(upper).tolist():
        total += ((int(upper[shift]) << 26) + int(lower[shift])) << shift
    shift = lowest - 53 + _SMALLEST
    return total << shift if shift >= 0 else total >> -shift  # the bits shifted out are zeros


def quantise(weight: NDArray[np.float64] | None, sums: WeightSums | None = None) -> Weights:
    """Convert weights to repeats or to units.

    Small multiples of a common unit are treated as repeated rows; other weights are relative, with
    a mean of 1. All weights must be positive. If they are those of a block, `sums` has the sums
    over all rows. The fixed-point format keeps the total below 2^52, so that every sum of weights
    is exact and does not depend on the order of summation.
    """
    if weight is None:
        return Weights()
    sums = sum_weights(weight) if sums is None else sums
    count = sums.largest_count
    if count == 1:
        return Weights()
    # Scaling by a power of two first is exact, whereas doubles close to 0 have few digits.
    power = int(np.frexp(sums.largest)[1])
    if count is not None:
        units = np.rint(np.ldexp(weight, -power) / np.ldexp(sums.largest, -power) * count)
        if count <= _core.MAX_REPEAT:
            return Weights(repeats=units.astype(np.uint8))
        return Weights(units=units.astype(np.int64))
    mean = float(sums.mean / Fraction(2) ** power)
    scale = min(2.0 ** np.floor(np.log2(2.0**51 / sums.n_rows)), _FINEST_SCALE)
    relative = np.ldexp(weight, -power) / mean
    units = np.maximum(np.rint(relative * scale), 1.0).astype(np.int64)
    return Weights(units=units, scale=float(scale), design_effect=sums.design_effect)


def scale_weights(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Normalize weights so that a constant factor cancels out, for models without units."""
    sums = sum_weights(weight[weight > 0])
    power = int(np.frexp(sums.largest)[1])
    scaled = np.ldexp(weight, -power)
    count = sums.largest_count
    if count is not None:
        return np.asarray(np.rint(scaled / np.ldexp(sums.largest, -power) * count))
    return np.asarray(scaled / float(sums.mean / Fraction(2) ** power))


def check_weights(sample_weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64] | None:
    """Check that the weights are finite, not negative and not all zero."""
    if sample_weight is None:
        return None
    weight = check_weight_block(sample_weight, n_rows)
    check_has_weight(bool(weight.any()))
    return weight


def check_has_weight(has_weight: bool) -> None:
    """Raise if no weight is positive."""
    if not has_weight:
        raise ValueError("Got sample_weight of zeros only; expected some positive weight.")


def _with_mask(sample_weight: Any) -> Any:
    """Put NaN where a masked array hides a weight, which NumPy would bring to light."""
    is_masked = isinstance(sample_weight, np.ma.MaskedArray)
    return sample_weight.astype(np.float64).filled(np.nan) if is_masked else sample_weight


def check_weight_block(
    sample_weight: ArrayLike | None, n_rows: int, first_row: int = 0
) -> NDArray[np.float64]:
    """Check the weights of a block of rows that starts at row `first_row`."""
    try:
        weight = np.asarray(_with_mask(sample_weight))
        if weight.dtype.kind in "cmM":
            raise TypeError
        weight = weight.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"Got sample_weight of type {type(sample_weight).__name__} that does not hold numbers; "
            "expected one number per row."
        ) from None
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.ndim > 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight.shape == {weight.shape}, expected ({n_rows},): one weight per row."
        )
    if not np.isfinite(weight).all():
        row = int(np.argmin(np.isfinite(weight)))
        raise ValueError(
            f"Got sample_weight[{first_row + row}]={weight[row]:g}; expected finite weights "
            "(Input sample_weight contains NaN or infinity). Leave such rows out, or weigh them 0."
        )
    if (weight < 0).any():
        row = int(np.argmax(weight < 0))
        raise ValueError(
            f"Got sample_weight[{first_row + row}]={weight[row]:g}; expected weights that are not "
            "negative (Negative values in data passed to `sample_weight`)."
        )
    return weight
