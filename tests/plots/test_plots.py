"""Displays: the arrays they hold, and what is drawn of them."""

import subprocess
import sys
from itertools import combinations
from types import SimpleNamespace

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from treerank import LeafRank, OrderedPartition, TreeRank
from treerank._reading.rules import side_rule
from treerank.plots import LevelSetDisplay, RocDisplay, TreeDisplay
from treerank.plots._tree_text import format_rate, format_strata, format_weight, rule_lines, wrap


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def cancer_tree(cancer):
    return TreeRank().fit(*cancer)


@pytest.fixture(scope="module")
def customers():
    """Numbers and categories, long names, `$` and `_`."""
    rng = np.random.default_rng(0)
    n = 2000
    X, y = make_classification(n, 8, n_informative=6, class_sep=0.6, flip_y=0.1, random_state=1)
    names = [f"a_rather_long_feature_name_{j}" if j % 2 else f"income $ {j}" for j in range(8)]
    X = pd.DataFrame(X, columns=names)
    X["region"] = rng.choice(["north", "south", "east", "west"], n)
    X["job"] = pd.Categorical(rng.choice([f"job{i}" for i in range(30)], n))
    return X, np.where((X["region"] == "south") & (rng.random(n) < 0.3), 1, y)


@pytest.fixture(scope="module")
def customer_tree(customers):
    """About twenty strata."""
    return TreeRank(min_samples_leaf=40, pruning=None).fit(*customers)


