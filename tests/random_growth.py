"""Tables, parameters and weights on which trees grown in different ways are compared."""

import numpy as np
from hypothesis import strategies as st

from treerank._input.focus import WHOLE

TREE_PARAMETERS = {
    "max_depth": st.sampled_from([1, 3, None]),
    "min_samples_leaf": st.sampled_from([1, 5]),
    "max_features": st.sampled_from([None, 2]),
    "tournament": st.sampled_from(["all", "adjacent"]),
    "categorical_features": st.sampled_from([None, [3]]),
    "monotonic_cst": st.sampled_from([None, [1, 0, -1, 0]]),
    "random_state": st.integers(0, 5),
}
SPLITTER_PARAMETERS = {
    "max_depth": st.sampled_from([1, 2, 3, None]),
    "criterion": st.sampled_from(["gini", "entropy", "auc", "hellinger"]),
    "max_features": st.sampled_from([None, 1, 2]),
    "min_samples_leaf": st.sampled_from([1, 4]),
}


def table(n, n_classes, seed, n_features=4, n_levels=4):
    """Return rows with missing values and a category as last feature; every class occurs."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, n_features)).round(1)
    x[:, -1] = rng.integers(0, n_levels, size=n)
    noise = x[:, 0] + np.abs(x[:, 1]) + (x[:, -1] % 4 == 2) + rng.normal(size=n)
    y = np.searchsorted(np.quantile(noise, np.arange(1, n_classes) / n_classes), noise)
    x[rng.random(x.shape) < 0.05] = np.nan
    y[:n_classes] = np.arange(n_classes)
    return x, y


def weights_of(kind, n, seed):
    """Return sample weights: none, integers, fractions, huge ones or with zeros."""
    rng = np.random.default_rng(seed)
    return {
        "none": None,
        "whole": rng.integers(1, 4, size=n).astype(float),
        "broken": rng.random(n) + 0.1,
        "huge": rng.random(n) * 1e9 + 1,
        "zeros": np.append(np.ones(n - 3), [0.0, 2.0, 0.0]),
    }[kind]


def core_options(pruning, master_depth=1, **leafrank):
    """Return the options of a tree as the core takes them."""
    limits = {"min_weight_leaf": 1.0, "min_weight_split": 2.0, "max_features": -1}
    inner = {
        "criterion": "gini", "max_depth": 3, "max_leaf_nodes": -1, "random_cuts": False,
        "pruning": pruning, "row_weight": 1.0, "independent_weight": 1.0, **limits, **leafrank,
    }  # fmt: skip
    return {
        "leafrank": inner, "max_depth": master_depth, "min_auc_gain": 0.0, "seed": 5,
        "first_tree": 0, "tournament": "all", "tournament_gain": "vus", "focus": WHOLE, **limits,
    }  # fmt: skip


def assert_same_tree(one, other):
    for name in ("cells", "counts", "tests", "category_sets"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
