"""A loaded model is the saved one; what cannot be saved is refused."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest
import saved_models
from saved_models import FORESTS, NAMES, TREES, fitted, loans
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import treerank
from treerank import GeometricRanker, RankingForest, TreeRank
from treerank.inspection import explain, partial_dependence
from treerank.splitters import DyadicGrid


@pytest.mark.parametrize("name", NAMES)
def test_a_loaded_model_scores_as_the_saved_one_to_the_bit(saved, name):
    model, rows, path = saved(name)
    again = treerank.load(path)
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.score_samples(rows), model.score_samples(rows))
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    assert again.predict(rows).dtype == model.predict(rows).dtype
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    if hasattr(model, "apply"):
        np.testing.assert_array_equal(again.apply(rows), model.apply(rows))


@pytest.mark.parametrize("name", NAMES)
def test_parameters_and_fitted_attributes_come_back(saved, name):
    model, _, path = saved(name)
    again = treerank.load(path)
    expected = model.get_params(deep=False)
    assert set(again.get_params(deep=False)) == set(expected)
    for parameter in set(expected) - ARRAYS_OF_A_TREE.get(name, set()):
        assert same(getattr(again, parameter), expected[parameter]), parameter
    public = {n for n in vars(model) if n.endswith("_") and not n.startswith("_")}
    assert {n for n in vars(again) if n.endswith("_") and not n.startswith("_")} == public
    parts = {"tree_", "unpruned_tree_", "partition_"}
    for attribute in public - parts:
        assert same(getattr(again, attribute), getattr(model, attribute)), attribute
    if hasattr(model, "feature_importances_"):
        np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)


# A tree of scikit-learn comes back as the mapping of its arrays.
ARRAYS_OF_A_TREE = {"geometric_cart": {"tree"}, "geometric_arrays": {"tree"}}


def same(a, b):
    if isinstance(a, BaseEstimator) and not hasattr(a, "scale_"):
        return type(a) is type(b) and same(a.get_params(deep=False), b.get_params(deep=False))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if hasattr(a, "__dataclass_fields__"):
        return all(same(getattr(a, f), getattr(b, f)) for f in a.__dataclass_fields__)
    if hasattr(a, "scale_"):
        return same(a.mean_, b.mean_) and same(a.scale_, b.scale_) and same(a.var_, b.var_)
    return a is b or a == b or bool(np.isnan(a) and np.isnan(b))


@pytest.mark.parametrize("name", TREES)
def test_strata_rules_explanations_and_dependence_come_back(saved, name):
    model, rows, path = saved(name)
    again = treerank.load(path)
    pd.testing.assert_frame_equal(again.partition_.to_frame(), model.partition_.to_frame())
    assert explain(again, rows.head(10)) == explain(model, rows.head(10))
    for feature in ("income", ("income", "home")):
        np.testing.assert_array_equal(
            partial_dependence(again, rows, feature).average,
            partial_dependence(model, rows, feature).average,
        )
    for tree in ("tree_", "unpruned_tree_"):
        if hasattr(model, tree):
            np.testing.assert_array_equal(getattr(again, tree).cells, getattr(model, tree).cells)


def test_a_warm_forest_goes_on_after_loading(saved):
    _, rows, path = saved("warm_forest")
    X, y = loans()
    again = treerank.load(path).set_params(n_estimators=6).fit(X, y)
    straight = RankingForest(n_estimators=6).fit(X, y)
    np.testing.assert_array_equal(again.score_samples(rows), straight.score_samples(rows))
    _, rows, path = saved("warm_grid_forest")
    again = treerank.load(path).set_params(n_estimators=4).fit(X, y)
    straight = RankingForest(DyadicGrid(), n_estimators=4, aggregation="mean_rank").fit(X, y)
    np.testing.assert_array_equal(again.score_samples(rows), straight.score_samples(rows))


@pytest.mark.parametrize("name", saved_models.GRID_TREES)
def test_a_tree_split_by_grids_keeps_its_cells_and_strata(saved, name):
    model, _, path = saved(name)
    again = treerank.load(path)
    pd.testing.assert_frame_equal(again.partition_.to_frame(), model.partition_.to_frame())
    for tree in ("tree_", "unpruned_tree_"):
        np.testing.assert_array_equal(getattr(again, tree).cells, getattr(model, tree).cells)
        np.testing.assert_array_equal(getattr(again, tree).counts, getattr(model, tree).counts)


@pytest.mark.parametrize("name", [*saved_models.GEOMETRIC, *saved_models.GEOMETRIC_NUMBERS])
def test_a_geometric_ranker_keeps_distances_and_boundary_points(saved, name):
    model, rows, path = saved(name)
    again = treerank.load(path)
    np.testing.assert_array_equal(again.distance(rows), model.distance(rows))
    assert again.boundary_point(rows).in_words() == model.boundary_point(rows).in_words()
    np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))


def test_a_tree_of_scikit_learn_comes_back_as_arrays_that_can_be_fitted_again(saved):
    model, rows, path = saved("geometric_cart")
    again = treerank.load(path)
    assert again.tree is again.tree_
    np.testing.assert_array_equal(again.tree["threshold"], model.tree.tree_.threshold)
    X, _ = saved_models.numbers()
    np.testing.assert_array_equal(
        clone(again).fit(X).score_samples(rows), model.score_samples(rows)
    )
    unfitted = treerank.load(saved("geometric_unfitted_cart")[2]).tree
    assert isinstance(unfitted, DecisionTreeClassifier)
    assert not hasattr(unfitted, "tree_")


def test_names_missing_values_and_text_classes_of_a_scikit_learn_tree_come_back(tmp_path):
    X, y = saved_models.numbers()
    X[::7, 0] = np.nan
    table = pd.DataFrame(X, columns=list("abcd"))
    tree = DecisionTreeClassifier(max_depth=3).fit(table, np.array(["no", "yes"])[y])
    model = GeometricRanker(tree, class_of_interest="no").fit(table)
    again = saved_models.come_back(model, table, tmp_path)
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
    assert again.boundary_point(table[:5]).in_words() == model.boundary_point(table[:5]).in_words()
    with pytest.raises(ValueError, match="feature names"):
        again.score_samples(table[list("bacd")])


def test_the_same_model_gives_the_same_bytes(saved, tmp_path):
    for name in ("tree", "forest", "svm", "boosted", "grid_forest", "geometric_cart"):
        model, _, path = saved(name)
        treerank.save(model, tmp_path / name)
        assert (tmp_path / name).read_bytes() == path.read_bytes()
        treerank.save(treerank.load(path), tmp_path / name)
        assert (tmp_path / name).read_bytes() == path.read_bytes()


def test_trees_are_json_and_forests_are_zips(saved):
    assert all(json.loads(saved(n)[2].read_bytes())["format_number"] == 1 for n in TREES)
    assert all(zipfile.is_zipfile(saved(n)[2]) for n in [*FORESTS, *saved_models.BOOSTED])


LABELS = {
    "text": (np.array(["no", "yes"]), "<U3"),
    "objects": (np.array(["no", "yes"], dtype=object), object),
    "booleans": (np.array([False, True]), bool),
    "floats": (np.array([-1.0, 1.0]), float),
    "bytes": (np.array([0, 1], dtype=np.uint8), np.uint8),
}


@pytest.mark.parametrize("kind", LABELS)
def test_class_labels_keep_their_type(kind, tmp_path):
    X, y = saved_models.numbers()
    labels, dtype = LABELS[kind]
    model = TreeRank().fit(X, labels[y])
    treerank.save(model, tmp_path / "model")
    again = treerank.load(tmp_path / "model")
    assert again.classes_.dtype == model.classes_.dtype == dtype
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_table_without_names_and_one_with_numbers_for_names_come_back(tmp_path):
    X, y = saved_models.numbers()
    for table in (X, pd.DataFrame(X), X.astype(np.float32)):
        model = TreeRank().fit(table, y)
        treerank.save(model, tmp_path / "model")
        again = treerank.load(tmp_path / "model")
        assert again.partition_.rules() == model.partition_.rules()
        assert hasattr(again, "feature_names_in_") == hasattr(model, "feature_names_in_")


def test_levels_of_every_kind_and_shared_codes_come_back(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "many": pd.Categorical([f"level {v}" for v in rng.integers(0, 600, 3000)]),
            "mixed": pd.Series(rng.choice(np.array([1, "one", 2.5], dtype=object), 3000)),
            "flag": rng.random(3000) < 0.5,
        }
    )
    y = (X["many"].cat.codes % 7 + X["flag"] + rng.normal(size=3000) > 3).astype(int)
    names = np.array(["many", "mixed", "flag"])
    model = TreeRank(categorical_features=names, categories="levels").fit(X, y)
    treerank.save(model, tmp_path / "model")
    again = treerank.load(tmp_path / "model")
    assert again._binning.levels == model._binning.levels
    assert isinstance(again._binning.levels[0][-1], tuple)
    np.testing.assert_array_equal(again.score_samples(X), model.score_samples(X))
    np.testing.assert_array_equal(again.categorical_features, model.categorical_features)


def test_parameters_that_are_lists_tuples_dicts_arrays_and_odd_numbers_come_back(tmp_path):
    X, y = saved_models.numbers()
    model = TreeRank(
        penalty_bounds=(0.25, np.float64(0.5)), monotonic_cst=np.array([1, 0, 0, -1]),
        cv=np.int64(3), min_auc_gain=1e-300,
    ).fit(X, y)  # fmt: skip
    treerank.save(model, tmp_path / "model")
    again = treerank.load(tmp_path / "model")
    assert again.penalty_bounds == (0.25, 0.5)
    assert isinstance(again.penalty_bounds, tuple)
    np.testing.assert_array_equal(again.monotonic_cst, model.monotonic_cst)
    assert again.monotonic_cst.dtype == model.monotonic_cst.dtype
    assert (again.cv, again.min_auc_gain) == (3, 1e-300)


def test_a_tree_split_by_a_classifier_is_refused_with_the_remedy(tmp_path):
    X, y = saved_models.numbers()
    models = [
        TreeRank(LogisticRegression(), cv=3),
        RankingForest(LogisticRegression(), n_estimators=2),
        TreeRank(lambda cell: DyadicGrid(cell.depth + 1), cv=3),
        GeometricRanker(make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2))),
    ]
    for model in models:
        with pytest.raises(ValueError, match=r"pickle or skops"):
            treerank.save(model.fit(X, y), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_parameters_that_are_code_are_refused_by_name(tmp_path):
    X, y = saved_models.numbers()
    for parameters in ({"cv": StratifiedKFold(3)}, {"random_state": np.random.RandomState(0)}):
        [name] = parameters
        with pytest.raises(ValueError, match=f"parameter {name} of TreeRank"):
            treerank.save(TreeRank(**parameters).fit(X, y), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_other_models_and_unfitted_ones_are_refused(tmp_path):
    with pytest.raises(
        TypeError, match=r"Got a LogisticRegression; expected one of TreeR.*pipeline\[-1\]"
    ):
        treerank.save(LogisticRegression(), tmp_path / "model")
    with pytest.raises(ValueError, match="not fitted"):
        treerank.save(TreeRank(), tmp_path / "model")
    with pytest.raises(FileNotFoundError):
        treerank.save(fitted("tree")[0], tmp_path / "nowhere" / "model")


def test_an_interrupted_save_leaves_the_old_file(tmp_path, monkeypatch):
    model, _ = fitted("forest")
    path = tmp_path / "model"
    treerank.save(model, path)
    before = path.read_bytes()

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(zipfile.ZipFile, "writestr", fail)
    with pytest.raises(KeyboardInterrupt):
        treerank.save(model, path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


def test_a_new_file_has_the_rights_of_any_new_file(tmp_path):
    (tmp_path / "other").write_text("")
    treerank.save(fitted("leafrank")[0], tmp_path / "model")
    assert (tmp_path / "model").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_odd_names_survive(tmp_path):
    X, y = saved_models.numbers()
    table = pd.DataFrame(X, columns=["größe", 'b"', "c\n", "<script>"])
    model = TreeRank().fit(table, np.array(["a", "half \ud800"], dtype=object)[y])
    treerank.save(model, tmp_path / "model")
    again = treerank.load(tmp_path / "model")
    assert again.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    assert again.classes_.tolist() == model.classes_.tolist()
