"""Parts of the rows in this process: asked as workers of a cluster are."""

from itertools import pairwise

import numpy as np

from treerank._growth import shards
from treerank._growth.shards import Part
from treerank._input.validation import TrainingData
from treerank._input.weights import Weights


class LocalParts:
    def __init__(self, parts):
        self.parts = parts
        self.states = [None] * len(parts)
        self.n_rounds = 0

    def class_masses(self, samples, n_classes):
        return shards.add([shards.class_masses(p, samples, n_classes) for p in self.parts])

    def ask(self, question, afresh):
        self.n_rounds += 1
        before = [None] * len(self.parts) if afresh else self.states
        results = [
            shards.answer(part, state, question)
            for part, state in zip(self.parts, before, strict=True)
        ]
        self.states = [state for state, _ in results]
        return shards.add([answers for _, answers in results])

    def grow_aside(self, jobs, sizes, features, code_values):
        pieces = [
            shards.take_aside(part, state, [jobs])[0]
            for part, state in zip(self.parts, self.states, strict=True)
        ]
        return shards.grow_aside(pieces, jobs, features, code_values)


def cut(weights, rows):
    return Weights(
        None if weights.repeats is None else weights.repeats[rows],
        None if weights.units is None else weights.units[rows],
        weights.scale,
    )


def parts_of(codes, data: TrainingData, cuts):
    """Cut the rows at the given places."""
    bounds = [0, *cuts, len(data.labels)]
    parts = []
    for first, last in pairwise(bounds):
        rows = slice(first, last)
        parts.append(
            Part(
                np.ascontiguousarray(codes[:, rows]), data.labels[rows], cut(data.weights, rows),
                first,
            )
        )  # fmt: skip
    return parts
