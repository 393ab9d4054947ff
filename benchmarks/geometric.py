"""Geometric ranking: the speed of the exact distance, and the paper's study on 16 real sets."""

import time
import warnings
from functools import partial
from typing import Any

from benchmarks.common import fingerprint, remember
from benchmarks.geometric_study import SETS, StudySet, load, one_sample
from treerank.datasets import BenchmarkUnavailableError

N_SAMPLES = 100
BLOCK = 10  # samples that are kept together, so that a run can go on where it was stopped


def block_of(X: Any, y: Any, first: int, last: int) -> list[dict[str, Any]]:
    return [one_sample(X, y, seed) for seed in range(first, last)]


def study_set(found: StudySet, n_samples: int) -> list[dict[str, Any]]:
    """All samples of one set."""
    X, y = load(found)
    samples: list[dict[str, Any]] = []
    start = time.perf_counter()
    for first in range(0, n_samples, BLOCK):
        last = min(first + BLOCK, n_samples)
        key = f"geometric-{found.source}-{first}-{last}-{fingerprint()}"
        samples += remember(key, partial(block_of, X, y, first, last))
        print(f"{found.name:14s} {len(samples):4d} samples, "
              f"{time.perf_counter() - start:6.0f} s", flush=True)  # fmt: skip
    return samples


def study(quick: bool) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """Samples of all sets that can be had; the second list says which cannot."""
    results, skipped = {}, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for found in SETS[:4] if quick else SETS:
            try:
                results[found.name] = study_set(found, 4 if quick else N_SAMPLES)
            except BenchmarkUnavailableError as error:
                skipped.append(found.name)
                print(f"{found.name}: left out. {error}", flush=True)
    return results, skipped
