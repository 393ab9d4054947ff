"""Groups and weak segments in the report: figures of treerank.scoring, odd groups in words."""

import re

import numpy as np
import pytest
from report_data import NASTY, grades

from treerank import TreeRank, report
from treerank._report._sample import hold_out, read_sample
from treerank.metrics import roc_auc_score
from treerank.scoring import evaluate_groups, weak_segments


@pytest.fixture(scope="module")
def tree(rows):
    return TreeRank(max_depth=4).fit(*rows[:2])


def section(text, name):
    part = text[text.index(f'<section id="{name}"') :]
    part = re.sub("<[^>]+>", " ", part[: part.index("</section>")])
    assert not re.search(r"\b(nan|NaN|None|inf)\b", part)
    return " ".join(part.split())


def test_figures_are_those_of_the_functions(rows, tree):
    text = report(tree, *rows[2:], out=None, groups="purpose", segments=True)
    said = section(text, "groups")
    found = evaluate_groups(tree, *rows[2:], rows[2]["purpose"])
    for g in found.groups:
        assert f"{g.auc:.3f} {g.auc_limits[0]:.3f} to {g.auc_limits[1]:.3f}" in said
        assert f"{g.cross_gap:.3f}" in said
    assert "&lt;b&gt;boat&lt;/b&gt;" in text
    said = section(text, "segments")
    for s in weak_segments(tree, *rows[2:]).segments:
        assert f"{s.auc:.3f} {s.auc_limits[0]:.3f} to {s.auc_limits[1]:.3f}" in said


def test_held_out_rows_are_grouped_by_the_training_table(rows, tree):
    x, y = rows[:2]
    weight = np.ones(300)
    weight[:10] = 0
    model = TreeRank(max_depth=4).fit(x, y, sample_weight=weight)
    half = np.arange(300) % 2
    text = report(model, train=(x, y, weight), out=None, groups=half)
    sample, _ = hold_out(model, read_sample(model, x, y, weight), 5, 0)
    said = section(text, "groups")
    for k in (0, 1):
        part = half[sample.given] == k
        assert f"{roc_auc_score(sample.code[part], sample.score[part]):.3f}" in said


def test_odd_groups_are_put_in_words(rows, tree):
    group = np.where(rows[3] == 0, "quiet", "loud").astype(object)
    group[0] = NASTY
    group[1] = None
    said = section(report(tree, *rows[2:], out=None, groups=group), "groups")
    assert "no events, so that there is no AUC" in said
    assert "(missing)" in said
    few = slice(0, 40)
    text = report(tree, rows[2][few], rows[3][few], out=None, segments=True)
    assert "too few rows of one class" in section(text, "segments")


def test_bad_groups_are_named(rows, tree):
    with pytest.raises(ValueError, match="Got groups='nope'; expected a group for each row, or"):
        report(tree, *rows[2:], out=None, groups="nope")
    with pytest.raises(ValueError, match="Got groups of shape"):
        report(tree, *rows[2:], out=None, groups=[1, 2])
    with pytest.raises(ValueError, match="expected at most 50"):
        report(tree, *rows[2:], out=None, groups="noise")
    x, y = grades()
    model = TreeRank(max_depth=2).fit(x, y)
    with pytest.raises(ValueError, match="for a model of 3 classes; expected two"):
        report(model, x, y, out=None, segments=True)
