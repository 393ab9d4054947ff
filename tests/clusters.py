"""Dask clusters that start quickly, and collections for them."""

from itertools import pairwise

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.delayed import delayed
from distributed.utils import get_mp_context
from sklearn.base import clone

from treerank.dask import _cluster


def forked_workers():
    """Return a context in which workers are forked from a process with all imports done."""
    started = dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
    get_mp_context().set_forkserver_preload(["distributed", "treerank.dask", "pandas"])
    return started


def table(n, n_classes=2, seed=0, n_features=5):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, n_features)).round(2)
    noise = x[:, 0] + np.abs(x[:, 1]) + rng.normal(size=n)
    y = np.searchsorted(np.quantile(noise, np.arange(1, n_classes) / n_classes), noise)
    x[rng.random(x.shape) < 0.05] = np.nan
    y[:n_classes] = np.arange(n_classes)
    return x, y


def frame(x, seed=0):
    rng = np.random.default_rng(seed)
    found = pd.DataFrame(x, columns=[f"c{j}" for j in range(x.shape[1])])
    found["kind"] = rng.choice(["a", "b", "c", None], size=len(x))
    found["flag"] = rng.random(len(x)) < 0.3
    return found


def cut_array(values, cuts):
    """Return a Dask array cut at the given positions; chunks may be empty."""
    bounds = [0, *sorted(min(c, len(values)) for c in cuts), len(values)]
    rows = tuple(b - a for a, b in pairwise(bounds))
    chunks = (rows,) if values.ndim == 1 else (rows, (values.shape[1],))
    return da.from_array(values, chunks=chunks)


def cut_frame(values, cuts):
    bounds = [0, *sorted(min(c, len(values)) for c in cuts), len(values)]
    parts = [delayed(values.iloc[a:b]) for a, b in pairwise(bounds)]
    return dd.from_delayed(parts, meta=values.iloc[:0], verify_meta=False)


def at_round(monkeypatch, number, action):
    """Run an action once a fit has waited for the cluster `number` times."""
    waited = _cluster.Cluster.result
    done = []

    def result(self, future):
        if self.n_rounds >= number and not done:
            done.append(True)
            action()
        return waited(self, future)

    monkeypatch.setattr(_cluster.Cluster, "result", result)
    return done


def break_off(model, parts, checkpoint):
    """Interrupt a fit shortly before its end; return the number of rounds of a complete one."""
    whole = clone(model).fit(*parts).n_rounds_
    assert not checkpoint.exists()

    def stop():
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        at_round(patch, whole - 4, stop)
        with pytest.raises(KeyboardInterrupt):
            model.fit(*parts)
    assert checkpoint.exists()
    with pytest.raises(ValueError, match="other data or other parameters"):
        clone(model).set_params(random_state=9).fit(*parts)
    return whole
