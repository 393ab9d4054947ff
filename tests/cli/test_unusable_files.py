"""Files that cannot be read or written, and streams that are closed: one line and the remedy."""

import bz2
import errno
import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import assert_one_line, run

from treerank import TreeRank
from treerank._io.atomic import atomic_write

TARGET = ["--target", "default"]


def reading(folder, path):
    """Commands that read a table."""
    return (
        ["fit", path, *TARGET],
        ["score", folder / "tree.model", path],
        ["evaluate", folder / "tree.model", path, *TARGET],
    )


def test_a_damaged_parquet_file_is_named(folder, tmp_path):
    whole = (folder / "train.parquet").read_bytes()
    middle = bytearray(whole)
    middle[20:6000] = bytes(byte ^ 0x5A for byte in middle[20:6000])
    for name, raw in {
        "short": whole[:-200], "hollow": whole[:3000] + whole[-3000:], "middle": middle,
    }.items():  # fmt: skip
        path = tmp_path / f"{name}.parquet"
        path.write_bytes(raw)
        for command in reading(folder, path):
            assert_one_line(run(*command), path, "not a Parquet file, or it is damaged")
    with pytest.raises(ValueError, match=r"middle.parquet', which is damaged \("):
        TreeRank().fit_parquet(tmp_path / "middle.parquet", "default")


def test_a_folder_and_a_pipe_are_not_said_to_be_missing(folder, tmp_path):
    for path, said in ((tmp_path, "this is a folder; name a"), ("/dev/null", "this is a device")):
        for command in reading(folder, path)[1:]:
            assert_one_line(run(*command), path, said)


@pytest.mark.parametrize("name", ["train.csv", "train.csv.gz", "train.parquet"])
def test_a_file_that_may_not_be_read_is_not_said_to_be_damaged(folder, monkeypatch, name):
    path = folder / name
    whole = Path.open

    def refuse(self, *arguments, **more):
        if self == path:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return whole(self, *arguments, **more)

    monkeypatch.setattr(Path, "open", refuse)
    for command in reading(folder, path):
        assert_one_line(run(*command), path, "Permission denied; ask for the right to open it.")


def test_a_folder_that_cannot_be_written_to_is_found_before_the_work(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("treerank.cli._outputs.os.access", lambda path, _: path != tmp_path)
    out = tmp_path / "out.csv"
    for command in (
        ["fit", folder / "nothing.csv", *TARGET, "--save", out],
        ["score", folder / "tree.model", folder / "nothing.csv", "--out", out],
    ):
        assert_one_line(run(*command), out, "its folder cannot be written to; choose another.")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    out.symlink_to(elsewhere / "scores.csv")
    done = run("score", folder / "tree.model", folder / "new.csv", "--out", out)
    assert done.exit_code == 0, done.output
    assert (elsewhere / "scores.csv").exists()


def test_a_full_disk_is_said_of_the_file_that_was_to_be_written(folder, tmp_path, monkeypatch):
    def fill(*_):
        raise OSError(errno.ENOSPC, "Error writing bytes to file")  # as pyarrow says it

    monkeypatch.setattr("treerank.cli._scoring._Sheet.write", fill)
    out = tmp_path / "scores.csv"
    result = run("score", folder / "tree.model", folder / "new.csv", "--out", out)
    assert_one_line(result, out, "No space left on device; free some, or write elsewhere.")
    assert list(tmp_path.iterdir()) == []


def test_other_errors_of_writing_stay_as_they_are(tmp_path):
    with pytest.raises(OSError, match="why not") as caught, atomic_write(tmp_path / "file"):
        raise OSError(errno.EIO, "why not")
    assert caught.value.filename is None


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of Unix")
@pytest.mark.parametrize(
    ("table", "stream", "said"),
    [
        ("new.csv", ">&-", "The standard output is closed; name a file: --out FILE."),
        ("-", "<&-", "standard input: it is closed; name a file, or send a table through a pipe."),
        pytest.param(
            "new.csv", "> /dev/full", "No space left on device; free some, or write elsewhere.",
            marks=pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it"),
        ),
    ],
)  # fmt: skip
def test_streams_that_cannot_be_used_are_one_line(folder, table, stream, said):
    command = f'"{sys.executable}" -m treerank score tree.model {table} {stream}'
    found = subprocess.run(
        ["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stderr) == (2, f"treerank: {said}\n")


OTHER_FORMATS = {
    "t.feather": (b"ARROW1\0\0" + bytes(99), "this is Arrow, Feather or ORC"),
    "t.json": (b'[{"x":1,"y":0},\n{"x":2,"y":1}]', "this is JSON"),
    "lines.json": (b'{"x":1,"y":0}\n{"x":2,"y":1}\n', "this is JSON"),
    "t.xls": (b"\xef\xbb\xbf\n<HTML><table><tr><td>x</td></tr></table>", "this is XML or HTML"),
    "t.db": (b"SQLite format 3\0" + bytes(99), "this is a database"),
    "t.sas7bdat": (bytes(12) + b"\xc2\xea\x81\x60" + bytes(99), "this is no text; expected CSV"),
    "t.h5": (b"\x89HDF\r\n\x1a\n" + bytes(99), "this is no text; expected CSV"),
    "t.csv.xz": (b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4F,\n,", "this is no text; expected CSV"),
}


@pytest.mark.parametrize("name", OTHER_FORMATS)
def test_other_formats_are_named(folder, tmp_path, name):
    content, said = OTHER_FORMATS[name]
    path = tmp_path / name
    path.write_bytes(content)
    for arguments in (
        ["fit", path, "--target", "y", "--save", tmp_path / "model"],
        ["score", folder / "tree.model", path, "--out", tmp_path / "out.csv"],
    ):
        result = run(*arguments)
        assert_one_line(result, path, said)
        assert "note:" not in result.stderr
    assert list(tmp_path.iterdir()) == [path]


def test_a_packed_table_is_read_whatever_its_name(folder, tmp_path):
    expected = run("score", folder / "tree.model", folder / "new.csv").stdout
    text = (folder / "new.csv").read_bytes()
    for name, packed in (
        ("NEW.CSV.GZ", gzip.compress(text)),
        ("gz.csv", gzip.compress(text)),
        ("bz2.csv", bz2.compress(text)),
        ("NEW.PARQUET", (folder / "new.parquet").read_bytes()),
        ("NEW.TSV", (folder / "new.tsv").read_bytes()),
    ):
        (tmp_path / name).write_bytes(packed)
        result = run("score", folder / "tree.model", tmp_path / name)
        assert result.stdout == expected, (name, result.stderr)
