"""Kept codes: damage is found and mended, and files that change do not mislead."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import treerank
from treerank import TreeRank
from treerank._io import cache, parquet
from treerank._io.cache_checks import checksum, inspect_codes

pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.parquet as pq

N = 400


def loans(n=N, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "income": rng.normal(size=n),
            "age": rng.integers(18, 80, n).astype(float),
            "town": rng.choice(["Rome", "Oslo", "Bern"], n),
            "agent": [f"agent {i}" for i in rng.integers(0, 300, n)],
        }
    )
    frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    risk = frame["income"].fillna(0.5) + (frame["town"] == "Oslo") + rng.normal(size=n)
    frame["repaid"] = (risk < 0.4).astype(np.int8)
    frame["weight"] = rng.random(n).round(3) * (rng.random(n) < 0.9)
    return frame


def write(frame, path):
    """Files of tables of one shape have one size: neither packed nor with statistics."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    pq.write_table(
        table, path, compression="none", use_dictionary=False, write_statistics=False,
        data_page_size=1 << 30,
    )  # fmt: skip


def fit(path, cache_dir=None, weight="weight", **parameters):
    model = TreeRank(**{"cv": 3, "max_depth": 5, "random_state": 0, "max_bins": 64, **parameters})
    return model.fit_parquet(path, "repaid", sample_weight=weight, cache_dir=cache_dir)


def scores(model):
    return model.score_samples(loans(200, seed=1)[["income", "age", "town", "agent"]]).tolist()


@pytest.fixture
def rows(folder):
    """Path of a table; what is temporary must be gone at the end."""
    path = folder / "rows.parquet"
    write(loans(), path)
    return path


def in_bytes(name, change):
    def damage(folder):
        raw = bytearray((folder / name).read_bytes())
        (folder / name).write_bytes(bytes(change(raw)))

    return damage


def with_noise(raw):
    at = len(raw) // 2
    raw[at : at + 64] = np.random.default_rng(0).bytes(64)
    return raw


def in_rows(change):
    def damage(folder):
        arrays = dict(np.load(folder / "rows.npz"))
        change(arrays)
        np.savez(folder / "rows.npz", **arrays)

    return damage


def in_about(old, new):
    def damage(folder):
        text = (folder / "about.json").read_text()
        assert text.count(old) >= 1
        (folder / "about.json").write_text(text.replace(old, new, 1))

    return damage


def flip(raw, at=-1, bit=1):
    raw[at] ^= bit
    return raw


