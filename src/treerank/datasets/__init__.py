"""Simulated models whose truth is known, and the real data sets of the benchmarks."""

from ._benchmark import (
    BenchmarkMismatchError,
    BenchmarkSet,
    BenchmarkUnavailableError,
    list_benchmarks,
    load_benchmark,
)
from ._gaussians import make_gaussians_20d
from ._ordinal_gaussians import make_ordinal_gaussians
from ._roc_surface import RocSurface
from ._truncated import make_truncated_gaussians
from ._truth import BinaryTruth, OrdinalTruth, RocCurve, SimulatedSample
from ._uniform import make_ordinal_uniform, make_uniform_mixture

__all__ = [
    "BenchmarkMismatchError",
    "BenchmarkSet",
    "BenchmarkUnavailableError",
    "BinaryTruth",
    "OrdinalTruth",
    "RocCurve",
    "RocSurface",
    "SimulatedSample",
    "list_benchmarks",
    "load_benchmark",
    "make_gaussians_20d",
    "make_ordinal_gaussians",
    "make_ordinal_uniform",
    "make_truncated_gaussians",
    "make_uniform_mixture",
]
