"""Bands of the gains table hold whole rows, and end at scores that can be used."""

import numpy as np
import pytest
from report_data import grades, loans
from sklearn.metrics import roc_auc_score

from treerank import RankingForest, TreeRank, report
from treerank._report._bands import whole_bands
from treerank._report._by_cut import cuts_between_classes
from treerank._report._sample import read_sample


def test_bands_hold_the_rows_of_their_scores():
    rng = np.random.default_rng(0)
    score = rng.integers(0, 40, 997) / 40
    positive = rng.random(997) < score
    bands = whole_bands(positive, score, np.ones(997), 0.95)
    assert [b["band"] for b in bands] == list(range(1, 11))
    above = np.inf
    for band in bands:
        inside = (score >= band["score_min"]) & (score < above)
        assert band["rows"] == inside.sum()
        assert band["events"] == positive[inside].sum()
        assert 0.05 < band["rows"] / 997 < 0.15
        flagged = score >= band["score_min"]
        assert band["cumulative_events"] == pytest.approx(positive[flagged].sum() / positive.sum())
        assert band["ks"] == pytest.approx(
            positive[flagged].sum() / positive.sum()
            - (~positive[flagged]).sum() / (~positive).sum()
        )
        above = band["score_min"]
    assert sum(b["rows"] for b in bands) == 997


def test_few_scores_make_fewer_bands():
    score = np.repeat([3.0, 2.0, 1.0], [5, 60, 35])
    bands = whole_bands(np.arange(100) % 3 == 0, score, np.ones(100), 0.95)
    assert [b["rows"] for b in bands] == [5, 60, 35]


def test_weights_count_in_bands():
    score = np.arange(20.0)
    weight = np.where(score > 9, 0.5, 1.0)
    bands = whole_bands(score > 12, score, weight, 0.95)
    assert sum(b["rows"] for b in bands) == 15
    assert bands[0]["rows"] == 1.5


def test_the_page_has_no_half_rows():
    x, y = loans(900)
    for model in (TreeRank(max_depth=3), RankingForest(n_estimators=10)):
        text = report(model.fit(x[:300], y[:300]), x[300:], y[300:], out=None)
        start = text.index('<section id="gains"')
        body = text[text.index("<tbody>", start) : text.index("</tbody>", start)]
        for label in ("rows", "events"):
            cells = body.split(f'data-label="{label}">')[1:]
            assert all(cell[: cell.index("<")].replace(",", "").isdigit() for cell in cells)


def test_cuts_between_grades_are_judged_as_two_classes():
    x, y = grades(900, n_classes=4)
    model = TreeRank(max_depth=4).fit(x[:400], y[:400])
    sample = read_sample(model, x[400:], y[400:], None)
    found = cuts_between_classes(sample, model.label_order_, 0.95)
    assert [row["label"] for row in found["rows"]] == ["3", "2 and above", "1 and above"]
    share = model.predict_proba(x[400:])
    for row, k in zip(found["rows"], (3, 2, 1), strict=True):
        assert row["rows"] == (y[400:] >= k).sum()
        assert row["auc"] == pytest.approx(roc_auc_score(y[400:] >= k, sample.score))
        assert row["calibration"]["predicted"] == pytest.approx(share[:, k:].sum(axis=1).mean())
        assert row["calibration"]["observed"] == pytest.approx((y[400:] >= k).mean())
    text = report(model, x[400:], y[400:], out=None)
    assert text.count('<figcaption class="name">Calibration, ') == 3


def test_cuts_without_probabilities_have_gains_alone():
    x, y = grades(600)
    model = TreeRank(max_depth=3).fit(x, y)
    text = report(model, train=(x, y), out=None)  # held out: scores alone
    assert 'id="by-cut"' in text
    assert "Calibration, " not in text
