"""Model files: what comes back is what was saved, and nothing that is not sound comes back."""

import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import saved_models
from saved_models import FORESTS, NAMES, ON_NUMBERS, TREES, fitted, loans, new_rows
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import treerank
from treerank import GeometricRanker, ModelFileError, RankingForest, TreeRank, baselines
from treerank.inspection import explain, partial_dependence
from treerank.splitters import DyadicGrid

FIXTURES = Path(__file__).parents[1] / "fixtures" / "model_files"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Models by name, with rows and the path they were saved to."""
    folder = tmp_path_factory.mktemp("models")
    made = {}

    def get(name):
        if name not in made:
            model, rows = fitted(name)
            treerank.save(model, folder / name)
            made[name] = model, rows, folder / name
        return made[name]

    return get


# --- the round trip ---


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
    treerank.save(model, tmp_path / "model")
    again = treerank.load(tmp_path / "model")
    np.testing.assert_array_equal(again.score_samples(table), model.score_samples(table))
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


# --- what cannot be saved ---


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
    with pytest.raises(TypeError, match="Got a LogisticRegression; expected one of TreeRank"):
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


# --- what is not sound ---


def edited(path, out, change):
    """Write the document of a JSON model with one change."""
    document = json.loads(path.read_bytes())
    change(document)
    out.write_text(json.dumps(document))
    return out


def put(*keys, value):
    def change(document):
        at = document
        for key in keys[:-1]:
            at = at[key]
        at[keys[-1]] = value(at[keys[-1]]) if callable(value) else value

    return change


def put_item(i, item):
    def change(values):
        values = list(values)
        values[i] = item
        return values

    return change


TESTS = ("fitted", "tree", "tests")
CELLS = ("fitted", "tree", "cells")
BROKEN = {
    "another format": (put("format", value="pmml"), "expected a model file"),
    "a later format": (put("format_number", value=2), "Got format number 2"),
    "an unknown estimator": (put("estimator", value="os.system"), "expected 'TreeRank' or"),
    "an unknown parameter": (put("parameters", "fuse", value=1), "parameters of TreeRank only"),
    "an unknown field": (put("fitted", "extra", value=1), "unknown field 'extra'"),
    "a child that is no cell": (
        put(*CELLS, "right", "values", value=put_item(0, 10**6)), "preorder"),
    "a cycle of cells": (put(*CELLS, "left", "values", value=put_item(1, 0)), "preorder"),
    "a range of tests outside": (
        put(*CELLS, "last_test", "values", value=put_item(0, 10**6)), "do not divide the tests"),
    "a test that leads back": (put(*TESTS, "left", "values", value=put_item(0, 0)), "form trees"),
    "a test on no feature": (
        put(*TESTS, "feature", "values", value=put_item(0, 99)), "not there"),
    "a cut beyond the codes": (
        put(*TESTS, "cut", "values", value=put_item(0, 65535)), "not fit its feature|not there"),
    "a third side": (put(*TESTS, "side", "values", value=put_item(1, 2)), "form trees"),
    "an empty side": (
        put(*TESTS, "side", "values", value=lambda v: [0 if s == 1 else s for s in v]),
        "empty side"),
    "text in an array": (put(*TESTS, "cut", "values", value=put_item(0, "1")), "of type '<i4'"),
    "a fraction among integers": (
        put(*TESTS, "cut", "values", value=put_item(0, 1.5)), "of type '<i4'"),
    "an integer too large": (put(*TESTS, "cut", "values", value=put_item(0, 2**40)), "that fit"),
    "a shape that lies": (put(*TESTS, "feature", "shape", value=[3]), "as the shape says"),
    "a shape of another length": (put(*TESTS, "cut", "shape", value=[3]), "expected the shape"),
    "another type": (put(*TESTS, "cut", "dtype", value="<i8"), "expected the type '<i4'"),
    "an object array": (put(*TESTS, "cut", "dtype", value="|O"), "expected '|b1' or"),
    "thresholds out of order": (
        put("fitted", "binning", 0, "thresholds", "values", value=lambda v: v[::-1]), "ascending"),
    "a threshold that is NaN": (
        put("fitted", "binning", 0, "thresholds", "values", value=put_item(0, "NaN")), "finite"),
    "a level twice": (
        put("fitted", "binning", 2, "levels", value=lambda v: [v[0], *v[:-1]]), "all different"),
    "a level that is a list": (
        put("fitted", "binning", 2, "levels", value=put_item(0, [1])), "all different"),
    "categories that are numbers": (
        put("fitted", "binning", 2, value={
            "kind": "number", "missing": True,
            "thresholds": {"dtype": "<f8", "shape": [0], "values": []}}),
        "does not fit its feature"),
    "scores that rise": (
        put("fitted", "strata", "scores", "values", value=lambda v: v[::-1]), "do not increase"),
    "a share above one": (
        put("fitted", "strata", "posterior", "values", value=put_item(0, 1.5)), "at most 1"),
    "a stratum twice": (
        put("fitted", "strata", "cells", "values", value=lambda v: [v[0], *v[:-1]]), "each once"),
    "a class twice": (
        put("fitted", "classes", "values", value=lambda v: [v[0], v[0]]), "all different"),
    "a negative count": (
        put("fitted", "tree", "counts", "values", value=put_item(0, -1.0)), "at least 0"),
    "one name too few": (put("fitted", "features", "names", value=lambda v: v[1:]), "features"),
    "threads that are text": (put("parameters", "n_jobs", value="many"), "n_jobs"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_tree_is_refused(saved, tmp_path, kind):
    change, message = BROKEN[kind]
    path = edited(saved("tree")[2], tmp_path / "broken.json", change)
    with pytest.raises(ModelFileError, match=message) as caught:
        treerank.load(path)
    assert str(caught.value).startswith(str(path))
    assert isinstance(caught.value, ValueError)


ARRAYS = ("fitted", "tree", "arrays")
GRIDS = ("fitted", "tree", "grids")
BROKEN_OTHERS = {
    "a child that is no node": (
        "geometric_cart", put(*ARRAYS, "children_left", "values", value=put_item(0, 99)),
        "not there"),
    "a way back": (
        "geometric_cart", put(*ARRAYS, "children_right", "values", value=put_item(1, 0)),
        "two parents"),
    "a node with one child": (
        "geometric_cart", put(*ARRAYS, "children_left", "values", value=put_item(0, -1)),
        "one child only"),
    "a test of no feature": (
        "geometric_cart", put(*ARRAYS, "feature", "values", value=put_item(0, 4)), "feature 4"),
    "a tree without weight": (
        "geometric_unfitted_cart", put(*ARRAYS, "weighted_n_node_samples", "values",
        value=lambda v: [0] * len(v)), "some weight"),
    "a scale of zero": (
        "geometric_cart", put("fitted", "scale", "values", value=put_item(0, 0)), "above 0"),
    "another kind of tree": (
        "geometric_cart", put("fitted", "tree", value={"pickle": ""}), "one of j48, arrays"),
    "text that is no tree": (
        "geometric_j48", put("fitted", "tree", "j48", value="x" * 100), "without a test"),
    "a text of very many bars": (
        "geometric_j48", put("fitted", "tree", "j48", value="\n".join(
            "|   " * depth + "a <= 1" for depth in range(1500))), "fit together"),
    "a class of interest that is not there": (
        "geometric_frozen", put("parameters", "class_of_interest", value=7), "class_of_interest"),
    "cubes that do not ascend": (
        "grid_tree", put(*GRIDS, "cubes", "values", value=lambda v: v[::-1]), "ascend"),
    "a grid of too many bits": (
        "grid_tree", put(*GRIDS, "resolution", "values", value=put_item(0, 50)), "63 is the limit"),
    "a column that is not there": (
        "grid_tree", put(*GRIDS, "columns", "values", value=put_item(0, 99)), "at most"),
    "sizes that do not add up": (
        "grid_tree", put(*GRIDS, "n_cubes", "values", value=put_item(0, 2**39)), "add up to"),
    "one grid too few": (
        "grid_tree", put("fitted", "tree", "cells", "left", "values", value=put_item(0, -1)),
        "a grid for each"),
    "a median for a category": (
        "grid_tree", put("fitted", "encoding", "median", "values", value=put_item(2, 0.5)),
        "NaN for each category"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BROKEN_OTHERS)
def test_a_broken_grid_or_geometric_ranker_is_refused(saved, tmp_path, kind):
    name, change, message = BROKEN_OTHERS[kind]
    with pytest.raises(ModelFileError, match=message):
        treerank.load(edited(saved(name)[2], tmp_path / "broken.json", change))


def repacked(path, out, change):
    """Write the members of a zip again, after a change of the dict of them."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out


