"""Forked children, threads that cannot start, Ctrl-C, progress."""

import multiprocessing
import os
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
def test_ctrl_c_stops_a_long_fit(n_jobs):
    script = f"""
import os, signal, threading
import numpy as np
from treerank import LeafRank, TreeRank
rng = np.random.default_rng(0)
x = rng.integers(0, 255, size=(100_000, 20)).astype(np.float32)
y = rng.integers(0, 2, size=100_000)
# 250 deep trees: the whole fit takes longer than the process is given.
model = TreeRank(LeafRank(max_depth=20), max_depth=None, cv=250, n_jobs={n_jobs})
before = dict(vars(model))
def press():
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(1.0, press).start()
try:
    model.fit(x, y)
except KeyboardInterrupt:
    assert vars(model) == before
    print("stopped, threads", threading.active_count())
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.split() == ["stopped,", "threads", "1"], done.stdout + done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="limits as Linux has them")
def test_threads_that_cannot_start_are_done_without():
    # Each thread reserves a stack of a gigabyte, and the limit leaves room for two.
    script = """
import resource, threading
import numpy as np
from treerank import BoostedTreeRank, RankingForest, TreeRank
rng = np.random.default_rng(0)
x = rng.normal(size=(2_000, 5))
y = (x[:, 0] + rng.normal(size=2_000) > 0).astype(int)
models = [TreeRank(), RankingForest(n_estimators=5), BoostedTreeRank(n_estimators=5)]
alone = [model.set_params(n_jobs=1).fit(x, y).score_samples(x) for model in models]
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + 5 * 2**29
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for model, expected in zip(models, alone):
    found = model.set_params(n_jobs=4).fit(x, y).score_samples(x)
    assert np.array_equal(found, expected), model
end = threading.Event()
threads = [threading.Thread(target=end.wait) for _ in range(3)]
try:
    for thread in threads:
        thread.start()
except RuntimeError:  # as it was for the third thread of the team
    print("done")
end.set()
"""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        ["bash", "-c", 'ulimit -s 1048576 && exec "$0" -c "$1"', sys.executable, script],
        capture_output=True, text=True, check=False, timeout=120, env=environment,
    )  # fmt: skip
    assert done.stdout == "done\n", done.stdout + done.stderr


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
    from treerank._plans.treerank import plan_tree

    x, y = table(100_000)
    with oracles.all_thresholds():
        model = TreeRank(LeafRank(max_depth=6), pruning=None).fit(x[:1_000], y[:1_000])
    binning = model._binning
    codes = np.empty((5, len(y)), dtype=binning.code_type)
    _core.encode(x, binning.thresholds, codes, 1)
    options = plan_tree(model, _Shape).for_core(1.0, 1.0)
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
    from treerank._growth import progress

    def absent(_):
        raise ModuleNotFoundError

    monkeypatch.setattr(progress, "_rich_bar", absent)
    monkeypatch.setattr(progress, "_tqdm_bar", absent)
    with progress.progress_bar("growing", 1) as report:
        report(0.0)
        report(0.55)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"treerank: growing {p}%" for p in (0, 55, 100)]
