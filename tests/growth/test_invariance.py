"""Same data, same model: whatever the order, the threads, the process, the processor."""

import hashlib
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_examples import examples
from sklearn.base import clone

from treerank import LeafRank, RankingForest, TreeRank, _core


def table(n=3_000, p=6, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)).round(2)
    x[rng.random((n, p)) < 0.05] = np.nan
    y = (np.nan_to_num(x[:, 0] * x[:, 1]) + x[:, 2].round(0) + rng.normal(size=n) > 0).astype(int)
    return x, y


MODELS = {
    "default": TreeRank(),
    "unpruned": TreeRank(pruning=None, shrinkage=None),
    "shrunk": TreeRank(pruning=None, shrinkage=10.0),
    "penalised": TreeRank(pruning="penalty", shrinkage=None),
    "deep": TreeRank(splitter=LeafRank(max_depth=4), max_bins=64),
    "drawn": TreeRank(splitter=LeafRank(max_depth=3, max_features=2), max_features=4),
    "leaves pruned": TreeRank(splitter=LeafRank(max_depth=4, pruning="cv")),
    "best first": TreeRank(splitter=LeafRank(max_depth=None, max_leaf_nodes=5)),
}
NO_FOLDS = {"pruning": None, "shrinkage": 5.0}


def same(a, b, x):
    return np.array_equal(a.tree_.tests, b.tree_.tests) and np.array_equal(
        a.score_samples(x), b.score_samples(x)
    )


@pytest.mark.core
@pytest.mark.parametrize("name", MODELS)
def test_threads_do_not_change_the_model(name):
    x, y = table(40_000)  # so that cells below the root are shared among threads too
    one = clone(MODELS[name]).set_params(n_jobs=1).fit(x, y)
    for n_jobs in (3, 16):  # fewer than trees, that of the folds included, and more
        many = clone(MODELS[name]).set_params(n_jobs=n_jobs).fit(x, y)
        assert same(one, many, x)


@pytest.mark.core
@given(
    n_jobs=st.integers(2, 9), n_trees=st.integers(1, 3), max_features=st.sampled_from([None, 2]),
    constrained=st.booleans(), seed=st.integers(0, 10_000),
)  # fmt: skip
@examples(8)
def test_large_leafrank_trees_grown_by_a_team_are_those_of_one_thread(
    n_jobs, n_trees, max_features, constrained, seed
):
    x, y = table(20_000, 4, seed)
    x[:, 3] = np.nan_to_num(x[:, 3]).round(1) % 3
    forest = RankingForest(
        LeafRank(max_depth=None, max_features=max_features), n_estimators=n_trees, max_depth=1,
        bootstrap=False, shrinkage=1.0, categorical_features=[3], random_state=seed,
        monotonic_cst=[1, 0, 0, 0] if constrained else None,
    )  # fmt: skip
    one = clone(forest).set_params(n_jobs=1).fit(x, y)._trees
    many = clone(forest).set_params(n_jobs=n_jobs).fit(x, y)._trees
    for name in ("starts", "slots", "step", "set_of", "category_sets", "left_share"):
        np.testing.assert_array_equal(getattr(one, name), getattr(many, name))


@examples(25)
@given(st.integers(20, 300), st.integers(0, 2**32 - 1), st.sampled_from(list(MODELS)))
def test_row_order_does_not_matter(n, seed, name):
    x, y = table(n, seed=seed)
    if len(np.unique(y)) < 2:
        return
    order = np.random.default_rng(seed).permutation(n)
    a, b = clone(MODELS[name]).fit(x, y), clone(MODELS[name]).fit(x[order], y[order])
    assert same(a, b, x)


@pytest.mark.core
@examples(25)
@given(st.integers(20, 200), st.integers(0, 2**32 - 1), st.sampled_from(list(MODELS)),
       st.sampled_from([3, 100]))  # fmt: skip
def test_integer_weights_equal_repeated_rows(n, seed, name, largest):
    x, y = table(n, seed=seed)
    weight = np.random.default_rng(seed).integers(0, largest, size=n)
    weight[0] = 1  # no common factor
    if len(np.unique(y[weight > 0])) < 2:
        return
    # Folds are another matter: all weight of a row stays in one of them.
    fixed = {key: value for key, value in NO_FOLDS.items() if getattr(MODELS[name], key) == "cv"}
    if getattr(MODELS[name].splitter, "pruning", None) == "cv":
        fixed["splitter__pruning"] = None
    model = clone(MODELS[name]).set_params(**fixed)
    weighted = clone(model).fit(x, y, sample_weight=weight)
    repeated = clone(model).fit(np.repeat(x, weight, axis=0), np.repeat(y, weight))
    assert same(weighted, repeated, x)


