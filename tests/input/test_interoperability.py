"""Odd tables, labels and weights, and the tools of scikit-learn around the estimators."""

import io
import pickle
from datetime import date
from decimal import Decimal

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingClassifier, StackingClassifier
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treerank import (
    BoostedTreeRank,
    GeometricRanker,
    LeafRank,
    OrderedPartition,
    RankingForest,
    TreeRank,
    report,
)
from treerank.inspection import auc_importance

N = 300
rng = np.random.default_rng(0)
SIGNAL = rng.normal(size=N)
Y = (SIGNAL + rng.normal(size=N) > 0).astype(int)
FRAME = pd.DataFrame({"a": SIGNAL, "b": rng.normal(size=N)})
MIXED = FRAME.assign(c=["u", "v", None] * (N // 3), d=[True, False, True] * (N // 3))


def scores(x, y=Y, sample_weight=None, **parameters):
    model = TreeRank(**parameters).fit(x, y, sample_weight=sample_weight)
    proba = model.predict_proba(x)
    assert ((proba >= 0) & (proba <= 1)).all()
    return model.score_samples(x)


def refused(message, x=FRAME, y=Y, sample_weight=None, error=ValueError, **parameters):
    model = TreeRank(**parameters)
    before = dict(vars(model))
    with pytest.raises(error, match=message):
        model.fit(x, y, sample_weight=sample_weight)
    assert dict(vars(model)) == before


SAME_TABLE = {
    "lists": FRAME.to_numpy().tolist(),
    "Fortran order": np.asfortranarray(FRAME),
    "every other column": np.repeat(FRAME.to_numpy(), 2, axis=1)[:, ::2],
    "objects": FRAME.to_numpy(dtype=object),
    "frame of objects": FRAME.astype(object),
    "frame of Decimal": FRAME.map(lambda v: Decimal(float(v))).astype(object),
    "number names": pd.DataFrame(FRAME.to_numpy()),
    "two levels of names": FRAME.set_axis(
        pd.MultiIndex.from_tuples([("x", "a"), ("x", "b")]), axis=1
    ),
    "arrow columns": FRAME.astype("float64[pyarrow]"),
    "nullable columns": FRAME.astype("Float64"),
    "shuffled index": FRAME.set_axis(rng.permutation(N)),
    "polars": pl.DataFrame(FRAME.to_dict("list")),
    "pyarrow": pa.table(FRAME.to_dict("list")),
}


@pytest.mark.parametrize("kind", [pl.Int128, pl.Decimal(20, 0)])
def test_whole_numbers_that_numpy_does_not_have_are_numbers(kind):
    whole = pl.DataFrame({"a": rng.integers(0, 50, N), "b": rng.integers(0, 50, N)})
    assert np.array_equal(scores(whole.cast(kind)), scores(whole))


def test_views_of_text_are_text():
    text = {"a": SIGNAL, "c": ["u", "v", None] * (N // 3), "e": np.where(Y, "p", "q").tolist()}
    views = pa.table({**text, "c": pa.array(text["c"], pa.string_view())})
    model = TreeRank().fit(views, Y)
    assert np.array_equal(model.score_samples(views), scores(pa.table(text)))
    assert report(model, views, Y, out=None).startswith("<!DOCTYPE html>")
    found = [auc_importance(model, rows, Y, random_state=0) for rows in (views, pa.table(text))]
    assert np.array_equal(found[0].values, found[1].values)


@pytest.mark.parametrize("kind", SAME_TABLE)
def test_the_container_does_not_change_the_model(kind):
    assert np.array_equal(scores(SAME_TABLE[kind]), scores(FRAME))


MISSING = {
    "None among objects": pd.Series([None, *SIGNAL[1:]], dtype=object),
    "NA among objects": pd.Series([pd.NA, *SIGNAL[1:]], dtype=object),
    "Decimal NaN": pd.Series([Decimal("NaN"), *map(Decimal, SIGNAL[1:].tolist())], dtype=object),
    "NA": pd.array([pd.NA, *SIGNAL[1:]], dtype="Float64"),
}


@pytest.mark.parametrize("kind", MISSING)
def test_every_sign_for_missing_is_one(kind):
    expected = scores(pd.DataFrame({"a": [np.nan, *SIGNAL[1:]]}))
    assert np.array_equal(scores(pd.DataFrame({"a": MISSING[kind]})), expected)


@pytest.mark.parametrize("column", [np.nan, None, 3, "", pd.NA], ids=repr)
def test_a_column_without_information_changes_nothing(column):
    grown = {"pruning": None, "shrinkage": 9.0}  # folds are keyed by all columns
    assert np.array_equal(scores(FRAME.assign(z=column), **grown), scores(FRAME, **grown))


def test_an_empty_polars_column_changes_nothing():
    frame = pl.DataFrame(FRAME.to_dict("list")).with_columns(z=pl.lit(None))
    grown = {"pruning": None, "shrinkage": 9.0}
    assert np.array_equal(scores(frame, **grown), scores(FRAME, **grown))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("nothing", [None, np.nan])
def test_a_row_that_is_all_missing_is_scored(frame, nothing):
    model = TreeRank(pruning=None).fit(MIXED, Y)
    assert np.isfinite(model.score_samples(frame({name: [nothing] for name in MIXED}))).all()


def test_huge_and_tiny_numbers_are_ranked_without_a_warning():
    for x in (1.7e308 * np.tanh(SIGNAL), 5e-320 * SIGNAL, 3e38 * np.tanh(SIGNAL).astype("f4")):
        table = np.column_stack([x, -x])
        model = LeafRank().fit(table, Y)
        assert model.score(table, Y) > 0.65
        assert not model._binning.has_missing.any()


NUMBERS_AS_TEXT = {
    "? for missing": ["?" if i % 7 == 0 else f"{v:.2f}" for i, v in enumerate(SIGNAL)],
    "thousands": [f"{round(1000 * v):,}" for v in SIGNAL],
}

MESSAGES = {
    "? for missing": r"is taken as a category: 'amount' \(\d+ levels, all but '\?'\)",
    "thousands": r"'amount' \(\d+ levels in 300 rows\)\..* Numbers are text in 'amount'",
}


@pytest.mark.parametrize("kind", NUMBERS_AS_TEXT)
def test_numbers_read_as_text_get_a_warning(kind):
    frame = FRAME.assign(amount=NUMBERS_AS_TEXT[kind])
    with pytest.warns(UserWarning, match=MESSAGES[kind]):
        TreeRank().fit(frame, Y)


def test_a_column_of_codes_that_is_named_a_category_gets_no_warning():
    code = (1_000 + np.arange(N) % 40).astype(str)
    TreeRank(categorical_features=["code"]).fit(FRAME.assign(code=code), Y)
    TreeRank().fit(FRAME.assign(code=pd.Categorical(code)), Y)


def test_a_mixed_column_that_is_named_a_category_is_one():
    mixed = pd.Series([1, "one", None] * (N // 3), dtype=object)
    model = TreeRank(categorical_features=["m"], pruning=None).fit(FRAME.assign(m=mixed), Y)
    assert model._binning.levels[2] == [1, "one"]


BAD_COLUMNS = {
    "days": (
        [date(2020, 1, 1)] * N,
        r"values of type date in 300 of 300 rows \(first: row 0, datetime.date\(2020, 1, 1\)\); "
        r"expected numbers, text, booleans or categories. Turn it into a number \(for a date: days",
    ),
    "lists": ([[1]] * N, r"neither numbers nor text .* \(first: row 0, \[1\]\)"),
    "beyond doubles": ([10**400] + [1] * (N - 1), "beyond the largest double"),
    "complex": (np.ones(N) * 1j, "has type complex128"),
    "periods": (pd.period_range("2020", periods=N, freq="D"), r"has type period\[D\]"),
    "sparse": (pd.arrays.SparseArray([0.0] * N), r"has type Sparse.* Call \.sparse\.to_dense\(\)"),
}


@pytest.mark.parametrize("kind", BAD_COLUMNS)
def test_unusable_columns_are_named(kind):
    values, message = BAD_COLUMNS[kind]
    column = pd.Series(values, dtype=object if isinstance(values, list) else None)
    refused("Column 'c' has .*" + message.removeprefix("has "), FRAME.assign(c=column))


def test_unusable_containers_are_refused_with_the_remedy():
    refused(
        "LazyFrame; expected a table: call collect", pl.LazyFrame({"a": SIGNAL}), error=TypeError
    )
    refused("type dict; expected a table. Pass pandas.DataFrame", {"a": SIGNAL}, error=TypeError)
    refused("a list of dict; expected a table", [{"a": x} for x in SIGNAL], error=TypeError)
    refused("type Series, .*; expected a table .* table.iloc", pd.Series(SIGNAL))
    refused("type Series, .*; expected a table", pl.Series(SIGNAL))
    refused("fields 'a', 'b'; .* Pass pandas.DataFrame", np.zeros(N, [("a", float), ("b", float)]))
    refused("Column 'x0' has values of type date", np.full((N, 1), date(2020, 1, 1), dtype=object))
    refused("type str", "loans.csv", error=TypeError)
    refused("masked array", np.ma.masked_array(FRAME))
    refused(r"RecordBatch; .*Table.from_batches", pa.record_batch({"a": SIGNAL}), error=TypeError)
    twice = pa.Table.from_arrays([pa.array(SIGNAL)] * 2, names=["a", "a"])
    refused("Got 2 columns named 'a'; expected unique", twice)
    refused("array of dates", np.full((N, 1), np.datetime64("2020-01-01")))
    refused("70,000 features", np.zeros((4, 70_000)), Y[:4])


@pytest.mark.parametrize("make", [lambda tree: tree, GeometricRanker])
def test_a_row_that_is_no_table_is_refused_with_the_remedy(make):
    model = make(TreeRank(soft_labels=False).fit(FRAME, Y)).fit(FRAME, Y)
    with pytest.raises(ValueError, match=r"Got X of type Series, .* table.iloc\[\[0\]\] for a row"):
        model.score_samples(FRAME.iloc[0])
    with pytest.raises(
        TypeError, match=r"Got X of type dict; .*DataFrame\(\[X\]\) if it is one row"
    ):
        model.predict(FRAME.iloc[0].to_dict())


SAME_LABELS = {
    "objects": Y.astype(object),
    "boolean objects": pd.Series(Y.astype(bool), dtype=object),
    "category of numbers": pd.Series(pd.Categorical(Y)),
    "unused category": pd.Categorical(np.where(Y, "v", "u"), categories=["w", "v", "u"]),
    "nullable": pd.Series(Y, dtype="Int64"),
    "polars category": pl.Series(np.where(Y, "v", "u"), dtype=pl.Categorical),
    "polars enum": pl.Series(np.where(Y, "v", "u").tolist(), dtype=pl.Enum(["u", "v"])),
    "pyarrow": pa.chunked_array([pa.array(Y)]),
    "the word nan": np.where(Y, "nan", "id").astype(object),
}


@pytest.mark.parametrize("kind", SAME_LABELS)
def test_the_form_of_the_labels_does_not_change_the_model(kind):
    labels = SAME_LABELS[kind]
    assert np.array_equal(scores(FRAME, labels), scores(FRAME))
    model = TreeRank().fit(FRAME, labels)
    assert model.score(FRAME, labels) == TreeRank().fit(FRAME, Y).score(FRAME, Y)


def test_masked_labels_and_weights_are_missing():
    hidden = np.arange(N) % 10 == 3
    said = r"missing labels in 30 of 300 rows \(first: row 3\)"
    refused(said, y=np.ma.masked_array(Y, mask=hidden))
    refused(r"sample_weight\[3\]=nan", sample_weight=np.ma.masked_array(np.ones(N), mask=hidden))
    bare = np.ma.masked_array(Y)
    assert np.array_equal(scores(FRAME, bare, np.ma.masked_array(Y + 1)), scores(FRAME, Y, Y + 1))
    labels = pd.Series(pd.Categorical(np.where(Y, "v", "u")))
    refused(said, y=labels.mask(hidden))


def test_labels_the_model_does_not_know_are_not_scored():
    model = TreeRank().fit(FRAME, Y)
    with pytest.raises(ValueError, match=r"Got the label 'yes'; expected labels among \[0, 1\]"):
        model.score(FRAME, np.where(Y, "yes", "no"))


def test_huge_and_tiny_weights_are_relative():
    weight = rng.random(N)
    expected = scores(FRAME, sample_weight=weight)
    for power in (1000, -1000, 1023):  # exact in doubles
        assert np.array_equal(scores(FRAME, sample_weight=np.ldexp(weight, power)), expected)
    assert np.isfinite(scores(FRAME, sample_weight=weight * 1e-320)).all()
    assert np.isfinite(scores(FRAME, sample_weight=rng.integers(1, 2**40, N))).all()


def test_the_form_of_the_weights_does_not_matter():
    weight = rng.random(N)
    expected = scores(FRAME, sample_weight=weight)
    for form in (weight.tolist(), weight.astype(object), pl.Series(weight),
                 pd.Series(weight, index=rng.permutation(N))):  # fmt: skip
        assert np.array_equal(scores(FRAME, sample_weight=form), expected)
    for bad in (["a"] * N, {"a": 1}, np.ones(N) * 1j, np.full(N, np.datetime64("2020-01-01"))):
        refused("does not hold numbers", sample_weight=bad)


def test_parameters_beyond_the_core_are_limits_like_others():
    expected = scores(FRAME)
    assert np.array_equal(scores(FRAME, n_jobs=10**12), expected)
    deep = scores(FRAME, max_depth=10**12, pruning=None)
    assert np.array_equal(deep, scores(FRAME, max_depth=None, pruning=None))


def test_unusable_parameters_are_named():
    refused("Got random_state=Generator", random_state=np.random.default_rng(0))
    refused("Got random_state=-1; expected None, an integer from 0", random_state=-1)
    for model in (TreeRank, RankingForest, BoostedTreeRank):
        for verbose in ("x", None, -1, 2.5):
            with pytest.raises(ValueError, match=r"Got verbose=.*; expected an integer >= 0"):
                model(verbose=verbose).fit(FRAME, Y)
    for order in (5, True, "01", [[0], [1]]):
        refused(r"Got label_order=.*; expected every class once", label_order=order)
    refused("set monotonic_cst on TreeRank", splitter=LeafRank(monotonic_cst=np.array([1, 0])))


KINDS_AT_PREDICT = {
    "booleans as text": {"d": MIXED["d"].astype(str)},
    "text as numbers": {"c": np.arange(N)},
}


@pytest.mark.parametrize("kind", KINDS_AT_PREDICT)
def test_levels_of_another_kind_are_refused_not_taken_as_unseen(kind):
    model = TreeRank().fit(MIXED, Y)
    with pytest.raises(ValueError, match=r"has values such as .*; expected .* categories"):
        model.predict(MIXED.assign(**KINDS_AT_PREDICT[kind]))


def test_tables_of_a_few_rows():
    refused("one class only", [[1.0]], [0])
    with pytest.warns(UserWarning, match="single row of class 'no'"):
        model = TreeRank(min_samples_leaf=1).fit([[0.0], [1.0]], ["no", "yes"])
    assert model.predict([[0.0], [1.0]]).tolist() == ["no", "yes"]
    assert len(TreeRank().fit(np.ones((4, 3)), [0, 1, 0, 1]).partition_) == 1


def test_one_in_ten_thousand_is_found():
    x = np.zeros((20_002, 2))
    x[:2, 1] = 1.0
    y = np.arange(20_002) < 2
    assert LeafRank().fit(x, y).score(x, y) == 1.0
    assert np.isfinite(TreeRank().fit(x, y).score_samples(x)).all()


def test_tools_of_scikit_learn_take_the_estimator():
    scaled = make_column_transformer((StandardScaler(), ["a"]), remainder="passthrough")
    pipeline = make_pipeline(scaled.set_output(transform="pandas"), TreeRank()).fit(MIXED, Y)
    assert np.array_equal(pipeline.decision_function(MIXED), scores(MIXED))
    grid = {"splitter__max_depth": [1, 2], "one_standard_error": np.array([True, False])}
    search = GridSearchCV(TreeRank(LeafRank()), grid, cv=2, error_score="raise").fit(MIXED, Y)
    assert search.best_score_ > 0.7
    proba = cross_val_predict(TreeRank(), MIXED, Y, method="predict_proba")
    assert np.allclose(proba.sum(axis=1), 1)
    assert CalibratedClassifierCV(TreeRank(), cv=2).fit(MIXED, Y).score(MIXED, Y) > 0.6
    importance = permutation_importance(TreeRank().fit(MIXED, Y), MIXED, Y, n_repeats=2)
    assert importance.importances_mean.argmax() == 0
    assert BaggingClassifier(TreeRank(), n_estimators=3).fit(FRAME, Y).score(FRAME, Y) > 0.6
    assert StackingClassifier([("tree", TreeRank())], cv=2).fit(MIXED, Y).score(MIXED, Y) > 0.6


def test_joblib_and_pickle_keep_model_and_partition():
    model = TreeRank().fit(MIXED, Y)
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    assert np.array_equal(joblib.load(file).score_samples(MIXED), model.score_samples(MIXED))
    concave = model.partition_.reorder_concave()
    assert pickle.loads(pickle.dumps(concave)).rules() == concave.rules()


def test_a_partition_refuses_what_is_no_score_and_no_weight():
    with pytest.raises(ValueError, match="best cell first"):
        OrderedPartition([[1, 1], [1, 1]], scores=[np.nan, 1])
    with pytest.raises(ValueError, match="Got smoothing=-1"):
        OrderedPartition([[1, 1]]).posterior(-1)
