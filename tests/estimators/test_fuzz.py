"""Any table, labels, weights and parameters: a model that scores, or an error of ours.

``TREERANK_FUZZ=5000`` sets the number of cases, ``TREERANK_FUZZ_SEED`` which ones they are; a case
that fails is named, and ``TREERANK_FUZZ_CASE`` runs it alone.
"""

import linecache
import os
import pickle
import traceback
import warnings
from collections import Counter
from pathlib import Path

import joblib
import numpy as np
import pytest
import random_estimators
import random_inputs
import sklearn

import treerank
from treerank import BoostedTreeRank, LeafRank, RankingForest, TreeRank

N_CASES = int(os.environ.get("TREERANK_FUZZ", "300"))
SEED = int(os.environ.get("TREERANK_FUZZ_SEED", "0"))
CASE = os.environ.get("TREERANK_FUZZ_CASE")
OURS = Path(treerank.__file__).parent
TAKES_ANYTHING = BoostedTreeRank | LeafRank | RankingForest | TreeRank
SIZES = [0.02, 0.03, 0.1, 0.3, 0.3, 0.2, 0.05]
SKLEARN = Path(sklearn.__file__).parent
# That some of the models have inside; errors in a thread come out of joblib.
CLASSIFIERS = {SKLEARN / "tree", SKLEARN / "preprocessing", Path(joblib.__file__).parent}


def is_ours(error):
    """Whether an error was raised on purpose, by a `raise` of the package or of a check.

    A classifier of scikit-learn inside one of our models speaks for itself.
    """
    frames = traceback.extract_tb(error.__traceback__)
    where = [Path(frame.filename) for frame in frames]
    if any(path.parent in CLASSIFIERS for path in where):
        return True
    line = linecache.getline(frames[-1].filename, frames[-1].lineno)
    deliberate = line.strip().startswith("raise")
    return deliberate and bool({OURS, SKLEARN / "utils"} & set(where[-1].parents))


def assert_sound(model, rows, n_rows):
    """Scores and probabilities are what they should be."""
    scores = model.score_samples(rows)
    assert scores.shape == (n_rows,), scores.shape
    assert np.isfinite(scores).all(), scores
    assert np.isin(model.predict(rows), model.classes_).all()
    if hasattr(model, "predict_proba"):
        shares = model.predict_proba(rows)
        assert shares.shape == (n_rows, len(model.classes_))
        assert shares.min() >= 0, shares.min()
        assert shares.max() <= 1, shares.max()
        np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-9)
    return scores


def assert_same(found, scores, model):
    """To the bit; where BLAS computes the scores, as near as it comes on any two arrays."""
    if model.__module__.startswith("treerank.baselines"):
        np.testing.assert_allclose(found, scores, rtol=1e-9, atol=1e-9 * np.abs(scores).max())
    else:
        np.testing.assert_array_equal(found, scores)


def save_and_load(model, rows, scores, folder):
    """Whether the model can be saved; if so, what is loaded gives the same scores."""
    again = pickle.loads(pickle.dumps(model))
    assert_same(again.score_samples(rows), scores, model)
    path = folder / "model"
    try:
        treerank.save(model, path)
    except (TypeError, ValueError) as error:  # what the format has no words for
        if not is_ours(error):
            raise
        return "kept in pickles alone"
    assert_same(treerank.load(path).score_samples(rows), scores, model)
    return "fitted"


class Case:
    """Everything that a number stands for."""

    def __init__(self, number):
        self.number = number
        rng = np.random.default_rng([SEED, number])
        self.model = random_estimators.estimator(rng)
        numbers_only = not isinstance(self.model, TAKES_ANYTHING)
        plain = rng.random() < (0.8 if numbers_only else 0.2)
        form = str(rng.choice(["numpy", "pandas", "pandas", "polars"]))
        self.maker = random_inputs.TableMaker(rng, int(rng.integers(1, 6)), form, plain)
        self.n_rows = int(rng.choice([1, 2, 8, 30, 60, 120, 300], p=SIZES))
        self.X = self.maker.make(self.n_rows)
        self.y = random_inputs.labels(rng, self.n_rows)
        self.weight = random_inputs.weights(rng, self.n_rows)
        if rng.random() < 0.02:
            self.X = random_inputs.unreadable_table(rng, self.X)

    def __str__(self):
        weight = "no weights" if self.weight is None else f"weights {np.ravel(self.weight)[:3]}"
        table = f"{self.n_rows} rows of {self.maker.form} {self.maker.kinds}"
        return f"case {self.number}: {self.model} on {table}, {weight}"

    def run(self, folder):
        """Say how it ended; raise if it ended badly."""
        before = dict(vars(self.model))
        name = type(self.model).__name__
        try:
            self.model.fit(self.X, self.y, sample_weight=self.weight)
        except (ValueError, TypeError) as error:
            if not is_ours(error) or not str(error):
                raise
            if vars(self.model) != before:
                raise AssertionError("a fit that failed has changed the model") from error
            return name, "refused"
        scores = assert_sound(self.model, self.X, self.n_rows)
        outcome = save_and_load(self.model, self.X, scores, folder)
        try:
            assert_sound(self.model, self.maker.make(20, unseen=1), 20)
        except (ValueError, TypeError) as error:  # infinity, text among numbers
            if not is_ours(error):
                raise
        return name, outcome


@pytest.mark.core
def test_a_model_that_scores_or_an_error_of_ours(tmp_path):
    cases = range(N_CASES) if CASE is None else [int(CASE)]
    seen, failures = Counter(), []
    for number in cases:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case = Case(number)
            try:
                seen[case.run(tmp_path)] += 1
            except Exception as error:
                last = traceback.format_exc().splitlines()
                failures.append(f"{case}\n" + "\n".join(last[-8:]))
                seen["failed", type(error).__name__] += 1
    print(f"{len(cases):,} cases; {sorted(seen.items())}")
    assert not failures, f"{len(failures)} cases failed\n" + "\n\n".join(failures[:20])
