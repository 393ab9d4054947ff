"""Walks as compact integers: pairs of slots, numbered tests and numbered steps.

Children are adjacent, so slots are numbered by pairs: 2k and 2k + 1 are pair k. The pair that
follows a slot is usually only a few pairs ahead. Rows are compared by codes, the number of
thresholds that a value exceeds, and the tests of all codes are numbered consecutively. The steps of
two siblings depend on the same few counts, so a forest has far fewer distinct pairs of steps than
pairs of slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from treerank._input.types import Ints
from treerank.export._sql_streams import BASE
from treerank.export._walks import END, IN_SET, MISSING_GOES_LEFT, Walks

FAR = BASE - 1  # the next pair is farther away than one digit can express
SET_BITS = 6  # bits of a set per digit
MOST_DELTA = BASE**3 - 1


@dataclass(frozen=True)
class PackedWalks:
    """Slots of a model as non-negative integers, in the order of the pairs."""

    walks: Walks

    @cached_property
    def starts(self) -> Ints:
        """First slot of each pair; a root has no sibling."""
        tests = self.walks.kind != END
        return np.unique(np.concatenate([self.walks.follows[tests], self.walks.roots]))

    @cached_property
    def slots(self) -> Ints:
        """Slot of the walks at each place; -1 for the place beside a root."""
        slots = np.stack([self.starts, self.starts + 1], axis=1)
        slots[np.isin(self.starts, self.walks.roots), 1] = -1
        return slots.ravel()

    @cached_property
    def asks(self) -> NDArray[np.bool_]:
        """Whether each place has a test."""
        return np.asarray((self.slots >= 0) & (self.walks.kind[self.slots] != END))

    @property
    def roots(self) -> Ints:
        """Place of each root."""
        return 2 * np.searchsorted(self.starts, self.walks.roots)

    @cached_property
    def _pairs_on(self) -> tuple[Ints, Ints]:
        """Pair that follows each place with a test, and its distance."""
        follows = np.searchsorted(self.starts, self.walks.follows[self.slots[self.asks]])
        return follows, follows - np.flatnonzero(self.asks) // 2

    @property
    def hops(self) -> Ints:
        """Distance in pairs to the next pair: 0 at an end, FAR if it is stored in `far`."""
        _, distance = self._pairs_on
        hops = np.zeros(len(self.slots), dtype=np.int64)
        hops[self.asks] = np.where((distance < 1) | (distance >= FAR), FAR, distance)
        return hops

    @property
    def far(self) -> Ints:
        """Next pairs of the places whose hop is FAR."""
        follows, distance = self._pairs_on
        return follows[(distance < 1) | (distance >= FAR)]

    @cached_property
    def thresholds(self) -> dict[int, NDArray[np.float64]]:
        """Finite thresholds of each feature that is compared."""
        walks = self.walks
        compared = (walks.kind != END) & (walks.kind != IN_SET)
        finite = compared & np.isfinite(walks.threshold)
        return {
            j: np.unique(walks.threshold[finite & (walks.feature == j)])
            for j in np.unique(walks.feature[compared]).tolist()
        }

    @property
    def largest_cut(self) -> int:
        """Cut of an infinite threshold; larger numbers are those of sets."""
        return max((len(values) for values in self.thresholds.values()), default=0) + 1

    @cached_property
    def codes(self) -> list[tuple[int, str]]:
        """Codes of a row: a feature, and where its missing values go, or "set"."""
        walks = self.walks
        asked = walks.kind != END
        keys = np.unique(np.stack([walks.feature[asked], walks.kind[asked]], axis=1), axis=0)
        names = {MISSING_GOES_LEFT: "left", IN_SET: "set"}
        found = {(int(j), names.get(int(kind), "right")): None for j, kind in keys}
        return list(found) or [(0, "right")]

    @cached_property
    def _cuts(self) -> Ints:
        """Cut, or number of the set, of each place with a test."""
        walks, slots = self.walks, self.slots[self.asks]
        cuts = np.empty(len(slots), dtype=np.int64)
        for j, values in self.thresholds.items():
            here = (walks.feature[slots] == j) & (walks.kind[slots] != IN_SET)
            threshold = walks.threshold[slots[here]]
            inner = np.searchsorted(values, threshold) + 1
            cuts[here] = np.where(np.isneginf(threshold), 0, inner)
        in_set = walks.kind[slots] == IN_SET
        cuts[in_set] = self.largest_cut + 1 + self._sets[1][walks.set_of[slots[in_set]]]
        return cuts

    @cached_property
    def _sets(self) -> tuple[NDArray[np.bool_], Ints]:
        """Distinct sets, and the index of each of the model's sets among them."""
        found, number = np.unique(self.walks.members, axis=0, return_inverse=True)
        return found, np.asarray(number, dtype=np.int64).ravel()

    @property
    def different_sets(self) -> NDArray[np.bool_]:
        """Codes that go left, for each of the distinct sets."""
        return self._sets[0]

    @property
    def digits_of_a_set(self) -> int:
        """Number of digits per set: a power of two."""
        _, codes = np.nonzero(self._sets[0])
        return 1 << int(codes.max(initial=0) // SET_BITS).bit_length()

    @property
    def members(self) -> Ints:
        """Codes that go left, for each of the distinct sets, as bits with the lowest code first."""
        bits = self._sets[0][:, : self.digits_of_a_set * SET_BITS]
        beyond = self.digits_of_a_set * SET_BITS - bits.shape[1]
        digits = np.pad(bits, ((0, 0), (0, beyond))).reshape(-1, SET_BITS)
        return np.asarray(digits @ (1 << np.arange(SET_BITS)), dtype=np.int64)

    @property
    def has_sets(self) -> bool:
        """Whether there is a test on levels."""
        return bool((self.walks.kind == IN_SET).any())

    @property
    def first_tests(self) -> Ints:
        """Number of the first test of each code, and the total number of tests."""
        sizes = [
            len(self.different_sets)
            if missing == "set"
            else len(self.thresholds.get(feature, ())) + 2
            for feature, missing in self.codes
        ]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @property
    def lowest_cuts(self) -> Ints:
        """Cut of the first test of each code."""
        of_sets = self.largest_cut + 1
        return np.array([of_sets if missing == "set" else 0 for _, missing in self.codes])

    @cached_property
    def tests(self) -> Ints:
        """Test number of each place with a test, among the tests of all codes."""
        walks, slots = self.walks, self.slots[self.asks]
        place = {key: i for i, key in enumerate(self.codes)}
        of_kind = np.zeros((len(walks.names), 256), dtype=np.int64)
        names = {MISSING_GOES_LEFT: "left", IN_SET: "set"}
        for kind in np.unique(walks.kind[slots]).tolist():
            for j in range(len(walks.names)):
                of_kind[j, kind] = place.get((j, names.get(kind, "right")), 0)
        code = of_kind[walks.feature[slots], walks.kind[slots]]
        return np.asarray(self.first_tests[code] + self._cuts - self.lowest_cuts[code])


@dataclass(frozen=True)
class PackedSteps:
    """Steps in single precision: the distinct pairs, and the index of each pair of slots.

    A pair has two magnitudes: the bits of a float minus `lowest`, and 0 for zero. The pairs are
    sorted by the first magnitude, so its differences are small; large differences are bridged by
    unused pairs.
    """

    pairs: Ints  # index of each pair of slots
    deltas: Ints  # differences of the first magnitude
    seconds: Ints  # four times the second magnitude, plus the two signs
    lowest: int  # bits of the smallest magnitude, minus 1


def pack_steps(steps: NDArray[np.float32]) -> PackedSteps:
    """Number the distinct pairs of steps of siblings."""
    bits = np.ascontiguousarray(steps).view(np.uint32).astype(np.int64)
    sign, magnitude = bits >> 31, bits & 0x7FFFFFFF
    present = magnitude[magnitude > 0]
    lowest = int(present.min()) - 1 if len(present) else 0
    magnitude = np.where(magnitude > 0, magnitude - lowest, 0)
    first, second = magnitude[::2], magnitude[1::2] * 4 + sign[::2] * 2 + sign[1::2]
    order = np.lexsort((second, first))
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (np.diff(first[order]) > 0) | (np.diff(second[order]) != 0)
    kept = order[is_new]
    gaps = np.diff(first[kept], prepend=0)
    filled = gaps // MOST_DELTA
    place = np.arange(len(kept)) + np.cumsum(filled)
    deltas = np.full(int(place[-1]) + 1, MOST_DELTA, dtype=np.int64)
    deltas[place] = gaps - filled * MOST_DELTA
    seconds = np.zeros(len(deltas), dtype=np.int64)
    seconds[place] = second[kept]
    pairs = np.empty(len(order), dtype=np.int64)
    pairs[order] = place[np.cumsum(is_new) - 1]
    return PackedSteps(pairs, deltas, seconds, lowest)
