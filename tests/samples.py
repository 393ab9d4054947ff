"""Tables and trees that several tests draw."""

import numpy as np
import oracles
import pandas as pd
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from treerank import TreeRank
from treerank._input.validation import validate_rows


def table(n, p, seed, *, missing=0.0, digits=1, n_levels=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)).round(digits)
    y = (x[:, 0] + rng.normal(size=n) > 0).astype(int)
    y[:2] = 0, 1
    if n_levels:
        x[:, -1] = rng.integers(0, n_levels, size=n)
    x[rng.random((n, p)) < missing] = np.nan
    return x, y


def grown(x, y, weight=None, **parameters):
    with oracles.all_thresholds():
        return TreeRank(pruning=None, shrinkage=None, **parameters).fit(x, y, sample_weight=weight)


def table_of(model, x):
    return validate_rows(model, x, model._binning.is_categorical)


def frame(n, seed, missing=0.1):
    rng = np.random.default_rng(seed)
    x = pd.DataFrame(rng.normal(size=(n, 3)).round(2), columns=["a", "b", "c"])
    score = x["a"] * x["b"] + x["c"] + rng.normal(size=n)
    x = x.mask(rng.random((n, 3)) < missing)
    x["level"] = rng.choice(["u", "v", "w", None], size=n)
    y = (score + (x["level"] == "u") > 0.3).astype(int)
    y.iloc[:2] = 0, 1
    return x, y


@st.composite
def trees(draw):
    """Draw the children of cells in preorder, and the gains of the splits."""
    left, right = [-1], [-1]

    def split(cell, depth):
        if depth > 0 and draw(st.booleans()):
            for side in (left, right):
                side[cell] = len(left)
                left.append(-1)
                right.append(-1)
                split(side[cell], depth - 1)

    split(0, 4)
    gain = [draw(st.integers(1, 50)) / 64 if c >= 0 else 0.0 for c in left]
    return np.array(left, np.int32), np.array(right, np.int32), np.array(gain)


def noise(seed, n=300, p=5):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)), rng.integers(0, 2, size=n)


def whole_numbers(n, seed=0, p=4):
    """Return features of five values each, which occur in any part of the rows: equal bins."""
    rng = np.random.default_rng(seed)
    X = rng.integers(5, size=(n, p)).astype(float)
    logit = 1.2 * (X[:, 0] > 1) + 0.8 * (X[:, 1] - 2) * (X[:, 2] > 2) - 0.5
    return X, (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int)


def cancer():
    """Return a real table: rows to fit and to score, and their labels."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return train_test_split(X, y, random_state=0)


def graded(n=300, n_classes=4, seed=0, n_features=3):
    """Return rows whose class depends on two features, with noise; values repeat."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, n_features)).round(1)
    latent = x[:, 0] + 0.5 * x[:, 1] + rng.normal(size=n)
    y = np.searchsorted(np.quantile(latent, np.arange(1, n_classes) / n_classes), latent)
    y[:n_classes] = np.arange(n_classes)
    return x, y
