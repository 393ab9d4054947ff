"""The strata of a tree and of its subtrees, as data for the page and its script."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._input.types import Floats
from treerank._report._cells import CellView, Step, split_points
from treerank._report._order import class_values, format_break, mean_class, mean_limits, rank_breaks
from treerank._report._roc import plain


def strata(view: CellView, rows: list[dict[str, Any]], classes: NDArray[Any]) -> dict[str, Any]:
    """Sort the rows of the strata table, with the strata of the model first."""
    step = view.steps[view.chosen]
    found = np.cumsum(view.judged[step.leaves, -1]) / view.judged[0, -1]
    breaks = step_breaks(view, step, classes)
    if len(classes) > 2:
        rows = [row | _mean_classes(view, row["cell"], classes) for row in rows]
    by_cell = {row["cell"]: row for row in rows}
    listed = [
        by_cell[cell]
        | {"place": i, "score": step.scores[i], "found": found[i], "break": breaks.get(cell)}
        for i, cell in enumerate(step.leaves.tolist())
    ]
    others = {"place": None, "score": None, "found": None, "break": None}
    here = set(step.leaves.tolist())
    listed += [row | others for row in rows if row["cell"] not in here]
    parent = view.tree.cells["parent"]
    splits = set()
    for leaf in step.leaves.tolist():
        cell = int(parent[leaf])
        while cell >= 0 and cell not in splits:
            splits.add(cell)
            cell = int(parent[cell])
    return {
        "cells": rows,
        "strata": listed,
        "step": step,
        "splits": splits,
        "n_breaks": len(breaks),
    }


def step_breaks(view: CellView, step: Step, classes: NDArray[Any]) -> dict[int, str]:
    """Describe significant violations of the order of a subtree's strata, by cell."""
    names = [f"stratum {i}" for i in range(len(step.leaves))]
    breaks = rank_breaks(
        view.judged[step.leaves], class_values(classes), view.level, view.rows_per_weight
    )
    return {
        int(leaf): format_break(found, names, len(classes) == 2)
        for leaf, found in zip(step.leaves, breaks, strict=True)
        if found is not None
    }


def _mean_classes(view: CellView, cell: int, classes: NDArray[Any]) -> dict[str, Any]:
    """Mean grade of a cell with its limits, and that of the training rows."""
    values = class_values(classes)
    return {
        "mean": mean_limits(view.judged[cell], values, view.level, view.rows_per_weight),
        "training_mean": mean_class(view.tree.counts[cell], values, 1.0)[0],
        "height": _height(view.judged[cell], values),
    }


def _height(counts: Floats, values: Floats) -> float:
    """Mean grade as a percentage of the range from the lowest to the highest class."""
    if counts.sum() == 0:
        return 0.0
    mean = float(counts @ values / counts.sum())
    return 100 * (mean - float(values[0])) / float(values[-1] - values[0])


def tree_data(view: CellView, classes: NDArray[Any]) -> dict[str, Any]:
    """Cells and subtrees for the script."""
    cells = np.flatnonzero(view.shown).tolist()
    points = split_points(view)
    return {
        "chosen": view.chosen,
        "parent": {cell: int(view.tree.cells["parent"][cell]) for cell in cells},
        "judged": {cell: plain(view.judged[cell]) for cell in cells},
        "training": {cell: plain(view.tree.counts[cell]) for cell in cells},
        "point": {cell: points[cell].round(5).tolist() for cell in cells if view.is_split[cell]},
        "steps": [
            {
                "leaves": step.leaves.tolist(),
                "scores": step.scores.tolist(),
                "breaks": step_breaks(view, step, classes),
                "judged": step.judged,
                "training": step.training,
                "cv": step.cross_validated,
                "error": step.error,
            }
            for step in view.steps
        ],
    }
