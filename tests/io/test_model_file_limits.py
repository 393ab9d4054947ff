"""Model files at their limits: odd models come back, hostile files cost little, save makes sure."""

import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import saved_models
from mutations import open_file
from saved_models import come_back
from sklearn.tree import DecisionTreeClassifier

import treerank
from treerank import (
    BoostedTreeRank,
    GeometricRanker,
    LeafRank,
    ModelFileError,
    RankingForest,
    TreeRank,
)


@pytest.mark.parametrize(
    "model",
    [BoostedTreeRank(n_estimators=3), RankingForest(n_estimators=2, warm_start=True)],
    ids=["boosted", "warm forest"],
)
def test_ensembles_on_more_than_a_thousand_columns_come_back(model, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 1_050))
    come_back(model.fit(X, X[:, 0] + rng.normal(size=120) > 0), X, tmp_path)


def test_a_zip_has_no_more_members_than_a_reader_takes(tmp_path, monkeypatch):
    X, y = saved_models.numbers(300, 12)
    model = BoostedTreeRank(n_estimators=3).fit(X, y)
    treerank.save(model, tmp_path / "whole")
    for most in (2, 5, 9):
        monkeypatch.setattr("treerank._io.model_file._containers.MAX_MEMBERS", most)
        come_back(model, X, tmp_path)
        with zipfile.ZipFile(tmp_path / "model") as archive:
            assert len(archive.namelist()) <= most
        with pytest.raises(ModelFileError, match=f"over {most} members"):
            treerank.load(tmp_path / "whole")


def missing_tells():
    """A tree of scikit-learn that parts missing values from all others: at infinity."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] > 0
    X[rng.random(300) < 0.3, 1] = np.nan
    y |= np.isnan(X[:, 1])
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    assert np.isinf(tree.tree_.threshold).any()
    return tree, X


@pytest.mark.parametrize("ranking", ["global", "local"])
def test_a_geometric_ranker_with_an_infinite_threshold_comes_back(tmp_path, ranking):
    tree, X = missing_tells()
    model = GeometricRanker(tree, ranking=ranking).fit(X)
    again = come_back(model, X, tmp_path)
    np.testing.assert_array_equal(again.distance(X), model.distance(X))


@pytest.mark.parametrize("tree", [DecisionTreeClassifier(max_depth=3), LeafRank(max_depth=3)])
def test_a_geometric_ranker_of_boolean_columns_comes_back(tmp_path, tree):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.random(300) < 0.5, "b": rng.random(300) < 0.5})
    X["c"] = rng.normal(size=300)
    y = (X["a"] ^ (rng.random(300) < 0.1)) | (X["c"] > 1)
    model = GeometricRanker(tree).fit(X, y)
    again = come_back(model, X, tmp_path)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_tree_of_scikit_learn_reads_every_column_as_before_it_was_saved(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "flag": pd.array(rng.random(300) < 0.5, dtype="boolean"),
            "grade": pd.Categorical(rng.integers(0, 4, 300)),
            "text": rng.normal(size=300).round(2).astype(str),
        }
    )
    X.loc[::9, "flag"] = pd.NA
    y = (X["grade"].astype(int) + X["text"].astype(float) > 2).astype(int)
    come_back(GeometricRanker(DecisionTreeClassifier(max_depth=4)).fit(X, y), X, tmp_path)


def test_names_keep_their_brackets_and_blanks(tmp_path):
    X, y = saved_models.numbers(p=3)
    names = ["income [k   EUR]", "size [\u00a0m\u2003]", "[1,  2]"]
    table = pd.DataFrame(X, columns=names)
    again = come_back(TreeRank().fit(table, y), table, tmp_path)
    assert again.feature_names_in_.tolist() == names


@pytest.fixture
def old_file(tmp_path):
    """A file that a save that fails must leave as it is."""
    path = tmp_path / "model"
    path.write_bytes(b"old")
    yield path
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_could_not_be_loaded_is_not_saved(old_file):
    model, _ = saved_models.fitted("tree")
    model.tree_ = replace(model.tree_, counts=-model.tree_.counts)
    with pytest.raises(ValueError, match=r"Got a TreeRank that a model file cannot hold: it could "
                       r"not be loaded again \(.*at least 0\.0\)\. Keep"):  # fmt: skip
        treerank.save(model, old_file)


def test_what_would_come_back_otherwise_is_not_saved(old_file, monkeypatch):
    model, _ = saved_models.fitted("tree")
    unpack = treerank._io.model_file._files.PACKERS["TreeRank"][1]

    def forget(node, again):
        unpack(node, again)
        again.shrinkage_ += 1.0

    pack = treerank._io.model_file._files.PACKERS["TreeRank"][0]
    monkeypatch.setitem(treerank._io.model_file._files.PACKERS, "TreeRank", (pack, forget))
    with pytest.raises(ValueError, match=r"what is at \.fitted\.shrinkage would not come back"):
        treerank.save(model, old_file)


LOAD = """
import sys, treerank
for path in sys.argv[1:]:
    try:
        treerank.load(path)
    except treerank.ModelFileError as error:
        print(error)
