"""Results are shown as their table where a notebook or a prompt shows a value."""

import numpy as np
import pandas as pd
import pytest

from treerank import LeafRank, TreeRank, compare
from treerank.inspection import explain
from treerank.scoring import (
    challenge,
    evaluate,
    evaluate_groups,
    monitor,
    validate,
    weak_segments,
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"])
    return X, (X["a"] + rng.normal(size=400) > 0).astype(int)


@pytest.fixture(scope="module")
def model(rows):
    return TreeRank(LeafRank(), max_depth=2).fit(*(part[:200] for part in rows))


RESULTS = {
    "compare": (lambda model, X, y: compare({"tree": model}, X, y, cv=2), "model "),
    "evaluate": (evaluate, "rows "),
    "evaluate_groups": (lambda model, X, y: evaluate_groups(model, X, y, X["a"] > 0), "group "),
    "weak_segments": (weak_segments, "segment "),
    "challenge": (lambda model, X, y: challenge(model, model, X, y), "200 rows, "),
    "monitor": (lambda model, X, y: monitor(model, (X, y), (X, y), ["May"] * len(X)), "period "),
    "validate": (lambda model, X, y: validate(model, X, y, n_boot=2), "apparent"),
    "explain": (lambda model, X, y: explain(model, X[:1])[0], "stratum "),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_shown_as_it_is_printed(rows, model, name):
    make, start = RESULTS[name]
    shown = repr(make(model, *(part[200:] for part in rows)))
    assert shown.lstrip().startswith(start)
    assert "\n" in shown
    assert "array(" not in shown
