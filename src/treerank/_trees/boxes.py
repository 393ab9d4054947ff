"""Boxes in the space of codes; simplifies unions of boxes to few conditions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

# The allowed codes of a feature, as bits of an integer; code 0 (missing) is the lowest bit.
Allowed = int
Box = dict[int, Allowed]  # features that are not in it are unrestricted

# Larger unions are not simplified, because that would take too long.
MAX_BOXES = 64


def intersect(a: Box, b: Box) -> Box | None:
    """Return the intersection of two boxes, or None if it is empty."""
    if not overlap(a, b):
        return None
    return {**a, **{feature: a.get(feature, -1) & codes for feature, codes in b.items()}}


def overlap(a: Box, b: Box) -> bool:
    """Whether the intersection of two boxes is not empty."""
    for feature, codes in a.items():  # noqa: SIM110 (twice as fast as `all`, and called most)
        if b.get(feature, -1) & codes == 0:
            return False
    return True


def contains(outer: Box, inner: Box) -> bool:
    """Whether `inner` lies inside `outer`."""
    return all(f in inner and inner[f] & ~codes == 0 for f, codes in outer.items())


def is_covered(box: Box, boxes: Sequence[Box], everything: Sequence[Allowed]) -> bool:
    """Whether a box lies inside a union of boxes.

    The parts of the box outside the first box that intersects it are split off, one feature after
    another; each of them must be covered by the remaining boxes.
    """
    near = [cover for cover in boxes if overlap(box, cover)]
    if not near:
        return False
    rest, others = dict(box), near[1:]
    for feature, codes in near[0].items():
        outside = rest.get(feature, everything[feature]) & ~codes
        if outside != 0 and not is_covered({**rest, feature: outside}, others, everything):
            return False
        rest[feature] = rest.get(feature, -1) & codes
    return True


def simplify(boxes: Iterable[Box | None], everything: Sequence[Allowed]) -> list[Box]:
    """Return boxes with the same union, merged and without unnecessary conditions.

    Parameters
    ----------
    boxes : iterable
        None stands for an empty box.
    everything : sequence of int
        All codes of each feature.
    """
    found = _distinct(boxes)
    if len(found) > MAX_BOXES:
        return found
    _merge_neighbours(found)
    for i in range(len(found)):
        found[i] = _relax(found[i], found, everything)
    for box in sorted(found, key=len, reverse=True):
        others = [other for other in found if other is not box]
        if is_covered(box, others, everything):
            found = others
    return found


def _distinct(boxes: Iterable[Box | None]) -> list[Box]:
    found: list[Box] = []
    for box in boxes:
        if box is not None and box not in found:
            found.append(box)
    return found


def _merge_neighbours(found: list[Box]) -> None:
    """Merge, in place, boxes that are nested or differ in a single feature."""
    i = 0
    while i < len(found):
        i = _merge_later(found, i)


def _merge_later(found: list[Box], i: int) -> int:
    """Merge box i with a later one; return the box to go on with.

    Boxes before i do not merge with each other, but they may with a box that is merged.
    """
    for j in range(i + 1, len(found)):
        joined = _join(found[i], found[j])
        if joined is not None:
            found[i] = joined
            del found[j]
            return _merge_earlier(found, i)
    return i + 1


def _merge_earlier(found: list[Box], i: int) -> int:
    """Merge a new box with the ones before it, as far as possible; return where it is."""
    j = 0
    while j < i:
        joined = _join(found[j], found[i])
        if joined is None:
            j += 1
            continue
        found[j] = joined
        del found[i]
        i, j = j, 0
    return i


def _join(a: Box, b: Box) -> Box | None:
    """Return the union of two boxes if it is a box, because they are nested or neighbours."""
    if a.keys() <= b.keys() and contains(a, b):
        return a
    if b.keys() <= a.keys() and contains(b, a):
        return b
    differing = [f for f in a if a[f] != b[f]] if a.keys() == b.keys() else []
    if len(differing) != 1:
        return None
    return {**a, differing[0]: a[differing[0]] | b[differing[0]]}


def _relax(box: Box, union: Sequence[Box], everything: Sequence[Allowed]) -> Box:
    """Relax the conditions of a box, one by one, as far as it stays inside the union.

    The box is inside already, so that only what a wider condition adds has to be covered.
    """
    for feature in sorted(box):
        rest = {f: c for f, c in box.items() if f != feature}
        near = [cover for cover in union if overlap(rest, cover)]
        reached = reduce(or_, (cover.get(feature, everything[feature]) for cover in near), 0)
        for codes in _wider(box[feature], everything[feature]):
            added = codes & ~box[feature]
            if added & ~reached == 0 and is_covered({**rest, feature: added}, near, everything):
                box = rest if codes == everything[feature] else {**rest, feature: codes}
                break
    return box


def _wider(codes: Allowed, everything: Allowed) -> list[Allowed]:
    """Return simpler conditions, simplest first: none, no upper bound, no lower bound."""
    low = codes & -codes
    no_upper = everything & ~(low - 1)
    no_lower = everything & ((1 << codes.bit_length()) - 1)
    return [c for c in (everything, no_upper, no_lower) if c != codes]
