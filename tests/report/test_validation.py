"""Optimism and instability in a report."""

import pytest
import saved_models

from treerank import TreeRank, report
from treerank.scoring import validate

pytest.importorskip("jinja2")


def test_a_report_shows_what_the_bootstrap_found():
    X, y = saved_models.loans(800)
    model = TreeRank().fit(X, y)
    found = validate(TreeRank(), X, y, n_boot=4)
    text = report(model, train=(X, y), validation=found, out=None)
    assert "repeated on 4 bootstrap samples" in text
    for value in (found.apparent[0], found.corrected[0], found.held_out[0]):
        assert f"{value:.4f}" in text
    assert 'id="validation"' not in report(model, train=(X, y), out=None)
