"""No open figures before and after each test; tables and models that the displays share."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, make_classification

from treerank import TreeRank


@pytest.fixture(autouse=True)
def no_open_figures():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.close("all")
    yield
    pyplot.close("all")


@pytest.fixture(scope="session")
def cancer():
    return load_breast_cancer(return_X_y=True, as_frame=True)


@pytest.fixture(scope="session")
def cancer_tree(cancer):
    return TreeRank().fit(*cancer)


@pytest.fixture(scope="session")
def customers():
    """Numbers and categories, long names, `$` and `_`."""
    rng = np.random.default_rng(0)
    n = 2000
    X, y = make_classification(n, 8, n_informative=6, class_sep=0.6, flip_y=0.1, random_state=1)
    names = [f"a_rather_long_feature_name_{j}" if j % 2 else f"income $ {j}" for j in range(8)]
    X = pd.DataFrame(X, columns=names)
    X["region"] = rng.choice(["north", "south", "east", "west"], n)
    X["job"] = pd.Categorical(rng.choice([f"job{i}" for i in range(30)], n))
    return X, np.where((X["region"] == "south") & (rng.random(n) < 0.3), 1, y)


@pytest.fixture(scope="session")
def customer_tree(customers):
    """About twenty strata."""
    return TreeRank(min_samples_leaf=40, pruning=None).fit(*customers)


@pytest.fixture(scope="session")
def plane():
    """Two features alone."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 2))
    y = (X[:, 0] ** 2 + X[:, 1] + rng.normal(size=400) > 1).astype(int)
    return X, y


@pytest.fixture(scope="session")
def plane_tree(plane):
    return TreeRank(min_samples_leaf=15, pruning=None).fit(*plane)
