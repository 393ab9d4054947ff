"""Tasks on a cluster: results as futures, sums of answers, and understandable errors.

Nothing is scattered, and workers keep no state: everything that a task needs comes from other
tasks, so that the scheduler can repeat what a lost worker has done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from operator import itemgetter
from typing import Any

import dask.config
import numpy as np

from treerank._growth import shards as tasks
from treerank._growth.shards import Features, Job, Request, RowSelection

# The trees so far are sent with the tasks, because the successor of a lost worker needs them too.
# Dask warns about large tasks unless this threshold is raised.
LARGE_TASKS = {"distributed.admin.large-graph-warning-threshold": "1 TB"}
# Number of answers that one task sums, and the number of tasks up to which an extra task costs more
# than it saves.
ADDED_AT_ONCE = 8
FEW_TASKS = 4


class ClusterError(RuntimeError):
    """A fit on a cluster failed for a reason outside this library."""


class Cluster:
    """A Dask client that is used in rounds. A round ends when its result has arrived."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.n_rounds = 0

    @property
    def n_workers(self) -> int:
        """Present number of workers, at least 1."""
        return max(1, len(self.client.scheduler_info(n_workers=-1)["workers"]))

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        """Submit one call; return its future."""
        with dask.config.set(LARGE_TASKS):
            return self.client.submit(function, *args, pure=False)

    def give(self, value: Any, n_tasks: int) -> Any:
        """Return an argument for `n_tasks` tasks: the value, or for many tasks its future."""
        return value if n_tasks <= FEW_TASKS else self.submit(_itself, value)

    def sum(self, futures: Sequence[Any]) -> Any:
        """Sum answers, in a tree of tasks on the workers and finally here, in one round."""
        futures = list(futures)
        while len(futures) > FEW_TASKS:
            groups = [futures[i : i + ADDED_AT_ONCE] for i in range(0, len(futures), ADDED_AT_ONCE)]
            futures = [self.submit(tasks.add, group) for group in groups]
        return tasks.add(self.result(futures))

    def result(self, futures: list[Any]) -> list[Any]:
        """Wait for the results of futures; this is one round."""
        self.n_rounds += 1
        try:
            return list(self.client.gather(futures))
        except CancelledError as error:
            raise ClusterError(
                "Rows of the training data were lost with a worker, and cannot be computed again "
                f"({error}). Make the collection from files or tasks rather than from data "
                "scattered to workers, and fit again; with checkpoint=..., trees grown so far "
                "are kept."
            ) from None
        except Exception as error:
            if type(error).__name__ != "KilledWorker":
                raise
            raise ClusterError(
                f"Workers died again and again at the same task ({error}); the usual reason is "
                "that they ran out of memory. Use smaller partitions, or more workers."
            ) from None


def _itself(value: Any) -> Any:
    return value


class DaskShards:
    """Shards of the training rows on the workers of a cluster."""

    def __init__(self, cluster: Cluster, shards: list[Any]) -> None:
        self.cluster = cluster
        self.shards = shards
        self._answers: list[Any] = []  # futures of (state, answers), one per shard

    def added(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function on every shard, and sum the results. The arguments must be small."""
        futures = [self.cluster.submit(function, shard, *args) for shard in self.shards]
        return self.cluster.sum(futures)

    def class_weights(self, samples: list[RowSelection], n_classes: int) -> list[Any]:
        """Weight of each class in the rows of each tree, in units, summed over the shards."""
        return list(self.added(tasks.class_weights, samples, n_classes))

    def class_rows(self, n_classes: int) -> Any:
        """Number of rows of each class, summed over the shards."""
        return self.added(tasks.class_rows, n_classes)[0]

    def ask(self, request: Request, afresh: bool) -> list[Any]:
        """Send a request to all shards, and sum the answers.

        With `afresh`, the rows are placed anew from the tree so far, so that earlier work need
        not be repeated when a worker is lost.
        """
        asked = self.cluster.give(request, len(self.shards))
        before: list[Any] = [None] * len(self.shards) if afresh else self._answers
        self._answers = [
            self.cluster.submit(_go_on, shard, state, asked)
            for shard, state in zip(self.shards, before, strict=True)
        ]
        answers = [self.cluster.submit(itemgetter(1), future) for future in self._answers]
        return list(self.cluster.sum(answers))

    def grow_gathered(
        self, jobs: list[Job], sizes: list[float], features: Features, code_values: Any
    ) -> list[tuple[Any, ...]]:
        """Gather the rows of each job on one worker, and grow its tree there."""
        submit = self.cluster.submit
        bins = _balanced(sizes, 2 * self.cluster.n_workers)
        in_bins = [[jobs[i] for i in bin_] for bin_ in bins]
        asked = self.cluster.give(in_bins, len(self.shards))
        pieces = [
            submit(_gather, shard, state, asked)
            for shard, state in zip(self.shards, self._answers, strict=True)
        ]
        grown = [
            submit(tasks.grow_gathered, [submit(itemgetter(b), piece) for piece in pieces],
                   in_bins[b], features, code_values)
            for b in range(len(bins))
        ]  # fmt: skip
        results: list[Any] = [None] * len(jobs)
        for bin_, of_bin in zip(bins, self.cluster.result(grown), strict=True):
            for i, result in zip(bin_, of_bin, strict=True):
                results[i] = result
        return results


def _go_on(shard: Any, before: Any, request: Request) -> Any:
    return tasks.answer(shard, None if before is None else before[0], request)


def _gather(shard: Any, answered: Any, jobs: list[list[Job]]) -> Any:
    return tasks.gather(shard, answered[0], jobs)


def _balanced(sizes: list[float], n_bins: int) -> list[list[int]]:
    """Distribute jobs, the largest first, each to the bin with the least work."""
    bins: list[list[int]] = [[] for _ in range(min(n_bins, len(sizes)))]
    load = np.zeros(len(bins))
    for i in np.argsort(sizes)[::-1]:
        to = int(np.argmin(load))
        bins[to].append(int(i))
        load[to] += sizes[i]
    return bins
