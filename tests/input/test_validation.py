"""Tables, labels and weights as people have them; bad ones get one clear error."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from treerank import LeafRank, RankingForest, TreeRank


@pytest.fixture
def loans():
    rng = np.random.default_rng(0)
    n = 400
    region = rng.choice(["north", "south", "east"], size=n)
    owner = rng.random(n) < 0.5
    income = rng.normal(3, 1, size=n).round(2)
    risk = 1.5 * (region == "south") - income + owner + rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "income": income,
            "region": pd.Categorical(region),
            "job": rng.choice(["clerk", "cook"], size=n),
            "owner": owner,
            "children": pd.array(rng.integers(0, 4, size=n), dtype="Int64"),
            "insured": pd.array(rng.random(n) < 0.5, dtype="boolean"),
        }
    )
    return frame, (risk > np.median(risk)).astype(int)


def test_pandas_and_polars_give_the_same_model(loans):
    x, y = loans
    x = x.copy()
    x.loc[3, "income"] = np.nan
    x.loc[4, "region"] = np.nan
    x.loc[5, "children"] = pd.NA
    x.loc[6, "insured"] = pd.NA
    x.loc[7, "job"] = None
    columns = {name: [None if pd.isna(v) else v for v in x[name]] for name in x}
    other = pl.DataFrame(columns).with_columns(pl.col("region").cast(pl.Categorical))
    a, b = TreeRank().fit(x, y), TreeRank().fit(other, pl.Series(y))
    assert np.array_equal(a.score_samples(x), b.score_samples(other))
    assert np.array_equal(a.score_samples(x), a.score_samples(other))
    assert a.partition_.rules() == b.partition_.rules()


def test_categories_are_told_by_dtype_or_by_the_user(loans):
    x, y = loans
    by_type = TreeRank().fit(x, y)
    assert by_type._binning.is_categorical.tolist() == [0, 1, 1, 1, 0, 1]
    named = TreeRank(categorical_features=["children", "region", "job", "owner", "insured"])
    assert named.fit(x, y)._binning.is_categorical.tolist() == [0, 1, 1, 1, 1, 1]
    codes = np.column_stack([x["income"], x["region"].cat.codes])
    assert TreeRank(categorical_features=[1]).fit(codes, y)._binning.is_categorical.tolist() == [
        0,
        1,
    ]
    mask = TreeRank(categorical_features=[False, True]).fit(codes, y)
    assert mask._binning.is_categorical.tolist() == [0, 1]
    for bad in ([7], ["region"], [True], "all", [[0]]):
        with pytest.raises(ValueError, match="categorical_features"):
            TreeRank(categorical_features=bad).fit(codes, y)


def test_unseen_levels_go_where_missing_ones_go(loans):
    x, y = loans
    model = TreeRank().fit(x, y)
    new, missing = x.head(20).copy(), x.head(20).copy()
    new["region"] = "west"
    missing["region"] = None
    assert np.array_equal(model.score_samples(new), model.score_samples(missing))


def test_missing_values_at_predict_are_accepted_though_none_were_seen(loans):
    x, y = loans
    model = TreeRank().fit(x[["income"]], y)
    scores = model.score_samples(pd.DataFrame({"income": [np.nan, 0.0, 9.0]}))
    assert np.isfinite(scores).all()


def test_more_levels_than_codes_share_one():
    rng = np.random.default_rng(1)
    level = rng.integers(0, 600, size=4_000)
    y = (rng.random(4_000) < np.where(level % 2 == 0, 0.9, 0.1)).astype(int)
    x = pd.DataFrame({"shop": np.char.add("s", level.astype(str))})
    model = TreeRank(categories="levels").fit(x, y)
    levels = model._binning.levels[0]
    assert len(levels) == 255
    assert isinstance(levels[-1], tuple)
    assert len(levels[-1]) == len(np.unique(level)) - 254
    assert model.score(x, y) > 0.7


def test_columns_in_another_order_or_missing_are_refused(loans):
    x, y = loans
    model = TreeRank().fit(x, y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(x[x.columns[::-1]])
    with pytest.raises(ValueError, match="feature names"):
        model.predict(x.drop(columns="job"))
    with pytest.raises(ValueError, match="features"):
        LeafRank().fit(x[["income"]].to_numpy(), y).predict(np.zeros((2, 3)))


def test_text_labels_and_category_labels_work(loans):
    x, y = loans
    words = np.where(y == 1, "late", "in time")
    expected = TreeRank().fit(x, y).score_samples(x)
    for labels in (words, words.tolist(), pd.Series(words), pd.Categorical(words), y.astype(bool),
                   pl.Series(words), y.astype(float), y[:, np.newaxis].ravel()):  # fmt: skip
        model = TreeRank().fit(x, labels)
        assert np.array_equal(model.score_samples(x), expected)
    assert set(TreeRank().fit(x, words).predict(x)) == {"late", "in time"}


BAD_LABELS = {
    "one class": (np.zeros_like, "one class"),
    "too many classes": (lambda y: np.arange(len(y)) % 40, "Got 40 classes"),
    "unordered": (lambda y: pd.Categorical(np.arange(len(y)) % 3), "unordered categorical"),
    "NaN": (lambda y: np.where(np.arange(len(y)) == 5, np.nan, y), "first: row 5"),
    "None": (lambda y: [None, *map(str, y[1:])], "first: row 0"),
    "pandas NA": (lambda y: pd.Series([pd.NA, *y[1:]], dtype="Int64"), "first: row 0"),
    "continuous": (lambda y: y + np.linspace(0, 0.5, len(y)), "[Uu]nknown label type"),
    "too few": (lambda y: y[:-1], "inconsistent numbers of samples"),
    "mixed types": (lambda y: [1, "a", *y[2:].tolist()], "several types"),
    "none at all": (lambda y: None, "y"),
}


@pytest.mark.parametrize("case", BAD_LABELS)
@pytest.mark.filterwarnings("ignore")
def test_bad_labels_are_refused(loans, case):
    x, y = loans
    change, message = BAD_LABELS[case]
    refused(TreeRank(), x, change(y), message)


BAD_WEIGHTS = {
    "negative": (lambda n: np.where(np.arange(n) == 3, -1.0, 1.0), r"sample_weight\[3\]=-1"),
    "zeros": (np.zeros, "zeros only"),
    "NaN": (lambda n: np.full(n, np.nan), "NaN"),
    "infinite": (lambda n: np.full(n, np.inf), "infinity"),
    "too few": (lambda n: np.ones(n - 1), "one weight per row"),
    "two columns": (lambda n: np.ones((n, 2)), "1D"),
}


@pytest.mark.parametrize("case", BAD_WEIGHTS)
def test_bad_weights_are_refused(loans, case):
    x, y = loans
    make, message = BAD_WEIGHTS[case]
    refused(TreeRank(), x, y, message, make(len(y)))


def test_a_class_without_weight_is_refused(loans):
    x, y = loans
    refused(TreeRank(), x, y, "no row of positive weight with class", (y == 0).astype(float))


BAD_TABLES = {
    "infinite array": (lambda x: np.where(x[["income"]] > 5, np.inf, 1.0), "infinity"),
    "infinite column": (lambda x: x.assign(income=np.inf), "'income' contains infinity"),
    "sparse": (lambda x: sparse.csr_matrix(x[["income"]]), "[Ss]parse"),
    "dates": (lambda x: x.assign(day=pd.Timestamp("2020-01-01")), "'day' has type"),
    "no rows": (lambda x: x.head(0), "0 sample"),
    "no columns": (lambda x: x[[]], "0 feature"),
    "one dimension": (lambda x: x["income"].to_numpy(), "[Ee]xpected 2D"),
    "mixed column": (
        lambda x: x.assign(income=[3, "n/a", *x["income"][2:]]),
        r"'income' has text in 1 of 400 rows \(first: row 1, 'n/a'\)",
    ),
    "twice the same name": (lambda x: pd.concat([x, x], axis=1), "unique column names"),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_bad_tables_are_refused(loans, case):
    x, y = loans
    change, message = BAD_TABLES[case]
    refused(TreeRank(), change(x), y, message)


BAD_PARAMETERS = [
    (TreeRank(max_depth=0), "Got max_depth=0; expected an integer >= 1 or None."),
    (TreeRank(max_depth=2.5), "Got max_depth=2.5"),
    (TreeRank(min_samples_leaf=0), "Got min_samples_leaf=0"),
    (TreeRank(min_samples_leaf=1.5), "Got min_samples_leaf=1.5"),
    (TreeRank(min_auc_gain=-1), "Got min_auc_gain=-1"),
    (TreeRank(max_features=99), "Got max_features=99"),
    (TreeRank(max_features="all"), "Got max_features='all'"),
    (TreeRank(pruning="best"), "Got pruning='best'; expected one of 'cv', 'penalty', None."),
    (TreeRank(shrinkage="oob"), "Got shrinkage='oob'"),
    (TreeRank(shrinkage=-1), "Got shrinkage=-1"),
    (TreeRank(shrinkage=float("nan")), "Got shrinkage=nan"),
    (TreeRank(cv=1), "Got cv=1"),
    (TreeRank(cv="five"), "Got cv='five'"),
    (TreeRank(max_bins=1), "Got max_bins=1"),
    (TreeRank(max_bins="many"), "Got max_bins='many'"),
    (TreeRank(n_jobs=0), "Got n_jobs=0"),
    (TreeRank(splitter="gini"), "Got splitter='gini'"),
    (TreeRank(splitter=LeafRank(max_bins=9)), "set max_bins on TreeRank"),
    (TreeRank(splitter=LeafRank(criterion="mse")), "Got criterion='mse'"),
    (TreeRank(splitter=LeafRank(max_leaf_nodes=1)), "Got max_leaf_nodes=1"),
    (TreeRank(monotonic_cst=[1]), "Got monotonic_cst"),
    (TreeRank(monotonic_cst={"wage": 1}), "monotonic_cst for 'wage'"),
    (TreeRank(monotonic_cst={"region": 1}), "'region', which is a category"),
    (TreeRank(random_state="x"), "x"),
    (LeafRank(max_depth=0), "Got max_depth=0"),
]


@pytest.mark.parametrize(("model", "message"), BAD_PARAMETERS, ids=lambda v: str(v)[:40])
def test_unusable_parameters_are_refused(loans, model, message):
    refused(model, *loans, message.replace("(", r"\("))


def refused(model, x, y, message, sample_weight=None):
    """The call fails with the message, and leaves the model as it was: fitted or not."""
    blank = dict(vars(model))
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(x, y, sample_weight=sample_weight)
    assert dict(vars(model)) == blank


def test_a_failed_fit_keeps_the_earlier_one(loans):
    x, y = loans
    model = TreeRank().fit(x, y)
    before = model.score_samples(x)
    for bad_x, bad_y in [(x[["income"]], np.zeros_like(y)), (x.assign(income=np.inf), y)]:
        with pytest.raises(ValueError, match=r"one class|infinity"):
            model.fit(bad_x, bad_y)
    assert np.array_equal(model.score_samples(x), before)
    assert model.n_features_in_ == 6


def test_a_column_that_changed_its_kind_is_refused(loans):
    x, y = loans
    model = TreeRank().fit(x, y)
    with pytest.raises(ValueError, match=r"'job' has values such as 1(\.0)?; expected text"):
        model.predict(x.assign(job=1.0))
    with pytest.raises(ValueError, match="'income' has String values; expected numbers"):
        model.predict(x.assign(income="high"))


def test_a_misspelt_feature_is_named_beside_those_there_are(loans):
    x, y = loans
    wide = x.assign(**{f"x{k}": 0.0 for k in range(6)})
    there = rf"expected names of features: '{x.columns[0]}', .*, … \({wide.shape[1]} in all\)"
    with pytest.raises(ValueError, match=f"Got categorical_features with 'agee'; {there}"):
        TreeRank(categorical_features=[x.columns[1], "agee"]).fit(wide, y)
    with pytest.raises(ValueError, match=f"Got monotonic_cst for 'agee'; {there}"):
        TreeRank(monotonic_cst={"agee": 1}).fit(wide, y)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (RankingForest(max_depth="deep"), "'auto', an integer >= 1 or None"),
        (RankingForest(shrinkage="cv"), "'oob', a finite number >= 0 or None"),
        (TreeRank(shrinkage="oob"), "'cv', a finite number >= 0 or None"),
        (TreeRank(min_samples_leaf=0), r"an integer >= 1 or a share in \(0, 1\)"),
    ],
    ids=str,
)
def test_messages_name_every_kind_of_value_that_a_parameter_takes(model, expected, loans):
    with pytest.raises(ValueError, match=f"; expected {expected}"):
        model.fit(*loans)
