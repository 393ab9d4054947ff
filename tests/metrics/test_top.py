"""Local AUC and hit rate."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples
from sklearn.metrics import roc_auc_score

from treerank.metrics import hit_rate_score, local_auc_score


def top_by_slices(y, s, w, rate):
    """Slow twin in exact fractions: fill the top tie by tie, adding areas piece by piece."""
    total = {c: Fraction(sum(int(v) for v in w[y == c])) for c in (0, 1)}
    room = Fraction(rate) * (total[0] + total[1])
    a = b = area = hits = Fraction(0)
    for value in sorted(set(s.tolist()), reverse=True):
        here = {c: Fraction(sum(int(v) for v in w[(y == c) & (s == value)])) for c in (0, 1)}
        weight = here[0] + here[1]
        part = min(Fraction(1), room / weight) if weight else Fraction(0)
        da, db = part * here[0] / total[0], part * here[1] / total[1]
        area += da * (b + db / 2)
        a, b, hits, room = a + da, b + db, hits + part * here[1], room - part * weight
    return float(b * (1 - a) + area), float(hits / (Fraction(rate) * (total[0] + total[1])))


@examples(200)
@given(st.data())
def test_equals_exact_slices_with_ties_and_weights(data):
    n = data.draw(st.integers(2, 20))
    y = np.array([0, 1, *data.draw(st.lists(st.integers(0, 1), min_size=n - 2, max_size=n - 2))])
    s = np.array(data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)))
    w = np.array(data.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)))
    rate = data.draw(st.sampled_from([0.0625, 0.125, 0.25, 0.5, 0.75, 1.0]))
    local, hits = top_by_slices(y, s, w, rate)
    assert local_auc_score(y, s, rate=rate, sample_weight=w) == pytest.approx(local, abs=1e-12)
    assert hit_rate_score(y, s, rate=rate, sample_weight=w) == pytest.approx(hits, abs=1e-12)
    args = (np.repeat(y, w), np.repeat(s, w))
    assert local_auc_score(*args, rate=rate) == pytest.approx(local, abs=1e-12)
    assert hit_rate_score(*args, rate=rate) == pytest.approx(hits, abs=1e-12)


def test_local_auc_is_the_integral_of_the_capped_curve():
    # b (1 - a) plus the area up to a is the area under min(ROC, b), here by a fine Riemann sum.
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 500)
    s = np.round(rng.normal(size=500) + y, 1)
    u = (np.arange(200_000) + 0.5) / 200_000
    values = np.unique(s)[::-1]
    fpr = np.array([0, *((s[y == 0] >= v).mean() for v in values)])
    tpr = np.array([0, *((s[y == 1] >= v).mean() for v in values)])
    called = np.array([0, *((s >= v).mean() for v in values)])
    for rate in (0.03, 0.2, 0.6):
        cap = np.interp(rate, called, tpr)
        expected = np.minimum(np.interp(u, fpr, tpr), cap).mean()
        assert local_auc_score(y, s, rate=rate) == pytest.approx(expected, abs=1e-5)


def test_local_auc_of_all_rows_is_the_auc():
    rng = np.random.default_rng(1)
    y, s = rng.integers(0, 2, 300), rng.integers(0, 30, 300)
    assert local_auc_score(y, s, rate=1) == pytest.approx(roc_auc_score(y, s), abs=1e-12)


def test_hit_rate_of_all_rows_is_the_share_of_positives():
    assert hit_rate_score([0, 1, 1, 0, 0], [1, 2, 3, 4, 5], rate=1) == 0.4


def test_a_tie_never_carries_more_than_the_rate():
    # One tie over all rows: the top 10 % hold 10 % of both classes.
    y = np.repeat([0, 1], 50)
    assert local_auc_score(y, np.zeros(100), rate=0.1) == pytest.approx(0.1 * 0.9 + 0.1**2 / 2)


@pytest.mark.parametrize("rate", [0, -0.1, 1.5, np.nan, "0.1", None])
@pytest.mark.parametrize("score", [local_auc_score, hit_rate_score])
def test_a_rate_outside_the_unit_interval_is_refused(score, rate):
    with pytest.raises(ValueError, match="Got rate="):
        score([0, 1], [1, 2], rate=rate)
