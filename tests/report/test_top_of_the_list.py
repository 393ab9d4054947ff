"""The top of the list in the report: its numbers are those of the metrics on the evaluated rows."""

import re

import numpy as np
import pytest
from report_data import grades
from sklearn.linear_model import LogisticRegression

from treerank import RankingForest, TreeRank, report
from treerank._report._sample import read_sample
from treerank._report._top import top_of_list
from treerank.metrics import local_auc_interval, partial_auc_interval, top_measures


@pytest.fixture(scope="module")
def tree(data):
    return TreeRank(max_depth=5, focus=0.2).fit(data[0], data[1])


def section(text):
    """Words of the section; empty where there is none."""
    if '<section id="top"' not in text:
        return ""
    start = text.index('<section id="top"')
    words = re.sub("<[^>]*>", " ", text[start : text.index("</section>", start)])
    return re.sub(r"\s+", " ", words)


@pytest.mark.parametrize("weighted", [False, True])
def test_measures_are_those_of_the_metrics_on_the_rows_judged(tree, data, weighted):
    _, _, x, y = data
    weight = np.random.default_rng(0).integers(1, 4, len(y)) if weighted else None
    sample = read_sample(tree, x, y, weight)
    found = top_of_list(tree, sample, 0.9)
    s = tree.score_samples(x)
    assert [row["rate"] for row in found["rows"]] == [0.05, 0.1, 0.2]  # 1 % are two rows
    assert [row["is_focus"] for row in found["rows"]] == [False, False, True]
    total = len(y) if weight is None else weight.sum()
    for row in found["rows"]:
        rate = row["rate"]
        given = {"sample_weight": weight, "level": 0.9}
        expected = top_measures(y, s, rate=rate, **given)
        for name in ("precision", "recall", "lift"):
            value = getattr(expected, name)
            assert (row[name].value, row[name].lower) == pytest.approx((value.value, value.lower))
        local = local_auc_interval(y, s, rate=rate, **given)
        assert (row["local_auc"].auc, row["local_auc"].upper) == pytest.approx(
            (local.auc, local.upper)
        )
        partial = partial_auc_interval(y, s, max_fpr=rate, **given)
        assert row["partial_auc"].auc == pytest.approx(partial.auc)
        assert row["rows"] == pytest.approx(rate * total)


def test_the_page_says_them(tree, data):
    _, _, x, y = data
    words = section(report(tree, x, y, out=None))
    found = top_measures(y, tree.score_samples(x), rate=0.1)
    assert f"{100 * found.precision.value:.1f}% {100 * found.precision.lower:.1f}% to" in words
    assert f"{found.lift.value:.2f} {found.lift.lower:.2f} to {found.lift.upper:.2f}" in words
    assert words.count("focus of the model") == 1
    assert "20% focus of the model" in words


def test_without_new_rows_they_come_from_held_out_rows(data):
    x, y = data[:2]
    forest = RankingForest(n_estimators=60, focus=(0.0, 0.3), oob_score=True).fit(x, y)
    words = section(report(forest, train=(x, y), out=None))
    seen = np.isfinite(forest.oob_decision_function_)
    score = forest.oob_decision_function_[seen]
    lift = top_measures(y[seen], score, rate=0.1).lift
    assert f"{lift.value:.2f} {lift.lower:.2f} to {lift.upper:.2f}" in words
    own = top_measures(y, forest.score_samples(x), rate=0.1).lift
    assert f"{own.value:.2f} {own.lower:.2f} to {own.upper:.2f}" not in words
    partial = partial_auc_interval(y[seen], score, max_fpr=0.3)
    assert "false positive rates from 0.0% to 30.0%: its partial AUC over them is " in words
    assert f"{partial.auc:.3f} ({partial.lower:.3f} to {partial.upper:.3f})" in re.sub(
        r" (?=[).])|(?<=\() ", "", words
    )
    assert "held-out rows" in words


def test_few_rows_and_grades_have_no_such_section(tree, data):
    _, _, x, y = data
    few = np.r_[np.flatnonzero(y == y.max())[:8], np.flatnonzero(y == y.min())[:8]]
    plain = TreeRank(max_depth=5).fit(data[0], data[1])
    assert top_of_list(plain, read_sample(plain, x.iloc[few], y.iloc[few], None), 0.95) is None
    text = report(plain, x.iloc[few], y.iloc[few], out=None)
    assert section(text) == ""
    assert 'href="#top"' not in text
    x, y = grades()
    assert section(report(TreeRank(max_depth=3).fit(x, y), x, y, out=None)) == ""


def test_a_focus_of_another_kind_of_model_means_nothing_here(data):
    x, y = (part.select_dtypes("number").fillna(0) if i % 2 == 0 else part
            for i, part in enumerate(data[:2]))  # fmt: skip
    model = LogisticRegression(max_iter=200).fit(x, y)
    model.focus = "sharp"
    found = top_of_list(model, read_sample(model, x, y, None), 0.95)
    assert not any(row["is_focus"] for row in found["rows"])
    assert found["focus"] is None


def test_the_picture_ends_beyond_the_longest_list(tree, data):
    _, _, x, y = data
    found = top_of_list(tree, read_sample(tree, x, y, None), 0.95)
    picture = found["picture"]
    assert picture.x_range == (0.0, 0.25)
    for mark in picture.marks:
        numbers = [float(v) for v in re.findall(r"-?\d+\.?\d*", mark.get("d", ""))]
        if mark["kind"] != "whisker":
            heights = numbers[1::2]
            assert all(picture.top - 0.1 <= v <= picture.height - picture.bottom + 0.1
                       for v in heights)  # fmt: skip
