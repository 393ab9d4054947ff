"""Figures of the report are those of the rows."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from report_page import read
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, roc_auc_score

from treerank import (
    RankingForest,
    TreeRank,
    report,
)
from treerank._report._calibration import calibration
from treerank._report._cells import alternatives, cell_rows, view_cells
from treerank._report._dependence import _sampled_dependence
from treerank._report._pictures import Picture, nice_ticks, path
from treerank._report._reasons import reasons
from treerank._report._render import area, number, percent, weight
from treerank._report._roc import MAX_CUTS, cuts_of_cells, cuts_of_sample
from treerank._report._sample import read_sample
from treerank._report._stability import stability
from treerank._report._strata import tree_data
from treerank._report._table import RowTable, fingerprint
from treerank.metrics import population_stability_index


def test_every_subtree_is_worth_what_its_rows_say(tree, data):
    x, y = data[2:]
    sample = read_sample(tree, x, y, None)
    view = view_cells(tree, sample, 0.95)
    assert len(view.steps) > 3
    grown = tree.unpruned_tree_
    assert view.tree is grown
    kept = view.steps[view.chosen]
    assert kept.judged == pytest.approx(tree.score(x, y))
    assert kept.training == pytest.approx(tree.score(*data[:2]))
    np.testing.assert_allclose(kept.scores, tree.partition_.scores)
    np.testing.assert_array_equal(grown.counts[kept.leaves], tree.partition_.counts)
    numbers = np.flatnonzero(
        np.isin(tree.pruning_path_.n_leaves, [len(step.leaves) for step in view.steps])
    )
    for k, step in zip(numbers, view.steps, strict=True):
        small = grown.subtree(grown.sequence[1] > k)
        score = small.shrunken_shares(tree.pruning_path_.shrinkage[k])[:, 0]
        table = tree._binning.transform(_table(tree, x))
        assert step.judged == pytest.approx(roc_auc_score(y, score[small.apply(table)]))
        assert step.cross_validated == tree.pruning_path_.heldout_auc[k]


def _table(model, x):
    from treerank._input.validation import validate_rows

    return validate_rows(model, x, model._binning.is_categorical)


def test_strata_hold_the_rows_that_the_model_puts_there(tree, data):
    x, y = data[2:]
    sample = read_sample(tree, x, y, None)
    view = view_cells(tree, sample, 0.95)
    rows = {row["cell"]: row for row in cell_rows(view, tree, list(x.columns))}
    stratum = tree.apply(x)
    rules = tree.partition_.rules()
    for i, leaf in enumerate(view.steps[view.chosen].leaves.tolist()):
        inside = y[stratum == i]
        assert rows[leaf]["rows"] == len(inside)
        assert rows[leaf]["counts"] == [(inside == 0).sum(), (inside == 1).sum()]
        assert rows[leaf]["rule"] == rules[i]
        assert " ".join(rows[leaf]["ways"]) == rules[i]


def test_a_split_lies_on_the_curve_of_the_trees_own_order(data):
    model = TreeRank(max_depth=3, pruning=None, shrinkage=None).fit(*data[:2])
    view = view_cells(model, read_sample(model, *data[2:], None), 0.95)
    points = {tuple(p) for p in tree_data(view, model.label_order_)["point"].values()}
    cuts = cuts_of_cells(view.judged[view.steps[0].leaves], view.steps[0].scores)
    curve = np.column_stack([cuts.negative / cuts.negative[-1], cuts.positive / cuts.positive[-1]])
    assert points == {tuple(p) for p in curve[1:-1].round(5).tolist()}


def test_cut_offs_count_as_a_confusion_matrix_does(forest, tree, data):
    x, y = data[2:]
    for model in (forest, tree):
        sample = read_sample(model, x, y, None)
        cuts = cuts_of_sample(sample)
        for i in range(1, len(cuts.score), 7):
            flagged = model.score_samples(x) >= cuts.score[i]
            tn, fp, fn, tp = confusion_matrix(y, flagged).ravel()
            found = cuts.numbers(i)
            assert [found[k] for k in ("tn", "fp", "fn", "tp")] == [tn, fp, fn, tp]
            assert found["approved"] == pytest.approx(1 - flagged.mean())
            assert found["precision"] == pytest.approx(tp / (tp + fp))
    assert cuts_of_sample(sample).numbers(0)["precision"] is None


def test_strata_of_equal_score_are_one_cut_off():
    cuts = cuts_of_cells(np.array([[1.0, 5], [2, 2], [4, 1]]), np.array([0.5, 0.2, 0.2]))
    assert cuts.score == [None, 0.5, 0.2]
    assert cuts.negative.tolist() == [0, 1, 7]


def test_many_scores_are_thinned_but_the_best_cut_off_stays():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5000, 1))
    y = rng.random(5000) < 1 / (1 + np.exp(-x[:, 0]))
    model = LogisticRegression().fit(x, y)
    sample = read_sample(model, x, y, None)
    cuts = cuts_of_sample(sample)
    assert len(cuts.score) <= MAX_CUTS + 1
    fpr, tpr = cuts.negative / cuts.negative[-1], cuts.positive / cuts.positive[-1]
    from treerank.metrics import ks_score

    assert max(tpr - fpr) == pytest.approx(ks_score(y, sample.score))


def test_an_or_within_brackets_does_not_cut_a_rule():
    assert alternatives("a or (b or c) or d") == ["a or", "(b or c) or", "d"]
    assert alternatives("a and (b or c)") == ["a and (b or c)"]


def test_weights_equal_repeated_rows(tree, data):
    x, y = data[2:]
    times = np.arange(len(y)) % 3
    repeated = np.repeat(np.arange(len(y)), times)
    _, one, a = read(tree, x, y, sample_weight=times, rows=0)
    _, two, b = read(tree, x.iloc[repeated], y.iloc[repeated], rows=0)
    assert a["tree"]["judged"] == b["tree"]["judged"]
    assert a["tree"]["steps"] == b["tree"]["steps"]
    assert a["cuts"] == b["cuts"]
    assert one.by_id["auc"] == two.by_id["auc"]


@pytest.mark.parametrize("kind", ["tree", "forest"])
def test_pandas_and_polars_give_the_same_page(kind, data, request):
    model = request.getfixturevalue(kind)
    x, y = data[2:]
    options = {"train": data[:2], "X_new": x}
    of_pandas = report(model, x, y, out=None, **options)
    options = {"train": (pl.from_pandas(data[0]), data[1]), "X_new": pl.from_pandas(x)}
    of_polars = report(model, pl.from_pandas(x), pl.from_pandas(y), out=None, **options)
    made = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")
    assert made.sub("", of_pandas) == made.sub("", of_polars)


def test_fingerprint_is_of_the_content(data):
    x, y = data[2:]
    code = y.to_numpy()
    mark = fingerprint(RowTable(x), code, None)
    assert fingerprint(RowTable(pl.from_pandas(x)), code, None) == mark
    other = x.copy()
    other.iloc[3, 0] = 17.25
    for changed in (
        fingerprint(RowTable(other), code, None),
        fingerprint(RowTable(x.rename(columns={"noise": "Noise"})), code, None),
        fingerprint(RowTable(x), 1 - code, None),
        fingerprint(RowTable(x), code, np.full(len(y), 2.0)),
        fingerprint(RowTable(x.iloc[::-1]), code, None),
    ):
        assert changed != mark
    number = x[["noise"]]
    array = number.rename(columns={"noise": "x0"})
    assert fingerprint(RowTable(array), code, None) == fingerprint(
        RowTable(number.to_numpy()), code, None
    )


def test_sampled_dependence_is_the_mean_over_changed_rows(forest, data):
    x, y = data[2:][0].iloc[:100], data[3].iloc[:100]
    sample = read_sample(forest, x, y, None)
    for j in (1, 2):
        grid, mean = _sampled_dependence(forest, sample, j, True, 0)
        for value, found in zip(grid, mean, strict=True):
            changed = x.copy()
            changed.isetitem(j, [value] * len(x))
            assert found == pytest.approx(forest.predict_proba(changed)[:, 1].mean())


def test_probabilities_of_a_forest_are_its_own(forest, data):
    sample = read_sample(forest, *data[2:], None)
    np.testing.assert_array_equal(sample.probability, forest.predict_proba(data[2]))


def test_calibration_groups_hold_all_rows(tree, forest, data):
    for model in (tree, forest):
        sample = read_sample(model, *data[2:], None)
        found = calibration(sample, 0.95)
        rows = np.array([[r["rows"], r["predicted"], r["observed"]] for r in found["rows"]])
        assert rows[:, 0].sum() == len(data[3])
        assert rows[:, 0] @ rows[:, 1] == pytest.approx(sample.probability[:, 1].sum())
        assert rows[:, 0] @ rows[:, 2] == pytest.approx(data[3].sum())
        assert (np.diff(rows[:, 1]) > 0).all()


def test_stability_says_which_column_has_moved(tree, data):
    x = data[2]
    new = x.assign(noise=x.noise + 1)
    rows = stability(
        list(x.columns), (RowTable(x), x.noise.to_numpy(), None),
        (RowTable(new), new.noise.to_numpy(), None),
    )  # fmt: skip
    index = population_stability_index(x.noise, new.noise)
    assert [(r["name"], r["said"]) for r in rows[:2]] == [("score", "moved"), ("noise", "moved")]
    assert rows[1]["index"] == pytest.approx(index)
    assert {r["said"] for r in rows[2:]} == {"stable"}


def test_stability_does_not_take_noise_for_a_change():
    rng = np.random.default_rng(0)
    names = [f"x{k}" for k in range(8)]
    old, new = (pd.DataFrame(rng.normal(size=(n, 8)), columns=names) for n in (60, 100))
    new["x0"] += 2
    score = np.zeros(60), np.zeros(100)
    rows = stability(names, (RowTable(old), score[0], None), (RowTable(new), score[1], None))
    assert [(r["name"], r["said"]) for r in rows[:2]] == [("score", "stable"), ("x0", "moved")]
    assert max(r["index"] for r in rows[2:]) > 0.25
    assert {r["said"] for r in rows[2:]} <= {"stable", "within noise"}
    doubled = [
        (RowTable(table), s, np.full(len(s), 7.0))
        for table, s in zip((old, new), score, strict=True)
    ]
    assert stability(names, *doubled) == rows


def test_reasons_are_given_for_the_rows_asked_for(tree, data):
    _, page, _ = read(tree, *data[2:], rows=[7, 20])
    words = "".join(page.words)
    assert re.findall(r"Row (\d+): stratum", words) in (["7", "20"], ["20", "7"])
    assert "Because " in words
    assert "<summary>Row" not in report(tree, *data[2:], out=None, rows=0)


def test_forests_say_what_moved_a_row(forest, data):
    _, page, found = read(forest, *data[2:], rows=[3])
    words = "".join(page.words)
    assert "Row 3: score" in words
    [row] = reasons(forest, read_sample(forest, *data[2:], None), np.array([3]))
    assert row["moved_up"] or row["moved_down"]
    for said in row["moved_up"] + row["moved_down"]:
        assert said in words
        assert "the population" in said
    assert found["tree"] is None


def test_models_that_are_no_sum_of_trees_say_why_they_have_no_reasons(data):
    model = RankingForest(n_estimators=3, aggregation="median_rank").fit(*data[:2])
    _, page, _ = read(model, *data[2:])
    assert "no tests to give as reasons" in "".join(page.words)


def test_paths_leave_out_what_nobody_can_see():
    x = np.linspace(0, 300, 100_000)
    assert path(x, x).count("L") < 1600
    assert path(x, x).endswith("L300 300")


def test_halves_are_rounded_up_as_the_script_does():
    assert [percent(v / 16) for v in (1, 3, -1)] == ["6.3%", "18.8%", "-6.3%"]
    assert [weight(v) for v in (0.25, 1234567, 1e7 / 3)] == ["0.3", "1,234,567", "3,333,333.3"]
    assert (percent(None), area(0.5), number(None)) == ("–", "0.5000", "–")


def test_ticks_are_round_and_inside():
    assert [text for _, text in nice_ticks(0, 1)] == ["0", "0.2", "0.4", "0.6", "0.8", "1"]
    assert all(-3.1 <= value <= 17 for value, _ in nice_ticks(-3.1, 17))
    assert Picture("t", "x", "y", x_range=(2.0, 2.0)).x_range == (1.8, 2.2)
