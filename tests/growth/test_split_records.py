"""Trees put together from the tests that were found elsewhere, node by node."""

import numpy as np
import pytest

from treerank import LeafRank, TreeRank, _core
from treerank._growth.level_wise import GATHERED_NODE
from treerank._plans.treerank import plan_tree
from treerank._trees.ranking_tree import TEST

RECORD = np.dtype(
    [(name, "<i4") for name in ("feature", "cut", "left", "right")]
    + [(name, "<f8") for name in ("negative", "positive")]
)
N_FEATURES = 3


def growth(total):
    model = TreeRank(LeafRank(max_depth=None, min_samples_leaf=1), max_depth=1)
    rows = type("Rows", (), {"n_rows": 1000, "n_features": N_FEATURES})
    options = plan_tree(model, rows).for_core(1.0, 1.0)
    n_codes = np.full(N_FEATURES, 9, dtype=np.int32)
    nothing = np.zeros(N_FEATURES, dtype=np.uint8)
    made = _core.LevelGrowth(
        n_codes, nothing, nothing.view(np.int8), options, np.array(total), 0, None,
        float("inf"), 0, False,
    )  # fmt: skip
    made.start_level()
    assert len(made.gathered_nodes().view(GATHERED_NODE)) == 1
    return made


def graft(records):
    made = growth([64.0, 64.0])
    raw = np.ascontiguousarray(records).view(np.uint8).reshape(len(records), -1)
    _core.graft_splits([made], [raw], np.empty((0, 32), dtype=np.uint8), 1)
    return made.tree()[2].view(TEST).reshape(-1)


def records_of_a_tree():
    """A tree of seven tests, in the order of its levels."""
    records = np.zeros(7, dtype=RECORD)
    records["feature"] = np.arange(7) % N_FEATURES
    records["cut"] = 1 + np.arange(7)
    for i in range(7):
        below = 2 * i + 1, 2 * i + 2
        records["left"][i], records["right"][i] = below if below[1] < 7 else (-1, -1)
    share = [32.0, 16.0, 16.0, 8.0, 8.0, 8.0, 8.0]
    records["negative"], records["positive"] = np.array(share) - 3, np.array(share) + 2
    return records


def walk(records, at=0):
    """Cuts of the tests, depth first."""
    if at < 0 or records["feature"][at] < 0:
        return []
    left, right = int(records["left"][at]), int(records["right"][at])
    return [int(records["cut"][at]), *walk(records, left), *walk(records, right)]


def cuts_as_made(nodes):
    """Cuts in the order in which the tests got their children."""
    tests = nodes[nodes["left"] >= 0]
    return tests["cut"][np.argsort(tests["left"])].tolist()


def with_numbers(records, number):
    """The same records at other places."""
    moved = np.zeros_like(records)
    for name in ("left", "right"):
        links = records[name]
        records = records.copy()
        records[name] = np.where(links >= 0, number[links], -1)
    moved[number] = records
    return moved


def test_records_in_any_order_make_the_tree_of_depth_first_growth():
    records = records_of_a_tree()
    expected = graft(records)
    assert cuts_as_made(expected) == walk(records) == [1, 2, 4, 5, 3, 6, 7]
    assert sorted(expected["left"][expected["left"] >= 0]) == [1, 3, 5, 7, 9, 11, 13]
    for seed in range(5):  # within a level, and levels that overlap
        order = np.random.default_rng(seed).permutation(4)
        number = np.concatenate([[0, 1, 2], 3 + order])
        assert np.array_equal(graft(with_numbers(records, number)), expected)
    late = np.array([0, 1, 4, 2, 3, 5, 6])  # the right side after all that is on the left
    assert np.array_equal(graft(with_numbers(records, late)), expected)


def test_a_record_without_a_test_is_a_leaf():
    records = records_of_a_tree()
    records["feature"][[1, 4, 6]] = -1
    made = graft(records)
    assert cuts_as_made(made) == walk(records) == [1, 3, 6]
    assert len(made) == 7


@pytest.mark.parametrize(
    ("name", "at", "value", "message"),
    [
        ("left", 1, 7, "do not fit together"),  # no such record
        ("left", 3, 1, "do not fit together"),  # a circle
        ("right", 1, 5, "do not fit together"),  # two parents
        ("left", 2, 6, "do not fit together"),  # twice the same child
        ("feature", 2, N_FEATURES, "no such feature"),
        ("feature", 2, 1 << 30, "no such category set"),
    ],
)
def test_records_that_do_not_fit_together_are_refused(name, at, value, message):
    records = records_of_a_tree()
    records[name][at] = value
    with pytest.raises(ValueError, match=message):
        graft(records)
