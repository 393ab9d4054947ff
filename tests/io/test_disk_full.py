"""A disk without room: an OSError that names the file and what it needs, and nothing left."""

import errno
import os
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from treerank._io import cache, reserved

pytest.importorskip("pyarrow")

N_ROWS, N_FEATURES = 20_000, 30
CODES = 600_000  # bytes, and a head

SCRIPT = """
import os, sys
import resource
from pathlib import Path
from treerank import TreeRank
rows, disk, limit = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
for codes in (disk / "codes", None):
    model = TreeRank(cv=2, max_depth=2, random_state=0)
    try:
        model.fit_parquet(rows, "y", cache_dir=codes)
    except OSError as error:
        print(error.errno, Path(error.filename).name, error.strerror, sep="|")
        assert not hasattr(model, "tree_")
    assert list(disk.iterdir()) == [], list(disk.iterdir())
"""


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_FEATURES))
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(N_FEATURES)])
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    frame.assign(y=(X[:, 0] > 0).astype(int)).to_parquet(path)
    return path


def in_own_namespace(command):
    """A command that may mount what nobody else sees, where the system lets users do so."""
    return ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", command]


@pytest.fixture
def small_disk(tmp_path):
    """Run the script with a disk of this many bytes for codes and temporary files."""
    disk = tmp_path / "disk"
    disk.mkdir()
    trial = in_own_namespace(f"mount -t tmpfs -o size=4096 none '{disk}'")
    if shutil.which("unshare") is None or subprocess.run(trial, check=False).returncode:
        pytest.skip("no file system of our own can be mounted here")

    def run(rows, n_bytes):
        mount = f"mount -t tmpfs -o size={n_bytes} none '{disk}'"
        command = in_own_namespace(f'{mount} && exec "$0" "$@"')
        return run_script([*command, sys.executable], rows, disk, limit=0)

    return run


def run_script(command, rows, disk, limit):
    done = subprocess.run(
        [*command, "-c", SCRIPT, str(rows), str(disk), str(limit)],
        env={**os.environ, "TMPDIR": str(disk)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (done.returncode, done.stderr)  # a bus error is -7
    assert done.stderr == ""
    return [line.split("|") for line in done.stdout.splitlines()]


def test_a_full_disk_is_an_error_of_the_system(small_disk, rows):
    said = small_disk(rows, 300_000)
    assert [(int(number), name) for number, name, _ in said] == [(errno.ENOSPC, "codes.npy")] * 2
    assert all(f"{CODES:,} bytes are needed. Make room, or name" in text for *_, text in said)


def test_a_disk_with_room_for_codes_but_not_for_the_rest(small_disk, rows):
    [(number, name, text)] = small_disk(rows, 2_000_000)  # without `codes` there is no rest
    assert (int(number), name) == (errno.ENOSPC, "rows.npz")
    assert "bytes are needed" in text


@pytest.mark.skipif(os.name == "nt", reason="limits of Unix")
def test_a_limit_on_the_size_of_files_is_an_error_too(rows, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    said = run_script([sys.executable], rows, disk, limit=300_000)
    assert [(int(number), name) for number, name, _ in said] == [(errno.EFBIG, "codes.npy")] * 2
    assert all(f"{CODES:,} bytes are needed" in text for *_, text in said)


@pytest.mark.parametrize("answer", [errno.EINVAL, errno.EOPNOTSUPP, None])
def test_file_systems_that_cannot_reserve_get_zeros(tmp_path, monkeypatch, answer):
    monkeypatch.setattr(reserved, "ZEROS", bytes(1000))

    def refuse(*_):
        raise OSError(answer, os.strerror(answer))

    if answer is None:
        monkeypatch.delattr(os, "posix_fallocate", raising=False)
    else:
        monkeypatch.setattr(os, "posix_fallocate", refuse, raising=False)
    codes = cache.new_codes(tmp_path, (7, 1234), np.dtype(np.uint16))
    assert (codes.shape, codes.dtype, codes.any()) == ((7, 1234), np.uint16, False)
    codes[3, 5] = 9
    codes.flush()
    again = np.load(tmp_path / "codes.npy")
    assert again.flags.c_contiguous
    assert (again[3, 5], again.sum()) == (9, 9)
    taken = (tmp_path / "codes.npy").stat()
    assert taken.st_blocks * 512 >= taken.st_size > 7 * 1234 * 2


def test_other_errors_are_left_as_they_are(tmp_path):
    with (
        pytest.raises(FileNotFoundError, match="No such file"),
        reserved.reserved_file(tmp_path / "nowhere" / "codes", 10),
    ):
        pass
