"""Simulated models whose truth is known."""

from ._gaussians import make_gaussians_20d
from ._ordinal_gaussians import make_ordinal_gaussians
from ._roc_surface import RocSurface
from ._truncated import make_truncated_gaussians
from ._truth import BinaryTruth, OrdinalTruth, RocCurve, SimulatedSample
from ._uniform import make_ordinal_uniform, make_uniform_mixture

__all__ = [
    "BinaryTruth",
    "OrdinalTruth",
    "RocCurve",
    "RocSurface",
    "SimulatedSample",
    "make_gaussians_20d",
    "make_ordinal_gaussians",
    "make_ordinal_uniform",
    "make_truncated_gaussians",
    "make_uniform_mixture",
]
