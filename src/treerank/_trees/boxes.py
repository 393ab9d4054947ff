"""Boxes in the space of codes; simplifies unions of boxes to few conditions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

# The allowed codes of a feature, as bits of an integer; code 0 (missing) is the lowest bit.
Allowed = int
Box = dict[int, Allowed]  # features that are not in it are unrestricted

# Larger unions are not simplified, because that would take too long.
MAX_BOXES = 64


def intersect(a: Box, b: Box) -> Box | None:
    """Return the intersection of two boxes, or None if it is empty."""
    box = dict(a)
    for feature, codes in b.items():
        box[feature] = box.get(feature, -1) & codes
        if box[feature] == 0:
            return None
    return box


def contains(outer: Box, inner: Box) -> bool:
    """Whether `inner` lies inside `outer`."""
    return all(f in inner and inner[f] & ~codes == 0 for f, codes in outer.items())


def is_covered(box: Box, boxes: Sequence[Box], everything: Sequence[Allowed]) -> bool:
    """Whether a box lies inside a union of boxes.

    The parts of the box outside the first box that intersects it are split off, one feature after
    another; each of them must be covered by the remaining boxes.
    """
    for i, cover in enumerate(boxes):
        inside = intersect(box, cover)
        if inside is None:
            continue
        rest = dict(box)
        for feature, codes in cover.items():
            outside = rest.get(feature, everything[feature]) & ~codes
            piece = {**rest, feature: outside}
            if outside != 0 and not is_covered(piece, boxes[i + 1 :], everything):
                return False
            rest[feature] = inside[feature]
        return True
    return False


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
        for j in range(i + 1, len(found)):
            joined = _join(found[i], found[j])
            if joined is not None:
                found[i] = joined
                del found[j]
                i = -1  # the new box may merge with an earlier one
                break
        i += 1


def _join(a: Box, b: Box) -> Box | None:
    if contains(a, b):
        return a
    if contains(b, a):
        return b
    differing = [f for f in a.keys() | b.keys() if a.get(f) != b.get(f)]
    if len(differing) == 1 and differing[0] in a and differing[0] in b:
        return {**a, differing[0]: a[differing[0]] | b[differing[0]]}
    return None


def _relax(box: Box, union: Sequence[Box], everything: Sequence[Allowed]) -> Box:
    """Relax the conditions of a box, one by one, as far as it stays inside the union."""
    for feature in sorted(box):
        for codes in _wider(box[feature], everything[feature]):
            wider = {f: c for f, c in box.items() if f != feature}
            if codes != everything[feature]:
                wider[feature] = codes
            if is_covered(wider, union, everything):
                box = wider
                break
    return box


def _wider(codes: Allowed, everything: Allowed) -> list[Allowed]:
    """Return simpler conditions, simplest first: none, no upper bound, no lower bound."""
    low = codes & -codes
    no_upper = everything & ~(low - 1)
    no_lower = everything & ((1 << codes.bit_length()) - 1)
    return [c for c in (everything, no_upper, no_lower) if c != codes]