def test_fractional_weights_are_relative():
    x, y = table(500)
    weight = np.random.default_rng(1).random(500) + 0.1
    a = TreeRank(pruning=None).fit(x, y, sample_weight=weight)
    b = TreeRank(pruning=None).fit(x, y, sample_weight=weight / 1_000)
    assert np.allclose(a.score_samples(x), b.score_samples(x))
    assert np.isclose(a.partition_.counts.sum(), 500)
    assert np.isclose(a.partition_.auc(), a.score(x, y, sample_weight=weight), atol=1e-9)


def test_weights_that_are_all_equal_change_nothing_but_the_counts():
    x, y = table(500)
    plain = TreeRank().fit(x, y)
    half = TreeRank().fit(x, y, sample_weight=np.full(500, 0.5))
    assert np.array_equal(plain.score_samples(x), half.score_samples(x))


def hash_of_models():
    x, y = table(2_000)
    trees = (clone(model).fit(x, y).tree_ for model in MODELS.values())
    return hashlib.sha256(b"".join(tree.tests.tobytes() for tree in trees)).hexdigest()


def test_every_instruction_set_gives_the_same_tree():
    script = (
        "import sys; sys.path[:0] = ['tests/growth', 'tests'];"
        "from test_invariance import hash_of_models;"
        "print(hash_of_models())"
    )
    expected = hash_of_models()
    for name in {"base", "avx2", "avx512"} - {_core.instruction_set()}:
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "TREERANK_ISA": name}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout.strip() == expected


def test_same_seed_same_model_and_clone_keeps_parameters():
    x, y = table(800)
    model = MODELS["drawn"]
    a, b = clone(model).set_params(random_state=4), clone(model).set_params(random_state=4)
    assert same(a.fit(x, y), b.fit(x, y), x)
    assert clone(a).get_params()["splitter__max_features"] == 2


def test_a_pickle_scores_the_same_in_another_process(tmp_path):
    x, y = table(800)
    model = TreeRank(splitter=LeafRank(max_depth=2)).fit(x, y)
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    script = (
        "import pickle, sys, numpy as np;"
        f"m = pickle.load(open(r'{tmp_path}/model.pkl', 'rb'));"
        f"s = m.score_samples(np.load(r'{tmp_path}/x.npy'));"
        "print(s.tobytes().hex(), m.partition_.rules()[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    scores, rule = done.stdout.strip().split(" ", 1)
    assert scores == model.score_samples(x).tobytes().hex()
    assert rule == model.partition_.rules()[0]


def test_fitted_state_is_fixed_width_arrays():
    x, y = table(300)
    tree = TreeRank().fit(x, y).tree_
    for array in (tree.cells, tree.counts, tree.tests, tree.category_sets):
        assert isinstance(array, np.ndarray)
        assert array.dtype.hasobject is False
    assert tree.tests.dtype.itemsize == 40


@pytest.mark.core
def test_a_damaged_tree_is_refused_not_followed():
    x, y = table(300)
    model = TreeRank(pruning=None).fit(x, y)
    slots, target = model.tree_.flat
    for change in (lambda s: s[:, :4].__setitem__((0, slice(None)), 255),
                   lambda s: s[:, 4:6].__setitem__((0, slice(None)), 200)):  # fmt: skip
        broken = slots.copy()
        change(broken)
        model.tree_.__dict__["flat"] = (broken, target)
        with pytest.raises(ValueError, match="damaged"):
            model.predict(x)


def test_an_unfitted_model_fits_after_pickling():
    x, y = table(200)
    model = TreeRank(LeafRank(max_depth=2))
    again = pickle.loads(pickle.dumps(model)).fit(x, y)
    assert same(model.fit(x, y), again, x)


def test_models_fitted_and_read_in_threads_at_once_are_the_same():
    # What the module promises to free-threaded Python.
    x, y = table(1_000)
    expected = {name: clone(model).fit(x, y) for name, model in MODELS.items()}

    def fit_and_read(name):
        again = clone(MODELS[name]).fit(x, y)
        return same(again, expected[name], x) and same(expected[name], again, x)

    with ThreadPoolExecutor(6) as threads:
        assert all(threads.map(fit_and_read, [*MODELS, *MODELS]))
