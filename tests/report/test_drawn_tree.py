"""The tree as a picture: the model's cells, down to the level that can be read."""

import numpy as np
import pytest
from report_data import grades, loans
from sklearn.linear_model import LogisticRegression

from treerank import LeafRank, TreeRank, report
from treerank._report._cells import view_cells
from treerank._report._drawn_tree import MAX_LEAVES, MAX_WIDTH, draw_tree
from treerank._report._render import percent
from treerank._report._sample import read_sample


def drawn(model, x, y):
    return draw_tree(view_cells(model, read_sample(model, x, y, None), 0.95), model)


def columns(tree):
    return [[text for _, text in row["cells"]] for row in tree.table]


def test_a_small_tree_is_drawn_whole_with_the_rows_judged():
    x, y = loans(1200)
    model = TreeRank(LeafRank(max_depth=1), max_depth=2).fit(x[:600], y[:600])
    tree = drawn(model, x[600:], y[600:])
    assert tree.is_whole
    stratum, n = model.apply(x[600:]), len(model.partition_)
    assert len(tree.nodes) == 2 * n - 1
    assert len(tree.labels) == n - 1
    shown = {int(name): (rows, rate) for name, rows, rate in columns(tree)}
    for k in range(n):
        inside = y[600:][stratum == k]
        assert shown[k] == (f"{len(inside)}", percent(inside.mean()))
    assert tree.labels[0]["lines"][0][1] == f"600 rows, {percent(y[600:].mean())}"
    text = report(model, x[600:], y[600:], out=None)
    assert "The whole tree. Rows that meet the rule" in text
    assert text.count('class="tree-node') == 2 * n - 1


def test_a_large_tree_is_cut_to_levels_that_fit():
    x, y = loans(3000)
    model = TreeRank(pruning=None, max_depth=8).fit(x[:2000], y[:2000])
    assert len(model.partition_) > 40
    tree = drawn(model, x[2000:], y[2000:])
    assert not tree.is_whole
    assert len(tree.table) <= MAX_LEAVES
    assert tree.width <= MAX_WIDTH
    assert sum(int(rows.replace(",", "")) for _, rows, _ in columns(tree)) == 1000
    assert any(node["is_cut"] for node in tree.nodes)
    text = report(model, x[2000:], y[2000:], out=None)
    assert f"The top {tree.n_levels} levels of the tree; cells that are split further" in text


def test_texts_keep_clear_of_each_other_and_of_the_edges():
    x, y = loans(3000)
    for depth in (2, 3, 8):
        tree = drawn(TreeRank(pruning=None, max_depth=depth).fit(x, y), x, y)
        boxes = np.array(
            [[float(b[k]) for k in ("x", "top", "width", "height")] for b in tree.labels]
        )
        left, top, right, bottom = (
            boxes[:, 0], boxes[:, 1], boxes[:, 0] + boxes[:, 2], boxes[:, 1] + boxes[:, 3]
        )  # fmt: skip
        assert left.min() >= 0
        assert top.min() >= 0
        assert right.max() <= tree.width
        assert bottom.max() <= tree.height
        for i in range(len(boxes)):
            for j in range(i):
                apart = left[i] >= right[j] or left[j] >= right[i]
                assert apart or top[i] >= bottom[j] or top[j] >= bottom[i]


def test_grades_are_drawn_by_their_mean():
    x, y = grades(900, n_classes=4)
    model = TreeRank(max_depth=2).fit(x[:450], y[:450])
    tree = drawn(model, x[450:], y[450:])
    assert tree.headings[-1]["text"] == "mean grade"
    stratum = model.apply(x[450:])
    for name, _, mean in columns(tree):
        assert mean == f"{y[450:][stratum == int(name)].mean():.2f}"


@pytest.mark.parametrize("splitter", [None, LogisticRegression()])
def test_a_tree_without_splits_or_with_other_splitters_is_drawn(splitter):
    x, y = loans()
    x = x[["noise"]]
    single = TreeRank(splitter, min_samples_leaf=0.9).fit(x, y)
    assert len(drawn(single, x, y).nodes) == 1
    assert '<svg class="drawn-tree"' not in report(single, x, y, out=None)
    model = TreeRank(splitter, max_depth=2, pruning=None).fit(x, y)
    assert len(drawn(model, x, y).nodes) > 1


def test_a_rule_does_not_ask_for_all_rows():
    x, y = grades(600, n_classes=3)
    x = np.clip(np.rint(x), -1, 3)
    model = TreeRank(max_depth=4, pruning=None).fit(x, y)
    tree = drawn(model, x, y)
    words = [line for label in tree.labels for _, line in label["lines"]]
    assert not any("all rows" in line for line in words)