"""


@pytest.mark.skipif(os.name == "nt", reason="pipes of Unix")
def test_nothing_is_waited_for_or_searched_without_end(tmp_path):
    hostile = tmp_path / "hostile"
    # Starts of strings without an end: each was searched to the end of the file.
    hostile.write_bytes(b'{"a": "' + b'\\"' * 500_000)
    os.mkfifo(tmp_path / "pipe")
    # In a process of its own, so that a hang is an error.
    arguments = [sys.executable, "-c", LOAD, str(hostile), str(tmp_path / "pipe"), "/dev/zero"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=120)
    string, pipe, zero = done.stdout.splitlines()
    assert "Unterminated string" in string
    assert pipe == f"{tmp_path / 'pipe'}: Got a device, a pipe or a socket; expected a file."
    assert zero == "/dev/zero: Got a device, a pipe or a socket; expected a file."


DEEP = b"[" * 50 + b"]" * 50
JSON = {
    "brackets in text": (b'{"a": "' + DEEP + b'"}', 1),
    "an escaped quote": (b'{"a": "\\"' + DEEP + b'"}', 1),
    "an escaped backslash": (b'{"a": "\\\\", "b": ' + DEEP + b"}", 51),
    "three backslashes": (b'{"a": "\\\\\\"' + DEEP + b'"}', 1),
    "four backslashes": (b'{"a": "\\\\\\\\", "b": ' + DEEP + b"}", 51),
    "other escapes": (b'{"a": "\\n\\u0022\\/[", "b": [[]]}', 3),
    "side by side": (b'{"a": [' + b"[]," * 100 + b"[]]}", 3),
    "nothing": (b"", 0),
}


@pytest.mark.parametrize("block", [1, 3, 1 << 20])
@pytest.mark.parametrize("kind", JSON)
def test_the_depth_of_json_is_that_outside_of_strings(monkeypatch, kind, block):
    monkeypatch.setattr("treerank._io.model_file._containers.SCAN_BYTES", block)
    raw, depth = JSON[kind]
    assert treerank._io.model_file._containers._depth(raw) == depth
    if raw:
        json.loads(raw)


@pytest.fixture
def unpacked(monkeypatch):
    """Bytes that were unpacked from each member."""
    found = {}
    read = zipfile.ZipExtFile.read

    def count(self, n=-1):
        data = read(self, n)
        found[self.name] = found.get(self.name, 0) + len(data)
        return data

    monkeypatch.setattr(zipfile.ZipExtFile, "read", count)
    return found


def test_a_document_that_is_too_long_is_not_unpacked(tmp_path, unpacked):
    with zipfile.ZipFile(tmp_path / "bomb", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", b"{" + b" " * 40_000_000 + b"}")
    assert (tmp_path / "bomb").stat().st_size < 50_000
    with pytest.raises(ModelFileError, match="40,000,002 bytes of JSON; expected at most"):
        treerank.load(tmp_path / "bomb")
    assert unpacked == {}


def test_an_array_of_another_shape_or_type_is_not_unpacked(tmp_path, unpacked):
    model, _ = saved_models.fitted("forest")
    treerank.save(model, tmp_path / "model")
    document, members = open_file((tmp_path / "model").read_bytes())
    for change in ({"shape": [10_000_000]}, {"dtype": "<f8", "shape": [5_000_000]}):
        document["fitted"]["trees"]["step"].update(change)
        members["fitted.trees.step.bin"] = bytes(40_000_000)
        with zipfile.ZipFile(tmp_path / "bomb", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("model.json", json.dumps(document))
            for name, data in members.items():
                archive.writestr(name, data)
        unpacked.clear()
        with pytest.raises(ModelFileError, match=r"at \.fitted\.trees\.step; expected the"):
            treerank.load(tmp_path / "bomb")
        assert "fitted.trees.step.bin" not in unpacked
        assert unpacked["fitted.trees.feature.bin"] > 0


def test_a_large_text_is_refused_before_it_is_read(tmp_path):
    (tmp_path / "large").write_bytes(b"{" + b" " * 1_000_000)
    with pytest.raises(ModelFileError, match="1,000,001 bytes of JSON; expected at most 62,500"):
        treerank.load(tmp_path / "large", max_bytes=2_000_000)
