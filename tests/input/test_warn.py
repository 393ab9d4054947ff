"""Warnings point at the line of the user's own code."""

import ast
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import treerank
from treerank import RankingForest, TreeRank
from treerank.baselines import RankSVM
from treerank.metrics import ordinal_vus_score

N = 60
X = np.random.default_rng(0).normal(size=(N, 3))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)
GRADES = np.array(["a", "b", "c"])[np.arange(N) % 3]
IDS = pd.DataFrame({"x": X[:, 0], "id": [f"C{i}" for i in range(N)]})

CALLS = {
    "text labels": lambda: TreeRank().fit(X, GRADES),
    "text labels of a metric": lambda: ordinal_vus_score(GRADES, X[:, 0]),
    "a column of identifiers": lambda: RankingForest(n_estimators=2).fit(IDS, Y),
    "a tiny class": lambda: TreeRank().fit(X, np.arange(N) == 0),
    "no convergence": lambda: RankSVM(max_iter=1, tol=1e-12).fit(X, Y),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_warning_points_here(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert [w.filename for w in caught] == [__file__]


def test_no_module_changes_the_filters_when_it_is_imported():
    changing = [
        path
        for path in Path(treerank.__file__).parent.rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.Expr) and "warnings." in ast.unparse(node.value)
    ]
    assert changing == []
