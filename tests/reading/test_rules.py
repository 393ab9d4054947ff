"""Rules: short, and true of just the rows of their stratum."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples

from treerank import LeafRank, TreeRank
from treerank._reading.rules import _threshold
from treerank._trees.boxes import contains, intersect, is_covered, simplify
from treerank.inspection import explain

EVERYTHING = [0b1111, 0b1111, 0b111]

boxes = st.lists(
    st.dictionaries(st.integers(0, 2), st.integers(1, 7), max_size=3), min_size=0, max_size=6
)


def points(box):
    """All points of a box, by enumeration."""
    allowed = [[c for c in range(4) if (EVERYTHING[f] & box.get(f, -1)) >> c & 1] for f in range(3)]
    return set(itertools.product(*allowed))


def union(found):
    return set().union(*(points(box) for box in found))


@given(boxes)
def test_simplified_boxes_have_the_same_union(found):
    simple = simplify([dict(box) for box in found], EVERYTHING)
    assert union(simple) == union(found)
    assert len(simple) <= len(found)
    assert sum(map(len, simple)) <= sum(map(len, found))


@given(boxes, boxes)
def test_coverage_and_intersection_agree_with_enumeration(one, other):
    for box in one:
        assert is_covered(box, other, EVERYTHING) == (points(box) <= union(other))
        for second in other:
            common = intersect(box, second)
            assert (set() if common is None else points(common)) == points(box) & points(second)
            if contains(second, box):
                assert points(box) <= points(second)


def test_a_condition_that_the_alternatives_imply_is_dropped():
    low, high = 0b0011, 0b1100
    assert simplify([{0: low}, {0: high, 1: low}], EVERYTHING) == [{0: low}, {1: low}]


def evaluate(rule, frame):
    """Run a rule in words as Python on every row of a table."""
    return np.array([_holds(rule, row) for _, row in frame.iterrows()])


def _holds(rule, row):
    """Evaluate one rule for one row by recursive descent over and/or/brackets."""
    rule = rule.strip()
    parts = _split(rule, " or ")
    if len(parts) > 1:
        return any(_holds(part, row) for part in parts)
    parts = _split(rule, " and ")
    if len(parts) > 1:
        return all(_holds(part, row) for part in parts)
    if rule.startswith("(") and rule.endswith(")"):
        return _holds(rule[1:-1], row)
    return _condition(rule, row)


def _split(rule, word):
    parts, depth, start, i = [], 0, 0, 0
    while i < len(rule):
        depth += (rule[i] == "(") - (rule[i] == ")")
        if depth == 0 and rule.startswith(word, i):
            parts.append(rule[start:i])
            i += len(word)
            start = i
            continue
        i += 1
    return [*parts, rule[start:]]


def _condition(text, row):
    words = text.split(" ")
    if text == "all rows":
        return True
    if words[1:] == ["is", "missing"]:
        return pd.isna(row[words[0]])
    if words[1:] == ["is", "known"]:
        return not pd.isna(row[words[0]])
    if words[1] == "is":
        listed = text.split("any of ")[-1].split(", ") if "any of" in text else [words[-1]]
        inside = str(row[words[0]]) in listed
        return not pd.isna(row[words[0]]) and (not inside if words[2] == "not" else inside)
    if len(words) == 5:
        return float(words[0]) < row[words[2]] <= float(words[4])
    return row[words[0]] <= float(words[2]) if words[1] == "<=" else row[words[0]] > float(words[2])


@examples(25)
@given(st.integers(30, 120), st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 3]))
def test_each_rule_holds_for_just_the_rows_of_its_stratum(n, seed, depth):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, size=n).astype(float),
            "debt": rng.integers(0, 20, size=n).astype(float),
            "town": rng.choice(list("ABCDE"), size=n),
        }
    )
    frame.loc[rng.random(n) < 0.1, "debt"] = np.nan
    frame.loc[rng.random(n) < 0.1, "town"] = None
    y = (frame["age"] / 30 - frame["town"].isin(["A", "C"]) + rng.normal(size=n) > 1).astype(int)
    y[:2] = [0, 1]
    model = TreeRank(LeafRank(max_depth=depth), max_depth=3, min_samples_leaf=3, pruning=None).fit(
        frame, y
    )
    strata = model.apply(frame)
    for k, rule in enumerate(model.partition_.rules()):
        assert np.array_equal(evaluate(rule, frame), strata == k), rule


def test_long_lists_of_levels_are_cut_short():
    rng = np.random.default_rng(0)
    town = rng.integers(0, 600, 6_000)
    frame = pd.DataFrame({"town": np.char.add("t", np.char.zfill(town.astype(str), 3))})
    y = (rng.random(6_000) < np.where(town < 40, 0.95, 0.05)).astype(int)
    model = LeafRank(categories="levels").fit(frame, y)
    for rule, side in zip(model.partition_.rules(), [True, False], strict=True):
        assert len(rule) < 100
        listed = rule.split("any of ")[1].split(", ")
        assert len(listed) == 6
        assert listed[5].startswith("… (")
        told = int(listed[5].removeprefix("… (").removesuffix(" levels)"))
        found = np.unique(frame["town"][(model.apply(frame) == 0) == side])
        n_found = len(np.unique(frame["town"])) - len(found) if "is not" in rule else len(found)
        assert told == n_found
    assert max(map(len, str(explain(model, frame[:1])[0]).split("\n"))) < 100
    few = frame[town < 60]
    short = LeafRank(categories="levels").fit(
        few, (rng.random(len(few)) < (town[town < 60] < 10)).astype(int)
    )
    assert (
        short.partition_.rules()[0] == f"town is any of {', '.join(f't{i:03d}' for i in range(10))}"
    )


def test_rules_never_speak_of_missing_values_that_were_not_there():
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"a": rng.normal(size=500), "b": rng.normal(size=500)})
    y = (x["a"] * x["b"] > 0).astype(int)
    model = TreeRank(LeafRank(max_depth=3), pruning=None).fit(x, y)
    assert not any("missing" in rule or "known" in rule for rule in model.partition_.rules())


def test_many_boxes_are_said_split_by_split():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(3_000, 8))
    y = (np.sin(3 * x).sum(axis=1) + rng.normal(size=3_000) > 0).astype(int)
    model = TreeRank(LeafRank(max_depth=6), max_depth=4, pruning=None).fit(x, y)
    rules = model.partition_.rules()
    assert len(rules) == len(model.partition_)
    assert all(rules)


@pytest.mark.parametrize("name", ["income (USD)", "x and y", "50%"])
def test_names_are_said_as_they_are(name):
    x = pd.DataFrame({name: np.arange(100.0)})
    rules = TreeRank().fit(x, (x[name] > 50).astype(int)).partition_.rules()
    assert rules[0] == f"{name} > 50.5"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1_234_567.0, 1_234_568.0], "1234567.5"),
        ([1_700_000_000.0, 1_700_086_400.0], "1700043200"),
        ([10.0**15 + 7, 10.0**15 + 9], "1000000000000008"),
        ([0.25, 0.75], "0.5"),
        ([1e200, 3e200], "2e+200"),
    ],
)
def test_large_numbers_keep_their_whole_part(values, said):
    x = np.repeat([[values[0] - 1], [values[0]], [values[1]], [values[1] + 1]], 30, axis=0)
    model = TreeRank(LeafRank(max_depth=1), max_depth=1, pruning=None, shrinkage=None)
    rules = model.fit(x, np.arange(120) >= 60).partition_.rules()
    assert rules == [f"x0 > {said}", f"x0 <= {said}"]


def test_neighbouring_thresholds_are_told_apart():
    thresholds = np.array([0.12345671, 0.12345678, 1.0, 1e17, 1e17 + 64, 2e17])
    said = [_threshold(thresholds, k) for k in range(len(thresholds))]
    assert said == ["0.1234567", "0.1234568", "1", "1e+17", "1.000000000000001e+17", "2e+17"]
