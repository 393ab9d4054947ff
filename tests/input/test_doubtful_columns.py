"""Columns that identify rows are left out, with one warning, wherever the rows are."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import treerank
from treerank import BoostedTreeRank, LeafRank, RankingForest, TreeRank, export, inspection

N = 400
MODELS = [
    TreeRank(), LeafRank(max_depth=3), RankingForest(n_estimators=5), BoostedTreeRank(5),
    TreeRank(LogisticRegression()),
]  # fmt: skip


def customers(seed=0):
    """Two columns that name rows, between a number and a town; few of the towns are known."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "customer": [f"C{i:05d}" for i in rng.permutation(N)],
            "income": rng.normal(size=N),
            "mail": [f"{i}@example.org" for i in rng.integers(0, 10 * N, N)],
            "town": rng.choice(["Rome", "Oslo", None], N),
        }
    )
    frame.loc[rng.random(N) < 0.3, "mail"] = None
    y = (frame["income"] + (frame["town"] == "Oslo") + rng.normal(size=N) > 0).astype(int)
    return frame, y.to_numpy()


def fit_quietly(model, x, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return clone(model).fit(x, y, **options)


def warnings_of(fit):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        fit()
    return [str(w.message) for w in caught if "identify rows" in str(w.message)]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_they_are_left_out_with_one_warning(model):
    x, y = customers()
    fitted = clone(model)
    [message] = warnings_of(lambda: fitted.fit(x, y))
    assert "'customer' (400 levels in 400 rows) and 'mail' (" in message
    assert "Drop such columns" in message
    assert "town" not in message
    if getattr(model, "splitter", None) is None:
        importance = fitted.feature_importances_
        assert len(importance) == 4
        assert importance[0] == importance[2] == 0
        assert importance[1] > 0
    changed = x.assign(customer="C00000", mail=np.arange(N))
    np.testing.assert_array_equal(fitted.score_samples(x), fitted.score_samples(changed))


def test_the_model_is_that_of_the_other_columns():
    x, y = customers()
    model = TreeRank(pruning=None, shrinkage=None)
    beside = fit_quietly(model, x, y)
    alone = clone(model).fit(x[["income", "town"]], y)
    np.testing.assert_array_equal(
        beside.score_samples(x), alone.score_samples(x[["income", "town"]])
    )
    assert beside.partition_.rules() == alone.partition_.rules()


def test_a_model_of_nothing_else_ranks_all_rows_alike():
    x, y = customers()
    for model in (TreeRank(), RankingForest(n_estimators=3), BoostedTreeRank(3)):
        fitted = fit_quietly(model, x[["customer"]], y)
        assert len(np.unique(fitted.score_samples(x[["customer"]]))) == 1


@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas], ids=["pandas", "polars"])
@pytest.mark.parametrize("dtype", ["text", "category"])
def test_so_are_categories_that_the_table_declares(library, dtype):
    x, y = customers()
    if dtype == "category":
        x["customer"] = x["customer"].astype("category")
    assert len(warnings_of(lambda: TreeRank().fit(library(x), y))) == 1


def test_so_are_columns_that_the_user_names_categories():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.permutation(N), rng.normal(size=N)])
    y = (x[:, 1] > 0).astype(int)
    model = TreeRank(categorical_features=[0])
    [message] = warnings_of(lambda: model.fit(x, y))
    assert "'x0' (400 levels in 400 rows)" in message


def test_numbers_that_identify_rows_stay_numbers():
    x, y = customers()
    x = x[["income"]].assign(number=np.random.default_rng(0).permutation(N))
    assert warnings_of(lambda: TreeRank().fit(x, y)) == []


def test_numbers_as_text_are_told_apart():
    x, y = customers()
    text = x.assign(price=[f"{v:.6f}" for v in x["income"]])
    [message] = warnings_of(lambda: TreeRank().fit(text, y))
    assert message.endswith("Numbers are text in 'price': convert them.")


@pytest.mark.parametrize(
    ("levels", "n_rows"),
    [
        ([f"v{i}" for i in range(20)], 20),  # a small table
        ([f"v{i}" for i in range(N // 2)] * 2, N),  # two rows a level
        (["none"] * (N // 2) + [f"v{i}" for i in range(N // 2)], N),  # half of them none
        ([f"v{i}" for i in range(20)] + [None] * (N - 20), N),  # few that are known
    ],
)
def test_levels_that_say_something_are_learned_from(levels, n_rows):
    y = np.arange(n_rows) % 2
    model = TreeRank()
    assert warnings_of(lambda: model.fit(pd.DataFrame({"level": levels}), y)) == []
    assert len(model._binning.levels[0]) > 0


def test_weights_do_not_make_groups_of_rows():
    x, y = customers()
    weight = np.random.default_rng(0).integers(1, 9, N)
    for w in (weight, weight / 7, np.full(N, 3)):
        fitted = fit_quietly(TreeRank(), x, y, sample_weight=w)
        assert [levels == [] for levels in fitted._binning.levels] == [True, False, True, False]


def test_many_columns_are_named_up_to_ten():
    x, y = customers()
    names = [f"id{j}" for j in range(13)]
    x = x.assign(**dict.fromkeys(names, x["customer"]))[[*names, "income"]]
    [message] = warnings_of(lambda: TreeRank().fit(x, y))
    assert "'id9' (400 levels in 400 rows) and 3 more." in message


def test_parquet_files_give_the_same_model_and_warning(tmp_path):
    x, y = customers()
    for part in range(4):
        rows = slice(part * N // 4, (part + 1) * N // 4)
        x[rows].assign(bad=y[rows]).to_parquet(tmp_path / f"{part}.parquet")
    local = fit_quietly(TreeRank(), x, y)
    model = TreeRank()
    codes = tmp_path / "codes"
    fit = lambda: model.fit_parquet(tmp_path / "*.parquet", "bad", cache_dir=codes)  # noqa: E731
    [message] = warnings_of(fit)
    assert "'customer' (400 levels in 400 rows) and 'mail' (" in message
    np.testing.assert_array_equal(model.score_samples(x), local.score_samples(x))
    fit()  # from the codes that were kept
    np.testing.assert_array_equal(model.score_samples(x), local.score_samples(x))


def test_a_model_without_them_is_saved_explained_and_exported(tmp_path):
    x, y = customers()
    model = fit_quietly(TreeRank(), x, y)
    treerank.save(model, tmp_path / "model.json")
    again = treerank.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.score_samples(x), model.score_samples(x))
    assert "customer" not in str(inspection.explain(model, x[:1])[0])
    assert len(inspection.partial_dependence(model, x, ["customer"]).average) == 0
    assert "customer" not in export.to_sql(model, "t")
