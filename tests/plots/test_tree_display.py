"""Trees are drawn in full, without two texts in one place."""

from itertools import combinations

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError

from treerank import LeafRank, TreeRank
from treerank._reading.rules import side_rule
from treerank.plots import LevelSetDisplay, TreeDisplay
from treerank.plots._tree_text import format_rate, format_strata, format_weight, rule_lines, wrap


def words(display):
    return [text.get_text() for text in display.texts_]


def squeezed(texts):
    return ["".join(text.split()) for text in texts]


def test_every_cell_is_a_circle_coloured_by_share_and_sized_by_weight(customer_tree):
    display = TreeDisplay.from_estimator(customer_tree)
    tree = customer_tree.tree_
    assert len(display.nodes_.get_offsets()) == tree.n_cells > 30
    weight = tree.counts.sum(axis=1)
    np.testing.assert_allclose(display.nodes_.get_array(), tree.counts[:, 1] / weight)
    area = np.asarray(display.nodes_.get_widths()) ** 2
    large = weight > 0.1 * weight[0]
    np.testing.assert_allclose(area[large] / area[0], weight[large] / weight[0])
    # The share of all rows is the middle colour.
    np.testing.assert_allclose(display.nodes_.norm(display.nodes_.get_array()[0]), 0.5)


@pytest.mark.parametrize("orientation", ["down", "right"])
def test_leaves_are_listed_as_in_the_strata_table(customer_tree, orientation):
    said = words(TreeDisplay.from_estimator(customer_tree, orientation=orientation))
    tree, table = customer_tree.tree_, customer_tree.partition_.columns()
    order = customer_tree._stratum[tree.leaves]
    n = len(order)
    start = said.index("stratum") + 1
    assert said[start : start + n] == [str(stratum) for stratum in order]
    start = said.index("rows") + 1
    assert said[start : start + n] == [format_weight(table["rows"][i]) for i in order]
    start = said.index("event rate") + 1
    assert said[start : start + n] == [format_rate(table["event_rate"][i]) for i in order]


@pytest.mark.parametrize("orientation", ["down", "right"])
def test_leaves_run_from_best_to_worst_and_children_away_from_the_root(customer_tree, orientation):
    display = TreeDisplay.from_estimator(customer_tree, orientation=orientation)
    tree, place = customer_tree.tree_, np.asarray(display.nodes_.get_offsets())
    across, along = (0, 1) if orientation == "down" else (1, 0)
    sign = np.array([1, -1])
    assert (np.diff(sign[across] * place[tree.leaves, across]) > 0.1).all()
    parent = tree.cells["parent"][1:]
    assert (sign[along] * (place[1:, along] - place[parent, along]) > 0.1).all()


def assert_no_overlap(display):
    figure = display.figure_
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    texts = [(text.get_text(), text.get_window_extent(renderer)) for text in display.texts_]
    for (one, a), (other, b) in combinations(texts, 2):
        assert not a.overlaps(b), (one, other)
    width, height = figure.get_size_inches() * figure.dpi
    for text, box in texts:
        assert box.x0 >= 0 <= box.y0, text
        assert box.x1 <= width, text
        assert box.y1 <= height, text
    return texts


@pytest.mark.parametrize("orientation", ["down", "right"])
@pytest.mark.parametrize("model", ["cancer_tree", "customer_tree", "plane_tree"])
def test_no_two_texts_overlap(request, model, orientation):
    model = request.getfixturevalue(model)
    display = TreeDisplay.from_estimator(model, orientation=orientation)
    texts = assert_no_overlap(display)
    assert len(texts) > 3 * len(model.partition_)


@pytest.mark.parametrize("orientation", ["down", "right"])
def test_no_text_covers_a_circle(customer_tree, orientation):
    display = TreeDisplay.from_estimator(customer_tree, orientation=orientation)
    display.figure_.canvas.draw()
    renderer = display.figure_.canvas.get_renderer()
    place = display.ax_.transData.transform(np.asarray(display.nodes_.get_offsets()))
    for text in display.texts_:
        box = text.get_window_extent(renderer)
        assert not any(box.contains(*xy) for xy in place), text.get_text()