@pytest.fixture(scope="module")
def plane():
    """Two features alone."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 2))
    y = (X[:, 0] ** 2 + X[:, 1] + rng.normal(size=400) > 1).astype(int)
    return X, y


@pytest.fixture(scope="module")
def plane_tree(plane):
    return TreeRank(min_samples_leaf=15, pruning=None).fit(*plane)


def words(display):
    return [text.get_text() for text in display.texts_]


def squeezed(texts):
    return ["".join(text.split()) for text in texts]


# ROC curves


@pytest.mark.parametrize("weighted", [False, True])
def test_area_under_the_drawn_curve_is_the_auc_with_ties(weighted):
    rng = np.random.default_rng(0)
    y, score = rng.integers(0, 2, 300), rng.integers(0, 6, 300)
    weight = rng.integers(0, 4, 300) if weighted else None
    display = RocDisplay.from_predictions(y, score, sample_weight=weight)
    x, up = display.line_.get_data()
    expected = roc_auc_score(y, score, sample_weight=weight)
    assert np.sum(np.diff(x) * (up[1:] + up[:-1]) / 2) == pytest.approx(expected, abs=1e-12)
    assert display.auc == pytest.approx(expected, abs=1e-12)
    assert len(x) == 6 + 1


def test_curve_on_the_training_rows_is_that_of_the_partition(cancer, cancer_tree):
    display = RocDisplay.from_estimator(cancer_tree, *cancer, training=True)
    knots = cancer_tree.partition_.roc()
    np.testing.assert_allclose(display.line_.get_data(), knots, atol=1e-12)
    np.testing.assert_allclose(display.training, knots)
    assert display.line_.get_marker() == "o"
    drawn = RocDisplay.from_partition(cancer_tree.partition_)
    np.testing.assert_array_equal(drawn.line_.get_data(), knots)
    assert drawn.auc == pytest.approx(cancer_tree.partition_.auc())


def test_several_models_share_axes_and_legend(cancer, cancer_tree):
    X, y = cancer
    first = RocDisplay.from_estimator(cancer_tree, X, y)
    forest = RandomForestClassifier(5, max_depth=2, random_state=0).fit(X, y)
    second = RocDisplay.from_estimator(forest, X, y, ax=first.ax_, name="_forest $1_2$")
    cart = DecisionTreeClassifier(max_depth=3).fit(X, y)
    third = RocDisplay.from_estimator(cart, X, y, ax=first.ax_, optimal=([0, 0, 1], [0, 1, 1]))
    assert first.figure_ is second.figure_ is third.figure_
    assert third.auc == pytest.approx(roc_auc_score(y, cart.predict_proba(X)[:, 1]))
    labels = [text.get_text() for text in first.ax_.get_legend().get_texts()]
    starts = [
        "TreeRank: AUC",
        "_forest $1_2$: AUC",
        "DecisionTreeClassifier: AUC",
        "optimal: AUC 1.000",
    ]
    assert all(label.startswith(start) for label, start in zip(labels, starts, strict=True))
    assert not any(text.get_parse_math() for text in first.ax_.get_legend().get_texts())
    diagonals = [line for line in first.ax_.get_lines() if list(line.get_xdata()) == [0, 1]]
    assert len(diagonals) == 1
    assert len({line.get_color() for line in (first.line_, second.line_, third.line_)}) == 3


def test_legend_has_the_interval_where_it_can_be_computed(monkeypatch):
    y, score = [0, 0, 1, 1], [1, 3, 2, 4]

    def auc_interval(y, s, *, sample_weight=None, level=0.95):
        assert level == 0.9
        return SimpleNamespace(auc=0.75, lower=0.25, upper=0.875)

    monkeypatch.setitem(sys.modules, "treerank.metrics", SimpleNamespace(auc_interval=auc_interval))
    display = RocDisplay.from_predictions(y, score, level=0.9)
    assert display.interval == (0.25, 0.875)
    assert "AUC 0.750, 90 % interval 0.250 to 0.875" in display.line_.get_label()
    monkeypatch.setitem(sys.modules, "treerank.metrics", None)
    assert RocDisplay.from_predictions(y, score).line_.get_label() == "AUC 0.750"


def test_positive_class_is_the_larger_label_or_the_one_named():
    y, score = np.array(["no", "yes", "yes", "no", "yes"]), [1, 2, 3, 2.5, 4]
    up = RocDisplay.from_predictions(y, score)
    down = RocDisplay.from_predictions(y, score, pos_label="no")
    assert up.auc == pytest.approx(roc_auc_score(y == "yes", score))
    assert down.auc == pytest.approx(1 - up.auc)


def test_scores_may_come_from_a_decision_function(plane):
    model = LogisticRegression().fit(*plane)
    display = RocDisplay.from_estimator(model, *plane)
    assert display.auc == pytest.approx(roc_auc_score(plane[1], model.decision_function(plane[0])))
    assert display.line_.get_marker() == "None"


def test_rows_of_weight_zero_do_not_count():
    y, score = np.array([0, 1, 0, 1, 1]), np.array([1.0, 2.0, 3.0, 4.0, 0.0])
    weight = np.array([1, 2, 1, 1, 0])
    kept = weight > 0
    a = RocDisplay.from_predictions(y, score, sample_weight=weight)
    b = RocDisplay.from_predictions(y[kept], score[kept], sample_weight=weight[kept])
    np.testing.assert_array_equal(a.fpr, b.fpr)
    np.testing.assert_array_equal(a.tpr, b.tpr)


@pytest.mark.parametrize(
    ("y", "score", "options", "match"),
    [
        ([1, 1, 1], [1, 2, 3], {}, "expected labels of two classes"),
        ([0, 1, 2], [1, 2, 3], {}, "expected labels of two classes"),
        ([0, 1], [1, np.nan], {}, "NaN or infinite"),
        ([0, 1], [[1], [2]], {}, "one score per row"),
        ([0, 1], [1, 2, 3], {}, "inconsistent"),
        ([0, 1], [1, 2], {"sample_weight": [1, -1]}, "negative"),
        ([0, 1], [1, 2], {"sample_weight": [1, 0]}, "one class only"),
        ([0, 1], [1, 2], {"pos_label": 7}, "Got pos_label=7"),
        ([0, 1], [1, 2], {"optimal": ([0, 1], [0, 0.5])}, "no ROC curve"),
        ([0, 1], [1, 2], {"optimal": ([0, 0.6, 0.5, 1], [0, 0.5, 0.6, 1])}, "no ROC curve"),
        ([0, 1], [1, 2], {"optimal": 3}, "no ROC curve"),
    ],
)
def test_roc_refuses_bad_input_before_it_opens_a_figure(y, score, options, match):
    with pytest.raises(ValueError, match=match):
        RocDisplay.from_predictions(y, score, **options)
    assert plt.get_fignums() == []


def test_roc_refuses_models_that_do_not_fit(cancer, cancer_tree):
    X, y = cancer
    with pytest.raises(NotFittedError):
        RocDisplay.from_estimator(TreeRank(), X, y)
    with pytest.raises(ValueError, match="unknown to the model"):
        RocDisplay.from_estimator(cancer_tree, X, y + 1)
    cart = DecisionTreeClassifier(max_depth=2)
    with pytest.raises(ValueError, match="keeps no curve of its training rows"):
        RocDisplay.from_estimator(clone(cart).fit(X, y), X, y, training=True)
    with pytest.raises(ValueError, match="3 classes"):
        RocDisplay.from_estimator(cart.fit(X, np.arange(len(y)) % 3), X, y)
    with pytest.raises(ValueError, match="expected an OrderedPartition"):
        RocDisplay.from_partition(cancer_tree)
    with pytest.raises(ValueError, match="needs two"):
        RocDisplay.from_partition(OrderedPartition([[1, 2, 3], [3, 2, 1]]))


# Trees


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
    assert [format_rate(r) for r in (0, 0.004, 0.5, 1)] == ["0.0 %", "0.40 %", "50.0 %", "100.0 %"]
    assert [format_strata(s) for s in ([4], [3, 2, 4], [1, 5, 6], [1, 3, 5])] == [
        "4", "2–4", "1, 5–6", "3 strata",
    ]  # fmt: skip


# Level sets


def test_scores_of_the_map_are_those_of_the_model_everywhere(plane, plane_tree):
    X, y = plane
    display = LevelSetDisplay.from_estimator(plane_tree, X, y=y, grid_resolution=20)
    rng = np.random.default_rng(0)
    low = [display.x.edges[0], display.y.edges[0]]
    high = [display.x.edges[-1], display.y.edges[-1]]
    points = rng.uniform(low, high, size=(5000, 2))
    # The thresholds are edges of the grid, so that the boundaries are exact.
    column = np.searchsorted(display.x.edges, points[:, 0]) - 1
    row = np.searchsorted(display.y.edges, points[:, 1]) - 1
    np.testing.assert_array_equal(display.score[row, column], plane_tree.score_samples(points))
    np.testing.assert_array_equal(display.mesh_.get_array(), display.score)
    assert len(np.unique(display.score)) > 5


def test_outlines_lie_where_the_score_changes(plane, plane_tree):
    def segments(display):
        return sum(len(c.get_segments()) for c in display.ax_.collections
                   if hasattr(c, "get_segments"))  # fmt: skip

    shown = LevelSetDisplay.from_estimator(plane_tree, plane[0])
    changes = sum(np.count_nonzero(np.diff(shown.score, axis=axis)) for axis in (0, 1))
    assert segments(shown) == changes > 0
    assert segments(shown.plot(outlines=False)) == 0


def test_other_features_are_held_at_median_and_most_frequent_level(customers, customer_tree):
    X, _ = customers
    features = ("a_rather_long_feature_name_1", "income $ 0")
    display = LevelSetDisplay.from_estimator(customer_tree, X, features, grid_resolution=7)
    x, up = np.meshgrid(display.x.centres, display.y.centres)
    grid = pd.DataFrame(index=range(x.size))
    for name in X.columns:
        if name in features:
            grid[name] = (x if name == features[0] else up).ravel()
        elif name in ("region", "job"):
            grid[name] = X[name].mode()[0]
        else:
            grid[name] = X[name].quantile(0.5, interpolation="lower")
    expected = customer_tree.score_samples(grid).reshape(x.shape)
    np.testing.assert_array_equal(display.score, expected)
    assert display.ax_.get_title(loc="left").startswith("8 other features")


def test_frames_of_all_kinds_give_the_same_map(customers, customer_tree):
    X, _ = customers
    shuffled = X.sample(frac=1, random_state=0)  # an index out of order
    a = LevelSetDisplay.from_estimator(customer_tree, X, ("region", 0), grid_resolution=9)
    b = LevelSetDisplay.from_estimator(customer_tree, shuffled, ("region", 0), grid_resolution=9)
    as_polars = pl.DataFrame({name: X[name].tolist() for name in X.columns})
    c = LevelSetDisplay.from_estimator(customer_tree, as_polars, ("region", 0), grid_resolution=9)
    np.testing.assert_array_equal(a.score, b.score)
    np.testing.assert_array_equal(a.score, c.score)
    assert a.x.levels == ["east", "north", "south", "west"]
    assert [label.get_text() for label in a.ax_.get_xticklabels()] == a.x.levels


def test_categories_of_an_array_are_levels(plane):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 4, 300), rng.normal(size=300)])
    y = ((X[:, 0] % 2) + X[:, 1] + rng.normal(size=300) > 0.5).astype(int)
    model = TreeRank(categorical_features=[0]).fit(X, y)
    display = LevelSetDisplay.from_estimator(model, X, y=y)
    assert display.x.levels == ["0.0", "1.0", "2.0", "3.0"]
    assert display.x.name == "x0"


def test_rows_are_marked_by_class_and_missing_values_left_out(plane, plane_tree):
    X, y = plane[0].copy(), np.where(plane[1] == 1, "good", "bad")
    X[:50, 0] = np.nan
    display = LevelSetDisplay.from_estimator(plane_tree, X, y=y)
    legend = display.ax_.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["bad", "good"]
    drawn = [c for c in display.ax_.collections if isinstance(c, mpl.collections.PathCollection)]
    shown = sum(int((~np.ma.getmaskarray(c.get_offsets()).any(axis=1)).sum()) for c in drawn)
    assert shown == 350
    assert LevelSetDisplay.from_estimator(plane_tree, X).ax_.get_legend() is None


def test_level_sets_of_other_models(plane):
    X, y = plane
    model = RandomForestClassifier(10, random_state=0).fit(X, y)
    display = LevelSetDisplay.from_estimator(model, X, grid_resolution=10)
    x, up = np.meshgrid(display.x.centres, display.y.centres)
    expected = model.predict_proba(np.column_stack([x.ravel(), up.ravel()]))[:, 1]
    np.testing.assert_allclose(display.score, expected.reshape(10, 10))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"features": (0,)}, "expected two columns, by name or position"),
        ({"features": 3}, "expected two columns, by name or position"),
        ({"features": (1, 1)}, "two different columns"),
        ({"features": (0, 2)}, "Got feature 2; expected a column name, or a position from 0 to 1"),
        ({"features": (0, "nothing")}, "Got feature 'nothing'"),
        ({"grid_resolution": 1}, "Got grid_resolution=1; expected an integer >= 2."),
        ({"X": np.zeros((0, 2))}, "expected some rows"),
        ({"X": [1, 2]}, "no table"),
        ({"X": np.full((3, 2), np.nan)}, "without a known value"),
        ({"y": [0, 1]}, "inconsistent"),
        ({"cmap": "no such map"}, "no such map"),
    ],
)
def test_level_sets_refuse_bad_input_before_they_open_a_figure(plane, plane_tree, options, match):
    with pytest.raises(ValueError, match=match):
        LevelSetDisplay.from_estimator(plane_tree, **{"X": plane[0], **options})
    assert plt.get_fignums() == []


# All displays


@pytest.mark.parametrize("kind", ["roc", "tree", "level sets"])
def test_given_axes_are_used_and_figures_left_open(kind, plane, plane_tree):
    _, ax = plt.subplots()
    before = plt.get_fignums()
    display = {
        "roc": lambda: RocDisplay.from_estimator(plane_tree, *plane, ax=ax),
        "tree": lambda: TreeDisplay.from_estimator(plane_tree, ax=ax),
        "level sets": lambda: LevelSetDisplay.from_estimator(plane_tree, plane[0], ax=ax),
    }[kind]()
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert plt.get_fignums() == before
    again = display.plot()
    assert again is display
    assert display.ax_ is not ax
    assert len(plt.get_fignums()) == len(before) + 1
    display.figure_.canvas.draw()


def test_matplotlib_is_imported_only_to_draw(monkeypatch, cancer_tree):
    code = "import sys, treerank.plots; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for draw in (
        lambda: RocDisplay.from_partition(cancer_tree.partition_),
        lambda: TreeDisplay.from_estimator(cancer_tree),
    ):
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'treerank-ml\[plot\]'"):
            draw()
