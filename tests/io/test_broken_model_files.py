"""Broken and hostile model files are refused with the place that is wrong."""

import json
import zipfile

import numpy as np
import pytest

import treerank
from treerank import ModelFileError


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
        "child with the number 99"),
    "a child that is a node but for its upper bits": (
        "geometric_cart", put(*ARRAYS, "children_left", "values", value=put_item(0, 2**32 + 1)),
        "child with the number 4294967297"),
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


@pytest.mark.parametrize("n_bags", [0, -3, 2.5, 2**40, None])
def test_a_number_of_bags_that_cannot_be_is_refused(saved, tmp_path, n_bags):
    def change(members):
        document = json.loads(members["model.json"])
        document["parameters"]["n_bags"] = n_bags
        document["fitted"].pop("bags", None)
        document["fitted"].pop("bag_sizes", None)
        members["model.json"] = json.dumps(document).encode()

    with pytest.raises(ModelFileError, match="n_bags"):
        treerank.load(repacked(saved("boosted")[2], tmp_path / "broken", change))


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
