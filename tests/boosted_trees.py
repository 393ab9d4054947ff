"""Tables for boosting, and single gradient trees."""

import numpy as np
import oracles
from sklearn.datasets import make_classification

from treerank import _core
from treerank._growth.boosting_choice import FOLD_SEED, N_FOLDS


def sample(n=400, n_classes=2, seed=0, **change):
    return make_classification(
        n, n_features=6, n_informative=4, n_classes=n_classes, flip_y=0.1, random_state=seed,
        **change,
    )  # fmt: skip


def folds_of_choice(X, y):
    """Return the folds by which boosting chooses its trees, for whole numbers from 0."""
    codes, labels = np.ascontiguousarray((X.T + 1).astype(np.uint8)), y.astype(np.uint8)
    hashes = _core.row_hashes(codes, labels, FOLD_SEED)
    return oracles.folds(hashes, labels, None, N_FOLDS, FOLD_SEED)


def grow(
    codes, derivatives, weights, categorical, monotonic, rows, chosen, options, bits=30, n_jobs=1
):  # fmt: skip
    """Return the value of each row by a tree of the core, grown on `rows` (None: on all)."""
    n_codes = (codes.max(axis=1) + 1).astype(np.int32)
    rounds = _core.BoostingRounds(
        codes, weights, n_codes, np.array(categorical, dtype=np.uint8),
        np.array(monotonic, dtype=np.int8), n_jobs,
    )  # fmt: skip
    scores = np.zeros(codes.shape[1]) if rows is None else None
    slots, value, target, sets, importance, _ = rounds.grow(
        *derivatives, bits, 1.0, rows, chosen, options, scores
    )
    is_set = slots.view(np.uint32)[:, 0] >= 1 << 31
    set_of = np.where(is_set, target, -1).astype(np.int32) if len(sets) else target[:0]
    starts = np.array([0, len(slots)], dtype=np.int64)
    at_end = np.ones(1, dtype=np.uint8)
    walked = _core.score_forest(starts, slots, value, set_of, sets, at_end, codes, 1)
    if scores is not None and len(slots) > 1:  # updating leaf by leaf equals walking, bit by bit
        assert np.array_equal(scores, walked)
    return walked, importance


STUMP = {
    "max_depth": 1, "leafrank_depth": 1, "min_weight_leaf": 1, "independent_weight": 1.0,
    "l2": 1.0, "learning_rate": 1.0, "by_stratum": True,
}  # fmt: skip