def test_tree_is_scaled_to_given_axes(cancer_tree):
    figure, axes = plt.subplots(1, 2, figsize=(12, 5), dpi=200)
    display = TreeDisplay.from_estimator(cancer_tree, ax=axes[1])
    assert display.ax_ is axes[1]
    assert display.figure_ is figure
    assert_no_overlap(display)
    window = axes[1].get_window_extent()
    for text in display.texts_:
        box = text.get_window_extent()
        assert window.x0 <= box.x0 <= box.x1 <= window.x1
        assert window.y0 <= box.y0 <= box.y1 <= window.y1
    assert 3 < display.texts_[0].get_fontsize() < 8


def test_rules_are_those_of_the_model_in_full(cancer_tree):
    display = TreeDisplay.from_estimator(cancer_tree)
    tree, names = cancer_tree.tree_, list(cancer_tree.feature_names_in_)
    shown = squeezed(words(display))
    for cell in np.flatnonzero(tree.is_split):
        rule = side_rule(tree, cancer_tree._binning, names, int(cell), 0)
        alternatives = [" and ".join(conditions) for conditions in display.rules[cell]]
        assert sorted(rule) == sorted(
            " or ".join(f"({a})" if len(alternatives) > 1 and " and " in a else a
                        for a in alternatives)
        )  # fmt: skip
        assert "".join(" or ".join(alternatives).split()) in shown


def test_names_are_shown_literally():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 2)), columns=["$x_1$ in $", "_under_score_"])
    y = (X.iloc[:, 0] + X.iloc[:, 1] > 0).astype(int)
    model = TreeRank(pruning=None).fit(X, y)
    display = TreeDisplay.from_estimator(model)
    shown = " ".join(squeezed(words(display)))
    assert "$x_1$in$" in shown
    assert "_under_score_" in shown
    assert not any(text.get_parse_math() or text.get_usetex() for text in display.texts_)
    level_sets = LevelSetDisplay.from_estimator(model, X, y=y)
    assert level_sets.ax_.get_xlabel() == "$x_1$ in $"
    assert level_sets.ax_.get_ylabel() == "_under_score_"
    assert not level_sets.ax_.xaxis.label.get_parse_math()
    for drawn in (display, level_sets):
        drawn.figure_.canvas.draw()


def test_max_depth_folds_the_rest_into_their_cell(customer_tree):
    display = TreeDisplay.from_estimator(customer_tree, max_depth=2)
    tree = customer_tree.tree_
    shown = np.flatnonzero(tree.cells["depth"] <= 2)
    assert len(display.nodes_.get_offsets()) == len(shown)
    said = words(display)
    start, ends = said.index("rows") + 1, np.flatnonzero(tree.cells["depth"] == 2)
    assert said[start : start + len(ends)] == [format_weight(tree.counts[c].sum()) for c in ends]
    assert_no_overlap(display)
    alone = TreeDisplay.from_estimator(customer_tree, max_depth=0)
    assert f"0–{len(customer_tree.partition_) - 1}" in words(alone)


def test_long_rules_lose_their_last_alternatives(cancer):
    model = TreeRank(LeafRank(max_depth=6), max_depth=3, pruning=None, min_samples_leaf=2)
    model.fit(*cancer)
    display = TreeDisplay.from_estimator(model, max_text=150)
    [rule] = [text for text in words(display) if "more" in text]
    n_shown = rule.count("\nor ")  # the last one is "or N more"
    assert rule.endswith(f"or {len(display.rules[0]) - n_shown} more")
    assert sum(len(" and ".join(c)) for c in display.rules[0][:n_shown]) <= 150
    short = TreeDisplay.from_estimator(model, max_text=10)
    assert any("…" in text for text in words(short))
    none = words(TreeDisplay.from_estimator(model, max_text=0))
    assert not any("<=" in text for text in none)


def test_long_lists_of_levels_are_counted(customers):
    X, _ = customers
    good = X["job"].isin([f"job{i}" for i in range(12)])
    model = LeafRank(max_depth=1).fit(X[["job", "region"]], good.astype(int))
    display = TreeDisplay.from_estimator(model)
    [[[condition]]] = [rule for rule in display.rules if rule]
    assert condition.startswith("job is any of job0, job1, job10, ")
    assert condition.endswith("… (12\N{NO-BREAK SPACE}levels)")
    assert any("(12 levels)" in text for text in words(display))


def test_one_level_of_a_long_name_is_said_as_it_is():
    name = "a level with a name of more than forty-eight characters"
    x = pd.DataFrame({"job": [name, "other"] * 50})
    model = LeafRank().fit(x, [1, 0] * 50)
    [[[condition]]] = [rule for rule in TreeDisplay.from_estimator(model).rules if rule]
    assert condition == f"job is {name}"