def in_array(member, dtype, i, value):
    def change(members):
        array = np.frombuffer(members[member], dtype=dtype).copy()
        array[i] = value
        members[member] = array.tobytes()

    return change


SLOTS = "fitted.trees."
BROKEN_FORESTS = {
    "a walk that leaves": (in_array(SLOTS + "next.bin", "<u4", 0, 10**6), "leaves its tree"),
    "a walk in a circle": (in_array(SLOTS + "next.bin", "<u4", 2, 0), "leaves its tree|not end"),
    "a feature that is not there": (in_array(SLOTS + "feature.bin", "<u2", 0, 9), "not there"),
    "an unknown kind": (in_array(SLOTS + "kind.bin", "|u1", 0, 9), "at most 3"),
    "a set that is not there": (
        in_array(SLOTS + "set.bin", "<i4", slice(None), 10**6), "not there"),
    "a step that is NaN": (in_array(SLOTS + "step.bin", "<f4", 0, np.nan), "finite"),
    "a member cut short": (
        lambda m: m.update({SLOTS + "step.bin": m[SLOTS + "step.bin"][:-4]}), "no unread member"),
    "a member that is missing": (lambda m: m.pop(SLOTS + "step.bin"), "no unread member"),
    "no document": (lambda m: m.pop("model.json"), "without model.json"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BROKEN_FORESTS)
def test_a_broken_forest_is_refused(saved, tmp_path, kind):
    change, message = BROKEN_FORESTS[kind]
    with pytest.raises(ModelFileError, match=message):
        treerank.load(repacked(saved("forest")[2], tmp_path / "broken", change))


OTHER_FILES = {
    "empty": b"",
    "text": b"hello",
    "a list": b"[1, 2]",
    "not JSON": b'{"format": ',
    "NaN": b'{"format": NaN}',
    "a field twice": b'{"format": 1, "format": 2}',
    "deep": b'{"format": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "not UTF-8": b'{"format": "\xff"}',
    "a pickle": b"\x80\x04K\x01.",
    "a zip's head": b"PK\x03\x04",
    "digits": b'{"format": ' + b"9" * 10_000 + b"}",
}


@pytest.mark.parametrize("kind", OTHER_FILES)
def test_other_files_are_refused(tmp_path, kind):
    path = tmp_path / "file"
    path.write_bytes(OTHER_FILES[kind])
    with pytest.raises(ModelFileError):
        treerank.load(path)


def test_a_file_that_is_not_there_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        treerank.load(tmp_path / "nothing")


def test_bombs_are_refused_before_they_go_off(saved, tmp_path, monkeypatch):
    bomb = tmp_path / "bomb"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", b"{" + b" " * 50_000_000 + b"}")
    with pytest.raises(ModelFileError, match="JSON; expected at most"):
        treerank.load(bomb)
    path = repacked(
        saved("forest")[2], tmp_path / "large", lambda m: m.update({"zeros": bytes(10_000_000)})
    )
    assert path.stat().st_size < 1_000_000
    treerank.load(path)
    with pytest.raises(ModelFileError, match="unpack to over 5,000,000"):
        treerank.load(path, max_bytes=5_000_000)
    many = tmp_path / "many"
    monkeypatch.setattr("treerank._io.model_file._containers.MAX_MEMBERS", 1_000)
    with zipfile.ZipFile(many, "w") as archive:
        for i in range(1_001):
            archive.writestr(str(i), b"")
    with pytest.raises(ModelFileError, match="over 1,000 members"):
        treerank.load(many)
    with pytest.raises(ModelFileError, match="pass a larger max_bytes"):
        treerank.load(saved("tree")[2], max_bytes=100)


def test_a_tree_that_would_grow_beyond_the_limit_is_refused(saved, monkeypatch):
    model, _, path = saved("geometric_tree")
    n_nodes = len(model._source.tree.nodes)
    monkeypatch.setattr("treerank._io.model_file._geometric.BYTES_OF_NODE", 2**20)
    treerank.load(path, max_bytes=2**20 * n_nodes)
    with pytest.raises(ModelFileError, match="too many boxes"):
        treerank.load(path, max_bytes=2**20 * n_nodes - 1)


def test_a_member_is_read_once_only(saved, tmp_path):
    def share(members):
        document = json.loads(members["model.json"])
        trees = document["fitted"]["trees"]
        trees["feature"]["member"] = trees["cut"]["member"]
        members["model.json"] = json.dumps(document).encode()

    with pytest.raises(ModelFileError, match="no unread member"):
        treerank.load(repacked(saved("forest")[2], tmp_path / "shared", share))


def test_odd_names_survive(tmp_path):
    X, y = saved_models.numbers()
    table = pd.DataFrame(X, columns=["größe", 'b"', "c\n", "<script>"])
    model = TreeRank().fit(table, np.array(["a", "half \ud800"], dtype=object)[y])
    treerank.save(model, tmp_path / "model")
    again = treerank.load(tmp_path / "model")
    assert again.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    assert again.classes_.tolist() == model.classes_.tolist()


# --- the published schema, and files of released versions ---


def test_files_follow_the_published_schema(saved):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(
        (Path(treerank.__file__).parent / "_io" / "model_file" / "model-1.schema.json").read_text()
    )
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    for name in NAMES:
        path = saved(name)[2]
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                document = json.loads(archive.read("model.json"))
        else:
            document = json.loads(path.read_bytes())
        errors = [f"{e.json_path}: {e.message[:100]}" for e in validator.iter_errors(document)]
        assert errors == [], name
        document["fitted"].pop("features")
        assert not validator.is_valid(document)


FILES = sorted(p for p in FIXTURES.glob("*/*") if not p.name.endswith(".scores.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_files_of_released_versions_give_the_scores_of_their_time(path):
    model = treerank.load(path)
    rows = saved_models.numbers(300, seed=1)[0] if path.name in ON_NUMBERS else new_rows()
    if path.name == "geometric_j48":
        rows = saved_models.known(rows)[0]
    recorded = json.loads(path.with_name(f"{path.name}.scores.json").read_text())
    scores = model.score_samples(rows)[:: recorded["every"]]
    if path.name in {"svm", "rls", "kernel_logistic", "ranknet", "linear_svm"}:
        # exp, tanh and matrix products round as the machine's libraries do.
        np.testing.assert_allclose(scores, recorded["scores"], rtol=1e-9, atol=1e-12)
    else:
        assert scores.tolist() == recorded["scores"]


def test_every_kind_of_model_has_a_fixture():
    assert {p.name for p in FILES} == set(NAMES)
    assert set(treerank._io.model_file._files.ESTIMATORS) == {
        "TreeRank", "LeafRank", "RankingForest", "BoostedTreeRank", "GeometricRanker",
        *baselines.__all__,
    }  # fmt: skip
    assert not re.search(r"pickle", "".join(p.name for p in FILES))