DAMAGE = {
    "noise in codes": in_bytes("codes.npy", with_noise),
    "one bit of a code": in_bytes("codes.npy", flip),
    "codes cut off": in_bytes("codes.npy", lambda raw: raw[:-100]),
    "codes too long": in_bytes("codes.npy", lambda raw: raw + raw[-10:]),
    "columns for rows": in_bytes(
        "codes.npy", lambda raw: raw.replace(b"'fortran_order': False", b"'fortran_order': True ")
    ),
    "another type of codes": in_bytes("codes.npy", lambda raw: raw.replace(b"|u1", b"|i1")),
    "noise in rows": in_bytes("rows.npz", with_noise),
    "rows cut off": in_bytes("rows.npz", lambda raw: raw[:-100]),
    "no rows": lambda folder: (folder / "rows.npz").unlink(),
    "shortened thresholds": in_rows(
        lambda arrays: arrays.update(thresholds_0=arrays["thresholds_0"][:5])
    ),
    "another label": in_rows(lambda arrays: arrays["labels"].__setitem__(3, 7)),
    "one label less": in_rows(lambda arrays: arrays.update(labels=arrays["labels"][:-1])),
    "another weight": in_rows(lambda arrays: arrays["units"].__setitem__(3, -(2**60))),
    "no weights": in_rows(lambda arrays: arrays.pop("units")),
    "another level": in_about('"Oslo"', '"Osla"'),
    "another class": in_about('"classes": [\n  0,', '"classes": [\n  5,'),
    "a list for a number": in_about('"given_rows": 400', '"given_rows": [400]'),
    "no description": in_bytes("about.json", lambda raw: raw[: len(raw) // 2]),
    "another thing": in_bytes("about.json", lambda _: b"[]"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_codes_are_made_anew_with_a_warning(rows, tmp_path, kind):
    expected = scores(fit(rows, tmp_path / "codes"))
    sound = {p.name: p.read_bytes() for p in (tmp_path / "codes").iterdir()}
    DAMAGE[kind](tmp_path / "codes")
    assert {p.name: p.read_bytes() for p in (tmp_path / "codes").iterdir()} != sound
    if kind == "codes too long":  # what is behind the codes is nobody's
        assert scores(fit(rows, tmp_path / "codes")) == expected
        return
    with pytest.warns(UserWarning, match=r"Got damaged codes in '.*codes' \(.+\); the files are"):
        assert scores(fit(rows, tmp_path / "codes")) == expected
    assert {p.name: p.read_bytes() for p in (tmp_path / "codes").iterdir()} == sound


def set_codes(j, i, code):
    def change(codes, arrays, about):
        codes[j, i] = code

    return change


def set_array(name, change_array):
    def change(codes, arrays, about):
        arrays[name] = change_array(arrays[name])

    return change


def changed_at(i, value):
    def change(array):
        array = array.copy()
        array[i] = value
        return array

    return change


# Damage that no checksum finds, as they were made again.
FORGED = {
    "codes beyond the thresholds": set_codes(0, 5, 255),
    "codes beyond the levels": set_codes(2, 5, 4),
    "thresholds cut short": set_array("thresholds_0", lambda cuts: cuts[:5]),
    "thresholds that fall": set_array("thresholds_0", lambda cuts: cuts[::-1].copy()),
    "thresholds that are NaN": set_array("thresholds_0", changed_at(3, np.nan)),
    "thresholds of a category": set_array("thresholds_2", lambda _: np.array([1.0])),
    "more thresholds than codes": set_array("thresholds_1", lambda _: np.arange(1000.0)),
    "labels of no class": set_array("labels", changed_at(3, 2)),
    "labels too few": set_array("labels", lambda labels: labels[1:]),
    "labels of another type": set_array("labels", lambda labels: labels.astype(np.int64)),
    "weights too few": set_array("units", lambda units: units[1:]),
    "weights of another type": set_array("units", lambda units: units.astype(float)),
    "rows that have weight": set_array("kept", lambda kept: kept[1:]),
    "sampled values too few": set_array("sample_1", lambda values: values[1:]),
    "their weights too few": set_array("sample_units", lambda units: units[1:]),
    "too many levels": lambda codes, arrays, about: about["levels"][2].extend(range(300)),
    "one flag less": lambda codes, arrays, about: about["has_missing"].pop(),
    "no classes": lambda codes, arrays, about: about["classes"].clear(),
}


def forge(folder, change):
    """Change kept codes, and make all checksums again."""
    codes = np.load(folder / "codes.npy")
    arrays = dict(np.load(folder / "rows.npz"))
    about = json.loads((folder / "about.json").read_text())
    del about["checksum"]
    change(codes, arrays, about)
    np.save(folder / "codes.npy", codes)
    np.savez(folder / "rows.npz", **arrays)
    about["checksums"] = {
        "codes": inspect_codes(codes, 1)[0],
        "rows": {name: checksum(array) for name, array in arrays.items()},
    }
    about["checksum"] = cache._checksum_of(about)
    (folder / "about.json").write_text(json.dumps(about))


@pytest.mark.parametrize("kind", FORGED)
def test_codes_that_do_not_fit_together_are_never_used(rows, tmp_path, kind):
    folder = tmp_path / "codes"
    expected = scores(fit(rows, folder))
    forge(folder, lambda *_: None)
    assert scores(fit(rows, folder)) == expected  # without a warning: it is the change that counts
    forge(folder, FORGED[kind])
    with pytest.warns(UserWarning, match="Got damaged codes"):
        assert scores(fit(rows, folder)) == expected


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_checksums_and_largest_codes_are_those_of_the_whole_feature(monkeypatch, n_jobs):
    monkeypatch.setattr("treerank._io.cache_checks.BLOCK_CODES", 7)
    codes = np.random.default_rng(0).integers(0, 300, (5, 40)).astype(np.uint16)
    found, largest = inspect_codes(codes, n_jobs)
    assert found == [checksum(row) for row in codes]
    assert largest == codes.max(axis=1).tolist()


def other_rows():
    frame = loans()
    return frame.assign(repaid=1 - frame["repaid"])


def test_a_file_rewritten_before_codes_are_kept_is_read_again(rows, tmp_path, monkeypatch):
    def rewrite_and_keep(*arguments):
        write(other_rows(), rows)
        cache.keep(*arguments)

    before = scores(fit(rows))
    with monkeypatch.context() as patch:
        patch.setattr(parquet, "keep", rewrite_and_keep)
        assert scores(fit(rows, tmp_path / "codes")) == before
    after = scores(fit(rows, tmp_path / "codes"))
    assert after == scores(fit(rows))
    assert after != before


def test_codes_of_a_file_that_was_rewritten_meanwhile_are_not_kept(rows, tmp_path, monkeypatch):
    code = parquet.Reading._write_codes

    def code_and_rewrite(*arguments):
        coded = code(*arguments)
        write(other_rows(), rows)
        return coded

    with monkeypatch.context() as patch:
        patch.setattr(parquet.Reading, "_write_codes", code_and_rewrite)
        with pytest.raises(ValueError, match="has changed while it was read"):
            fit(rows, tmp_path / "codes")
    assert not (tmp_path / "codes").exists()
    assert scores(fit(rows, tmp_path / "codes")) == scores(fit(rows))


def test_a_file_of_the_same_size_and_time_is_read_again(rows, tmp_path):
    fit(rows, tmp_path / "codes")
    was = rows.stat()
    write(other_rows(), rows)
    os.utime(rows, ns=(was.st_atime_ns, was.st_mtime_ns))
    now = rows.stat()
    assert (now.st_size, now.st_mtime_ns) == (was.st_size, was.st_mtime_ns)
    assert scores(fit(rows, tmp_path / "codes")) == scores(fit(rows))


CHANGES = {
    "other labels": lambda path: write(other_rows(), path),
    "rows in another order": lambda path: write(loans()[::-1], path),
    "more rows": lambda path: write(loans(2 * N), path),
    "fewer rows": lambda path: write(loans(N // 2), path),
    "other columns": lambda path: write(loans()[["repaid", "age"]], path),
    "another file in its place": lambda path: (
        write(other_rows(), path.with_name("new")), path.with_name("new").replace(path)
    ),
    "no file": lambda path: path.unlink(),
    "something else": lambda path: path.write_bytes(b"no Parquet"),
}  # fmt: skip


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("after", [1, 2, 3])
@pytest.mark.parametrize("kind", CHANGES)
def test_a_file_that_changes_while_it_is_read_is_one_error(
    rows, tmp_path, monkeypatch, kind, after, weight
):
    blocks, passes = treerank._io.parquet_files.ParquetFiles.blocks, []

    def change_after_a_pass(self, names, use_threads):
        yield from blocks(self, names, use_threads)
        passes.append(names)
        if len(passes) == after:
            CHANGES[kind](rows)

    monkeypatch.setattr(treerank._io.parquet_files.ParquetFiles, "blocks", change_after_a_pass)
    for codes in (None, tmp_path / "codes"):
        write(loans(), rows)
        passes.clear()
        with pytest.raises(ValueError, match=r"rows.parquet', which has changed while it was read"):
            fit(rows, codes, weight)
        assert not (tmp_path / "codes").exists()


def test_a_worker_of_a_cluster_refuses_a_file_that_has_changed(rows):
    dask = pytest.importorskip("dask")
    parquet = pytest.importorskip("treerank.dask._parquet")
    blocks = parquet.open_files(TreeRank(), rows, "repaid", None, None, 2).blocks
    [(features, labels, _)] = blocks
    with dask.config.set(scheduler="synchronous"):
        assert len(labels.compute()) == N
        write(loans()[::-1], rows)
        for part in (features, labels):
            with pytest.raises(ValueError, match="has changed while it was read"):
                part.compute()
        rows.unlink()
        with pytest.raises(FileNotFoundError, match="A worker does not see"):
            labels.compute()


KILLED = """
import os, signal, sys
import treerank
from treerank._io import parquet
parquet.block_table = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
rows, codes = sys.argv[1:]
treerank.TreeRank().fit_parquet(rows, "repaid", cache_dir=codes or None)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
@pytest.mark.parametrize("kept", [True, False])
def test_the_next_fit_removes_what_a_killed_one_has_left(rows, tmp_path, kept):
    codes = tmp_path / "codes" if kept else None
    arguments = [sys.executable, "-c", KILLED, str(rows), str(codes or "")]
    done = subprocess.run(
        arguments, env={**os.environ, "TMPDIR": tempfile.gettempdir()}, check=False
    )
    assert done.returncode == -signal.SIGKILL
    folder = codes or Path(tempfile.gettempdir())
    [left] = folder.iterdir()
    assert (left / "codes.npy").stat().st_size > N
    fit(rows, codes)
    assert not left.exists()
