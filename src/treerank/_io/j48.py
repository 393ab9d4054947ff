"""J48: parses the text that Weka prints for a C4.5 tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._trees.axis_tree import ANY_OTHER, AxisTree, Levels, build_axis_tree, new_nodes

_BARS = re.compile(r"(?:\|\s+)*")
_SIGN = re.compile(r" (<=|>|!=|=) ")
_WEIGHTS = re.compile(r" \(([\d.]+)(?:/([\d.]+))?\)$")


@dataclass(frozen=True)
class _Leaf:
    label: str
    weight: float
    wrong: float


@dataclass
class _Branch:
    """One line of the text: an outcome of a test, then a leaf or the next test."""

    name: str
    sign: str
    value: str
    leaf: _Leaf | None
    below: list[_Branch] = field(default_factory=list)

    def walk(self) -> Iterator[_Branch]:
        yield self
        for branch in self.below:
            yield from branch.walk()


def read_j48(text: str) -> tuple[AxisTree, list[str]]:
    """Return the tree and the names of its features, in the order of the text."""
    root = _parse(text)
    branches = [branch for top in root for branch in top.walk()]
    by_name: dict[str, list[_Branch]] = {}
    for branch in branches:
        by_name.setdefault(branch.name, []).append(branch)
    names = list(by_name)
    levels = [_levels(by_name[name]) for name in names]
    labels = _sorted_labels({b.leaf.label for b in branches if b.leaf is not None})
    writer = _Writer(names, levels)
    writer.write_test(root)
    numbers = {label: i for i, label in enumerate(labels)}
    predicted = np.array([numbers[leaf.label] for leaf in writer.leaves])
    tree = build_axis_tree(
        writer.as_records(),
        np.array(writer.sets, dtype=np.uint64).reshape(-1, 4),
        levels,
        counts=_counts(writer.leaves, predicted, len(labels)),
        predicted=predicted,
        classes=np.array([_as_number(label) for label in labels]),
        single_precision=False,
        takes_missing=False,  # C4.5 would split such a row over all branches
    )
    return tree, names


def _parse(text: str) -> list[_Branch]:
    """Return the outcomes of the first test, with everything below them."""
    root: list[_Branch] = []
    path: list[_Branch] = []
    for number, line in enumerate(text.splitlines(), start=1):
        found = _read_line(line.rstrip())
        if found is None:
            if line.startswith("|"):
                raise ValueError(f"Got line {number} of the J48 text, {line!r}; expected a test.")
            continue
        depth, branch = found
        if depth > len(path) or (depth == len(path) and path and path[-1].leaf is not None):
            raise ValueError(f"Got line {number} of the J48 text, {line!r}, that nothing leads to.")
        (path[depth - 1].below if depth else root).append(branch)
        path = [*path[:depth], branch]
    if not root:
        raise ValueError(
            f"Got text without a test ({text[:60]!r}…); expected the tree that J48 prints, of at "
            "least two leaves: one leaf has no decision boundary."
        )
    return root


def _read_line(line: str) -> tuple[int, _Branch] | None:
    """Return depth and outcome of a line such as ``|   income <= 3: bad (7.0/1.0)``."""
    bars = _BARS.match(line)
    assert bars is not None
    rest = line[bars.end() :]
    sign = _SIGN.search(rest, 1)
    if sign is None or rest.startswith("|") or sign.end() == len(rest):
        return None
    value, leaf = rest[sign.end() :], None
    found = _WEIGHTS.search(value)
    said, _, label = value[: found.start() if found else 0].partition(": ")
    if found is not None and said and label:
        value, leaf = said, _Leaf(label, float(found[1]), float(found[2] or 0))
    return bars[0].count("|"), _Branch(rest[: sign.start()], sign[1], value, leaf)


def _levels(branches: list[_Branch]) -> list[Any] | None:
    """Levels of a nominal attribute; None for a number."""
    signs = {branch.sign for branch in branches}
    if signs <= {"<=", ">"}:
        return None
    if signs <= {"=", "!="}:
        named = list(dict.fromkeys(branch.value for branch in branches))
        if len(named) >= _core.MAX_CATEGORY_CODES:
            raise ValueError(
                f"Got {branches[0].name!r} with {len(named)} levels in the J48 text; expected "
                f"fewer than {_core.MAX_CATEGORY_CODES}."
            )
        return [*named, ANY_OTHER] if "!=" in signs else named
    raise ValueError(f"Got {branches[0].name!r} as a number and as a category in the J48 text.")


def _sorted_labels(labels: set[str]) -> list[str]:
    if all(isinstance(_as_number(label), str) for label in labels):
        return sorted(labels)
    return sorted(labels, key=lambda label: (isinstance(_as_number(label), str), _as_number(label)))


def _as_number(label: str) -> int | str:
    return int(label) if re.fullmatch(r"-?\d+", label) else label


def _finite(text: str) -> float:
    threshold = float(text)
    if not np.isfinite(threshold):
        raise ValueError(f"Got the threshold {text} in the J48 text; expected a number.")
    return threshold


def _counts(
    leaves: list[_Leaf], predicted: NDArray[np.intp], n_classes: int
) -> NDArray[np.float64] | None:
    """Return class counts; None if the text does not give the classes of the errors."""
    wrong = np.array([leaf.wrong for leaf in leaves])
    if n_classes > 2 and wrong.any():
        return None
    counts = np.zeros((len(leaves), n_classes))
    rows = np.arange(len(leaves))
    counts[rows, predicted] = [leaf.weight for leaf in leaves]
    counts[rows, predicted] -= wrong
    if n_classes == 2:
        counts[rows, 1 - predicted] = wrong
    return counts


class _Writer:
    """Writes tests with any number of outcomes as tests with two."""

    def __init__(self, names: list[str], levels: Levels) -> None:
        self.number = {name: j for j, name in enumerate(names)}
        self.levels = levels
        self.records: list[dict[str, Any]] = []
        self.leaves: list[_Leaf] = []
        self.sets: list[list[int]] = []

    def as_records(self) -> NDArray[Any]:
        nodes = new_nodes(len(self.records))
        for node, record in zip(nodes, self.records, strict=True):
            for name, value in record.items():
                node[name] = value
        return nodes

    def write_test(self, branches: list[_Branch]) -> int:
        """Write a test and everything below it; return its node number."""
        name = branches[0].name
        signs = sorted(branch.sign for branch in branches)
        values = {branch.value for branch in branches}
        is_number = signs == ["<=", ">"] and len(values) == 1
        is_choice = set(signs) == {"="} and 1 < len(branches) == len(values)
        is_choice |= signs == ["!=", "="] and len(values) == 1
        if any(branch.name != name for branch in branches) or not (is_number or is_choice):
            said = "; ".join(f"{b.name} {b.sign} {b.value}" for b in branches)
            raise ValueError(
                f"Got a test of the J48 text with the outcomes {said}; expected <= and > of one "
                "number, or = for each level."
            )
        ordered = sorted(branches, key=lambda branch: branch.sign in (">", "!="))
        return self._write_outcomes(ordered, None if is_number else self.number[name])

    def _write_outcomes(self, branches: list[_Branch], category: int | None) -> int:
        first = branches[0]
        record: dict[str, Any] = {"feature": self.number[first.name]}
        number = self._add(record)
        if category is None:
            record["threshold"] = _finite(first.value)
        else:
            levels = self.levels[category]
            assert levels is not None
            bit = 1 << (levels.index(first.value) + 1)
            record["category_set"] = len(self.sets)
            self.sets.append([bit >> (64 * word) & (2**64 - 1) for word in range(4)])
        record["left"] = self._write_branch(first)
        record["right"] = (
            self._write_branch(branches[1])
            if len(branches) == 2
            else self._write_outcomes(branches[1:], category)
        )
        return number

    def _write_branch(self, branch: _Branch) -> int:
        if branch.leaf is None:
            if not branch.below:
                raise ValueError(
                    f"Got a J48 text that stops at {branch.name} {branch.sign} {branch.value}."
                )
            return self.write_test(branch.below)
        self.leaves.append(branch.leaf)
        return self._add({"leaf": len(self.leaves) - 1})

    def _add(self, record: dict[str, Any]) -> int:
        self.records.append(record)
        return len(self.records) - 1
