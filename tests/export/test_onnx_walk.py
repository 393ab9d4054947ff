"""Forests of merged cells in ONNX: walks by plain operators, the same bits as the core."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples
from onnx_scores import run_onnx
from saved_models import loans, new_rows

from treerank import RankingForest
from treerank.export._onnx_walk import _rests, _search_trees

DOUBLES = st.floats(allow_nan=False, allow_infinity=False)


@pytest.fixture
def walked(monkeypatch):
    """Walk through every forest, however small."""
    monkeypatch.setattr("treerank.export._onnx_ensemble.MOST_NODES", 10)
    monkeypatch.setattr("treerank.export._onnx_ensemble.MOST_COPIES", 0)


@pytest.mark.parametrize("together", [1, 700, 10**6])
def test_trees_may_be_walked_in_parts(monkeypatch, walked, together):
    monkeypatch.setattr("treerank.export._onnx_walk.TOGETHER", together)
    forest = RankingForest(n_estimators=7).fit(*loans(400))
    rows = new_rows(300)
    np.testing.assert_array_equal(run_onnx(forest, rows)[0], forest.score_samples(rows))


@pytest.mark.parametrize("n_rows", [0, 1, 2])
def test_few_rows_are_walked_too(walked, n_rows):
    X = np.random.default_rng(0).normal(size=(200, 3))
    forest = RankingForest(n_estimators=5).fit(X, X[:, 0] + X[:, 1] > 0)
    [scores] = run_onnx(forest, X[:n_rows])
    expected = forest.score_samples(X)[:n_rows]
    np.testing.assert_array_equal(scores, expected)


def test_values_next_to_a_threshold_go_the_right_way(walked):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) * [1e-300, 1e300]
    X[rng.random(X.shape) < 0.1] = np.nan
    forest = RankingForest(n_estimators=5).fit(X, rng.random(300) < 0.3)
    cuts = [np.asarray(t) for t in forest._binning.thresholds]
    rows = np.full((3 * max(map(len, cuts)) + 3, 2), np.nan)
    for j, known in enumerate(cuts):
        near = np.concatenate([np.nextafter(known, -np.inf), known, np.nextafter(known, np.inf)])
        rows[: len(near), j] = near
    rows[-2:] = [[-1.7e308, 1.7e308], [1.7e308, -1.7e308]]
    np.testing.assert_array_equal(run_onnx(forest, rows)[0], forest.score_samples(rows))


@examples(60)
@given(
    st.lists(st.lists(DOUBLES, max_size=9, unique=True).map(sorted), min_size=1, max_size=3),
    st.lists(DOUBLES, min_size=1, max_size=5),
)
def test_search_trees_count_the_thresholds_below(known, values):
    nodes = _search_trees([np.array(cuts, dtype=float) for cuts in known])
    for j, cuts in enumerate(known):
        for value in [*values, *cuts]:
            at = nodes.roots[j]
            while nodes.child[at] >= 0:
                assert nodes.feature[at] == j
                at = nodes.child[at] + int(value > nodes.split[at])
            assert nodes.target[at] == j
            assert nodes.weight[at] == sum(cut < value for cut in cuts)


@pytest.mark.parametrize("n_steps", [1, 2, 3, 8, 56, 401])
def test_ended_walks_are_dropped_at_rising_steps(n_steps):
    rests = _rests(n_steps)
    assert rests[0] == 0
    assert rests[-1] == n_steps
    assert all(np.diff(rests) > 0)
