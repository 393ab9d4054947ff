"""How good a ranking is, of rows that need no checks."""

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples

from treerank import _core
from treerank._input.focus import WHOLE, Focus
from treerank._select.quality import held_out_qualities, quality_of_scores, ranking_quality
from treerank.metrics import local_auc_score, partial_auc_score


def some_rows(n, n_values, n_classes, weighted, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n + n_classes).astype(np.uint8)
    labels[:n_classes] = np.arange(n_classes)
    scores = rng.integers(-n_values, n_values, (len(labels), 3)) / 7
    return labels, scores, rng.integers(1, 9, len(labels)) if weighted else None


@given(
    n=st.integers(2, 60), n_values=st.integers(1, 40), n_classes=st.integers(2, 3),
    weighted=st.booleans(), seed=st.integers(0, 10_000),
)  # fmt: skip
@examples(60)
def test_quality_of_sound_rows_is_the_quality_of_checked_ones(
    n, n_values, n_classes, weighted, seed
):
    labels, scores, weight = some_rows(n, n_values, n_classes, weighted, seed)
    found = held_out_qualities(labels, scores, n_classes, weight, None, 1)
    numbers = np.arange(n_classes)
    wanted = [ranking_quality(labels, column, numbers, weight) for column in scores.T]
    assert found == pytest.approx(wanted, abs=1e-12)


@given(
    n=st.integers(2, 60), n_values=st.integers(1, 40), weighted=st.booleans(),
    rates=st.tuples(st.floats(0, 0.9), st.floats(0.01, 0.1)), seed=st.integers(0, 10_000),
)  # fmt: skip
@examples(60)
def test_quality_at_the_top_is_local_or_partial_auc(n, n_values, weighted, rates, seed):
    labels, scores, weight = some_rows(n, n_values, 2, weighted, seed)
    low, high = rates[0], rates[0] + rates[1]
    by_rows, by_rates = Focus("rows", 0.0, high), Focus("negatives", low, high)
    for column in scores.T:
        local = local_auc_score(labels, column, rate=high, sample_weight=weight)
        area = {"min_fpr": low, "max_fpr": high, "sample_weight": weight}
        partial = partial_auc_score(labels, column, **area)
        for focus, wanted in ((by_rows, local), (by_rates, partial)):
            found = quality_of_scores(column, labels.astype(np.intp), weight, 2, focus)
            assert found == pytest.approx(wanted, abs=1e-10)


@given(
    n=st.integers(2, 60), n_values=st.integers(1, 40), weighted=st.booleans(),
    n_jobs=st.integers(1, 4), seed=st.integers(0, 10_000),
)  # fmt: skip
@examples(50)
def test_auc_of_columns_is_that_of_all_pairs_for_any_number_of_threads(
    n, n_values, weighted, n_jobs, seed
):
    labels, scores, weight = some_rows(n, n_values, 2, weighted, seed)
    found = _core.ranking_quality(scores, labels, weight, n_jobs, WHOLE)
    np.testing.assert_array_equal(found, _core.ranking_quality(scores, labels, weight, 1, WHOLE))
    wanted = [oracles.auc(labels, column, weight) for column in scores.T]
    assert found == pytest.approx(wanted, abs=1e-12)


def test_auc_of_large_weights_is_exact():
    labels = np.array([1, 0, 1, 0], dtype=np.uint8)
    scores = np.array([[0.0], [0.0], [1.0], [2.0]])
    weight = np.array([3, 2**40 + 1, 2**40 - 1, 5])
    positive, negative = 2**40 + 2, 2**40 + 6
    won = 3 * (2**40 + 1) + 2 * (2**40 - 1) * (2**40 + 1)
    [found] = _core.ranking_quality(scores, labels, weight, 1, WHOLE)
    assert found == won / (2 * positive * negative)


@pytest.mark.parametrize("n_labels", [2, 4])
def test_auc_refuses_other_lengths_and_missing_scores(n_labels):
    labels = np.arange(n_labels, dtype=np.uint8) % 2
    scores = np.array([[0.0], [np.nan], [1.0], [2.0]])
    with pytest.raises(ValueError, match="lengths" if n_labels == 2 else "NaN"):
        _core.ranking_quality(scores, labels, None, 1, WHOLE)
