"""Shards of the rows in this process, queried like the workers of a cluster."""

from itertools import pairwise

import numpy as np

from treerank._growth import shards
from treerank._growth.shards import Shard
from treerank._input.validation import TrainingData
from treerank._input.weights import Weights


class LocalShards:
    def __init__(self, shards):
        self.shards = shards
        self.states = [None] * len(shards)
        self.n_rounds = 0

    def class_weights(self, samples, n_classes):
        return shards.add([shards.class_weights(p, samples, n_classes) for p in self.shards])

    def ask(self, request, afresh):
        self.n_rounds += 1
        before = [None] * len(self.shards) if afresh else self.states
        results = [
            shards.answer(shard, state, request)
            for shard, state in zip(self.shards, before, strict=True)
        ]
        self.states = [state for state, _ in results]
        return shards.add([answers for _, answers in results])

    def grow_gathered(self, jobs, sizes, features, code_values):
        pieces = [
            shards.gather(shard, state, [jobs])[0]
            for shard, state in zip(self.shards, self.states, strict=True)
        ]
        return shards.grow_gathered(pieces, jobs, features, code_values)


def cut(weights, rows):
    return Weights(
        None if weights.repeats is None else weights.repeats[rows],
        None if weights.units is None else weights.units[rows],
        weights.scale,
    )


def parts_of(codes, data: TrainingData, cuts):
    """Cut the rows at the given positions."""
    bounds = [0, *cuts, len(data.labels)]
    shards = []
    for first, last in pairwise(bounds):
        rows = slice(first, last)
        shards.append(
            Shard(
                np.ascontiguousarray(codes[:, rows]), data.labels[rows], cut(data.weights, rows),
                first,
            )
        )  # fmt: skip
    return shards


class CallsHere:
    """A cluster whose tasks run in this process as soon as they are submitted."""

    n_workers = 2

    def __init__(self):
        self.n_rounds = 0

    def submit(self, function, *args):
        return function(*args)

    def give(self, value, n_tasks):
        return value

    def result(self, results):
        self.n_rounds += 1
        return list(results)

    def sum(self, results):
        return shards.add(self.result(results))
