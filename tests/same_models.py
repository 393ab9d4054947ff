"""Options of fits, and checks that two models are the same, bit for bit."""

import hashlib
import tempfile
from pathlib import Path

import numpy as np

import treerank
from treerank import LeafRank

DEEP = {"splitter": LeafRank(max_depth=6), "max_depth": 8, "pruning": None, "shrinkage": None}


# A fit of few rounds, for tests of its input or output.
SMALL = {"max_depth": 3, "pruning": None, "shrinkage": None}


def digest(model):
    """Return a hash of the file of a model, which has everything in it."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "model"
        treerank.save(model, path)
        return hashlib.sha256(path.read_bytes()).hexdigest()


def assert_same_tree(one, other):
    for tree in ("tree_", "unpruned_tree_"):
        for name in ("cells", "counts", "tests", "category_sets"):
            assert np.array_equal(
                getattr(getattr(one, tree), name), getattr(getattr(other, tree), name)
            ), (tree, name)
    assert np.array_equal(one.shrinkage_, other.shrinkage_, equal_nan=True)
    assert np.array_equal(one.partition_.scores, other.partition_.scores)


def assert_same_forest(one, other):
    for name, mine in vars(one._trees).items():
        theirs = getattr(other._trees, name)
        same = mine is theirs or np.array_equal(mine, theirs)
        assert same, name
    assert one.shrinkage_ == other.shrinkage_
