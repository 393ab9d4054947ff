"""Explanations: the tests a row has passed, and the smallest changes that move it."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples
from samples import frame

from treerank import LeafRank, TreeRank
from treerank.inspection import explain


def fitted(seed, depth=2, **parameters):
    x, y = frame(250, seed)
    model = TreeRank(LeafRank(max_depth=depth), max_depth=4, pruning=None, **parameters).fit(x, y)
    return x, model


def with_value(row, feature, value):
    changed = row.copy()
    changed[feature] = changed[feature].astype(object) if isinstance(value, str) else float("nan")
    changed[feature] = value
    return changed


def strata_by_value(model, row, feature):
    """Every value that matters, with the stratum it leads to: the slow twin."""
    j = list(row.columns).index(feature)
    levels = model._binning.levels[j]
    if levels is not None:
        values = list(levels)
    else:
        cuts = model._binning.thresholds[j]
        values = np.concatenate([cuts, np.nextafter(cuts, np.inf)]).tolist() or [0.0]
    rows = pd.concat([row] * len(values), ignore_index=True)
    rows[feature] = values
    return values, model.apply(rows)


@examples(15)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 3]), st.sampled_from([None, 3.0]))
def test_moves_are_the_smallest_that_do_it(seed, depth, shrinkage):
    x, model = fitted(seed, depth, shrinkage=shrinkage)
    rows = x.iloc[:4]
    for number, explanation in enumerate(explain(model, rows)):
        row = rows.iloc[[number]]
        assert explanation.stratum == model.apply(row)[0]
        assert explanation.score == model.score_samples(row)[0]
        for feature in x.columns:
            values, strata = strata_by_value(model, row, feature)
            for moves, there in (
                (explanation.up, strata < explanation.stratum),
                (explanation.down, strata > explanation.stratum),
            ):
                move = next((m for m in moves if m.feature == feature), None)
                assert (move is not None) == there.any()
                if move is None:
                    continue
                assert move.stratum in strata[there]
                assert move.score == model.partition_.scores[move.stratum]
                if move.value is not None:
                    assert model.apply(with_value(row, feature, move.value))[0] == move.stratum
                now = row[feature].iloc[0]
                if feature == "level" or pd.isna(now):
                    assert move.change is None
                    nearest = np.abs(strata[there] - explanation.stratum).min()
                    assert abs(move.stratum - explanation.stratum) == nearest
                else:
                    least = min(abs(v - now) for v, t in zip(values, there, strict=True) if t)
                    assert abs(move.change) == pytest.approx(least, rel=1e-12, abs=1e-300)
                    assert move.value == pytest.approx(now + move.change)


@examples(15)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2]))
def test_rows_that_fulfil_the_reasons_share_the_stratum(seed, depth):
    x, model = fitted(seed, depth)
    strata = model.apply(x)
    for number, explanation in enumerate(explain(model, x.iloc[:5])):
        holds = np.ones(len(x), dtype=bool)
        for reason in explanation.reasons:
            holds &= fulfils(x, reason)
        assert holds[number]
        assert (strata[holds] == explanation.stratum).all()


def fulfils(x, condition):
    """Evaluate a condition in words on each row."""
    words = condition.split()
    if condition.endswith("is missing"):
        return x[words[0]].isna().to_numpy()
    if condition.endswith("is known"):
        return x[words[0]].notna().to_numpy()
    if words[1] == "is":
        levels = condition.removeprefix(f"{words[0]} is ").removeprefix("not ")
        found = x[words[0]].isin(levels.removeprefix("any of ").split(", ")).to_numpy()
        return ~found & x[words[0]].notna().to_numpy() if words[2] == "not" else found
    return x.eval(condition).to_numpy().astype(bool)


def test_steps_lead_from_the_root_to_the_stratum():
    x, model = fitted(1, shrinkage=None)
    tree = model.tree_
    for row, explanation in zip(range(10), explain(model, x.iloc[:10]), strict=True):
        cell = 0
        for step in explanation.steps:
            assert step.conditions
            cell = tree.cells["left" if step.better else "right"][cell]
        assert not tree.is_split[cell]
        assert model._stratum[cell] == model.apply(x.iloc[[row]])[0]


def test_an_explanation_reads_well():
    x = pd.DataFrame({"income": np.arange(100.0), "level": ["u", "v"] * 50})
    y = ((x["income"] > 49) & (x["level"] == "u")).astype(int)
    model = TreeRank(pruning=None, shrinkage=None).fit(x, y)
    [found] = explain(model, pd.DataFrame({"income": [60.0], "level": ["v"]}))
    text = str(found)
    assert text.splitlines()[0].startswith("stratum ")
    assert "because " in text
    assert "up to 0 if level is u" in text
    [best] = explain(model, pd.DataFrame({"income": [60.0], "level": ["u"]}))
    assert best.stratum == 0
    assert best.up == ()
    move = next(m for m in best.down if m.feature == "income")
    assert move.value in (49.0, 49.5)  # between two rows, or two rows of one level
    assert move.condition == f"income <= {move.value:g}"
    assert move.change == move.value - 60.0


def test_a_missing_value_is_explained_as_missing():
    x, model = fitted(3)
    row = x.iloc[[0]].copy()
    row["a"] = np.nan
    [found] = explain(model, row)
    said = [c for step in found.steps for c in step.conditions if c.startswith("a ")]
    assert all(c == "a is missing" for c in said)
    assert said
    assert all(m.change is None for m in (*found.up, *found.down) if m.feature == "a")


def test_a_tree_of_the_root_alone_has_nothing_to_move():
    x, y = frame(100, 0)
    [found] = explain(TreeRank(min_auc_gain=0.49).fit(x, y), x.iloc[[0]])
    assert (found.reasons, found.steps, found.up, found.down) == ((), (), (), ())
    assert "all rows are in it" in str(found)


def test_other_models_are_refused():
    with pytest.raises(
        ValueError, match=r"Got a object; expected a tree whose cells LeafRank.*see .*reasons"
    ):
        explain(object(), [[0.0]])
