"""Rounds of boosting on a device, with the interface of the core's `BoostingRounds`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank import _core
from treerank._binning.binning import Codes
from treerank._device.boosting import DeviceBoosting, memory_of
from treerank._device.codes import MadeThere
from treerank._device.device import Device
from treerank._device.scoring import PackedTrees
from treerank._device.table import Features, put_table
from treerank._input.types import Floats


class DeviceRounds:
    """Trees grown one after another on gradients; they are the same as the core's, bit for bit."""

    def __init__(
        self,
        device: Device,
        codes: Codes | MadeThere,
        rank: NDArray[np.intp],
        units: NDArray[np.int64] | None,
        features: Features,
        scores: Floats,
    ) -> None:
        table = put_table(
            device, codes, rank.astype(np.uint8), units, features, memory_of(len(rank))
        )
        self._rounds = DeviceBoosting(table, scores)
        self._growth = _core.BoostedGrowth(
            features.n_codes, features.categorical, features.monotonic
        )

    def grow(
        self,
        first: Floats | None,
        second: Floats | None,
        bits: int,
        scale: float,
        rows: NDArray[np.uint32] | None,
        chosen: NDArray[np.int32],
        options: dict[str, Any],
        scores: Floats | None,
    ) -> Any:
        """Grow a tree on the given derivatives; if they are None, on those of the logistic loss.

        If `scores` is given, adds the tree to the scores on the device; the array is not changed.
        """
        given = None if first is None or second is None else (first, second)
        units = self._rounds.round_gradients(given, bits)
        if units.gradient == 0 or units.hessian == 0:
            return None
        grown = self._rounds.grow(self._growth, rows, chosen, options, units, scale)
        if scores is not None:
            self._rounds.add_steps(self._growth)
        return grown

    def add(self, trees: PackedTrees) -> None:
        """Add trees to the scores of all rows; used if they were grown on some of the rows only."""
        self._rounds.add_trees(trees)

    def read_scores(self, scores: Floats) -> None:
        """Copy the scores from the device."""
        self._rounds.read_scores(scores)
