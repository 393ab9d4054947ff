"""Tables, and the trees of a forest as ranking trees, for the tests of forests."""

import numpy as np
import pandas as pd

from treerank import _core
from treerank._trees.ranking_tree import tree_from_core


def table(n=300, p=5, seed=0, missing=0.0, n_levels=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)).round(1)
    y = (x[:, 0] + 0.5 * x[:, 1] + rng.normal(size=n) > 0).astype(int)
    y[:2] = 0, 1
    if n_levels:
        x[:, -1] = rng.integers(0, n_levels, size=n)
    x[rng.random((n, p)) < missing] = np.nan
    return x, y


def as_frame(x, n_levels):
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])])
    if n_levels:
        last = frame.columns[-1]
        frame[last] = frame[last].map(lambda v: None if np.isnan(v) else f"level {v:.0f}")
        frame[last] = frame[last].astype("category")
    return frame


def rank_trees(model, x, y, weights=None):
    """Return the trees of a forest as full ranking trees, grown again one by one.

    A forest fitted with ``warm_start=True`` still has the thresholds that it was grown with.
    """
    assert model.warm_start
    codes, _ = model._codes(x)
    plan, binning = model._plan, model._binning
    trees = []
    for t, kind in enumerate(plan.kind_of):
        counts = plan.sampling.counts(t, len(y))
        units = None if weights is None else weights * counts.astype(np.int64)
        repeats = np.zeros((t + 1, len(y)), np.uint8)  # the index of a tree is part of its key
        repeats[t] = counts
        options = plan.kinds[kind].for_core(1.0, plan.sampling.design_effect(len(y)))
        labels = np.asarray(y, np.uint8)
        grown = _core.grow_trees(
            codes, labels, repeats, units, binning.n_codes, binning.is_categorical,
            np.zeros(len(codes), np.int8), options, 1, None,
        )  # fmt: skip
        trees.append(tree_from_core(grown[-1], 1.0))
    return trees
