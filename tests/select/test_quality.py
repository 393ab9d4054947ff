"""How good a ranking is, of rows that need no checks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples

from treerank._select.quality import held_out_quality, ranking_quality


@given(
    n=st.integers(2, 60), n_scores=st.integers(1, 40), n_classes=st.integers(2, 3),
    weighted=st.booleans(), seed=st.integers(0, 10_000),
)  # fmt: skip
@examples(100)
def test_quality_of_sound_rows_is_the_quality_of_checked_ones(
    n, n_scores, n_classes, weighted, seed
):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n + n_classes).astype(np.uint8)
    labels[:n_classes] = np.arange(n_classes)
    scores = rng.integers(0, n_scores, len(labels)) / 7
    weight = rng.integers(1, 9, len(labels)) if weighted else None
    found = held_out_quality(labels, scores, n_classes, weight)
    wanted = ranking_quality(labels, scores, np.arange(n_classes), weight)
    assert found == pytest.approx(wanted, abs=1e-12)
