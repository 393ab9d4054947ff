"""Forked children, Ctrl-C, progress."""

import multiprocessing
import subprocess
import sys

import numpy as np
import oracles
import pytest

from treerank import LeafRank, TreeRank


def table(n=20_000, p=5):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, p))
    return x, (x[:, 0] + rng.normal(size=n) > 0).astype(int)


def _fit_in_child(queue):
    x, y = table()
    queue.put(TreeRank(n_jobs=2).fit(x, y).score(x, y))


@pytest.mark.filterwarnings("ignore")
def test_fork_then_fit_in_the_child():
    x, y = table()
    parent = TreeRank(n_jobs=2).fit(x, y).score(x, y)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_fit_in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=60) == parent
    child.join(timeout=60)
    assert child.exitcode == 0


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_stops_a_long_fit_within_a_second(n_jobs):
    script = f"""
import os, signal, threading, time
import numpy as np
from treerank import LeafRank, TreeRank
rng = np.random.default_rng(0)
x = rng.integers(0, 255, size=(1_000_000, 30)).astype(np.float32)
y = rng.integers(0, 2, size=1_000_000)
model = TreeRank(LeafRank(max_depth=20), max_depth=None, pruning=None, n_jobs={n_jobs})
before = dict(vars(model))
pressed = []
def press():
    pressed.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(3.0, press).start()
try:
    model.fit(x, y)
except KeyboardInterrupt:
    assert vars(model) == before
    print("stopped after", time.perf_counter() - pressed[0], "threads", threading.active_count())
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )
    words = done.stdout.split()
    assert words[:2] == ["stopped", "after"], done.stdout + done.stderr
    assert float(words[2]) < 1.0


def test_verbose_shows_progress(capfd):
    x, y = table(5_000)
    TreeRank(verbose=1).fit(x, y)
    out, err = capfd.readouterr()
    assert "growing" in out + err
    TreeRank().fit(x, y)
    out, err = capfd.readouterr()
    assert out + err == ""


def test_progress_ends_at_one_and_an_error_in_it_is_raised():
    from treerank import _core

    x, y = table(100_000)
    with oracles.all_thresholds():
        model = TreeRank(LeafRank(max_depth=6), pruning=None).fit(x[:1_000], y[:1_000])
    binning = model._binning
    codes = np.empty((5, len(y)), dtype=binning.code_type)
    _core.encode(x, binning.thresholds, codes, 1)
    options = model._options(_Shape).for_core(1.0, 1.0)
    arguments = (codes, y.astype(np.uint8), None, None, binning.n_codes,
                 binning.is_categorical, np.zeros(5, np.int8), options, 1)  # fmt: skip
    seen = []
    _core.grow_trees(*arguments, seen.append)
    assert seen == sorted(seen)
    assert all(0 <= share <= 1.000001 for share in seen)

    def fail(_):
        raise RuntimeError("no more paper")

    with pytest.raises(RuntimeError, match="no more paper"):
        _core.grow_trees(*arguments, fail)


class _Shape:
    n_rows, n_features = 100_000, 5


def test_plain_lines_when_no_progress_library_is_there(monkeypatch, capsys):
    from treerank import _progress

    def absent(_):
        raise ModuleNotFoundError

    monkeypatch.setattr(_progress, "_rich_bar", absent)
    monkeypatch.setattr(_progress, "_tqdm_bar", absent)
    with _progress.progress_bar("growing", 1) as report:
        report(0.0)
        report(0.55)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"treerank: growing {p} %" for p in (0, 55, 100)]