def test_missing_is_said_after_a_shortened_list(customers):
    X = customers[0][["job"]].copy()
    X.loc[::5, "job"] = None
    good = X["job"].isna() | X["job"].isin([f"job{i}" for i in range(12)])
    model = LeafRank(max_depth=1).fit(X, good.astype(int))
    [[[condition]]] = [rule for rule in TreeDisplay.from_estimator(model).rules if rule]
    assert condition.startswith("job is any of job0, ")
    assert condition.endswith("… (12\N{NO-BREAK SPACE}levels) or job is missing")


def test_a_tree_that_is_its_root_is_drawn(cancer):
    X, y = cancer
    y = np.random.default_rng(3).permutation(y)
    model = TreeRank(min_auc_gain=0.49, pruning=None, shrinkage=None).fit(X, y)
    display = TreeDisplay.from_estimator(model)
    assert len(display.nodes_.get_offsets()) == 1
    assert {"0", "569"} <= set(words(display))
    assert_no_overlap(display)


def test_leafrank_is_a_tree_of_two_leaves(cancer):
    display = TreeDisplay.from_estimator(LeafRank().fit(*cancer))
    assert len(display.nodes_.get_offsets()) == 3


def test_figure_grows_with_the_tree(cancer_tree, customer_tree):
    small = TreeDisplay.from_estimator(cancer_tree).figure_.get_size_inches()
    large = TreeDisplay.from_estimator(customer_tree).figure_.get_size_inches()
    assert (large > small).all()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"max_depth": -1}, "Got max_depth=-1; expected an integer >= 0 or None."),
        ({"max_text": "all"}, "Got max_text='all'"),
        ({"orientation": "up"}, "Got orientation='up'; expected one of 'auto', 'down', 'right'."),
        ({"fontsize": 0}, "Got fontsize=0"),
        ({"cmap": "no such map"}, "no such map"),
    ],
)
def test_tree_refuses_bad_options_before_it_opens_a_figure(cancer_tree, options, match):
    with pytest.raises(ValueError, match=match):
        TreeDisplay.from_estimator(cancer_tree, **options)
    assert plt.get_fignums() == []


def test_tree_refuses_other_models(cancer):
    with pytest.raises(ValueError, match="expected a fitted TreeRank or LeafRank"):
        TreeDisplay.from_estimator(RandomForestClassifier())
    with pytest.raises(NotFittedError):
        TreeDisplay.from_estimator(TreeRank())
    with pytest.raises(ValueError, match="one entry a cell"):
        TreeDisplay([-1], [[1, 1], [1, 1]], [[]], [0])


@given(st.lists(st.text("ab_ ", min_size=1), min_size=1), st.integers(1, 12))
def test_wrapped_lines_keep_the_text_and_the_width(texts, width):
    text = " ".join(texts)
    lines = wrap(text.strip(), len, width)
    assert squeezed(["".join(lines)]) == squeezed([text])
    assert max(map(len, lines)) <= max(width, 1)


condition = st.sampled_from(["a <= 1", "b_c > 2", "long name < 3"])


alternative = st.lists(condition, min_size=1, max_size=3).map(tuple)


@given(
    st.lists(alternative, min_size=1, max_size=4),
    st.integers(6, 30),
    st.integers(1, 60),
    st.integers(1, 6),
)
def test_rules_fit_into_their_lines_and_say_what_is_left_out(rule, width, max_text, max_lines):
    lines = rule_lines(rule, len, width, max_text, max_lines)
    assert 1 <= len(lines) <= max_lines
    shown = "".join("".join(lines).split())
    everything = "or".join("and".join("".join(c.split()) for c in a) for a in rule)
    assert shown == everything or "more" in shown or "…" in shown


def test_numbers_are_said_briefly():
    assert [format_weight(m) for m in (3.0, 2.25, 12345.6)] == ["3", "2.2", "12,346"]
    assert [format_rate(r) for r in (0, 0.004, 0.5, 1)] == ["0.0%", "0.40%", "50.0%", "100.0%"]
    assert [format_strata(s) for s in ([4], [3, 2, 4], [1, 5, 6], [1, 3, 5])] == [
        "4", "2–4", "1, 5–6", "3 strata",
    ]  # fmt: skip
