"""Clusters of Dask that start soon."""

import dask
from distributed.utils import get_mp_context


def forked_workers():
    """Context in which worker processes are forked from one that has imported what they need."""
    started = dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
    get_mp_context().set_forkserver_preload(["distributed", "treerank.dask", "pandas"])
    return started
