"""The Dask client of a fit, and checks of its workers."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from treerank.dask._cluster import Cluster

DISTRIBUTION = "treerank-ml"


def start_cluster(client: Any) -> Cluster:
    """Return the cluster of the client, after a check of its workers."""
    found = find_client(client)
    check_workers(found)
    return Cluster(found)


def find_client(client: Any) -> Any:
    """Return the given client, or the one in use; never start a cluster implicitly."""
    try:
        from distributed import Client, get_client  # noqa: PLC0415 (an extra)
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Training on a cluster needs Dask; install treerank-ml[dask]."
        ) from None
    if client is None:
        _check_outside_task()
        try:
            return get_client()
        except ValueError:
            raise ValueError(
                "Got client=None and no Dask client in use; expected one: "
                "client = distributed.Client(...), an address, or a local cluster."
            ) from None
    if not isinstance(client, Client):
        raise TypeError(f"Got client of type {type(client).__name__}; expected distributed.Client.")
    return client


def _check_outside_task() -> None:
    """Raise if called inside a task: the fit would wait for workers while blocking one."""
    from distributed import get_worker  # noqa: PLC0415 (an extra)

    try:
        get_worker()
    except ValueError:
        return
    raise RuntimeError(
        "Got a fit inside a task of the cluster, which would wait for its own worker; expected it "
        "in the client's process, or `with distributed.worker_client() as client` and "
        "client=client."
    )


def check_workers(client: Any) -> None:
    """Raise if the cluster has no workers, or workers with another version of the library."""
    mine = version(DISTRIBUTION)
    try:
        theirs = client.run(version, DISTRIBUTION)
    except PackageNotFoundError:
        raise RuntimeError(
            f"Workers of the cluster do not have {DISTRIBUTION}; expected version {mine}, as here. "
            "Install it on every worker."
        ) from None
    if not theirs:
        raise RuntimeError(
            "Got a cluster without workers; expected at least one. Start some, or wait: "
            "client.wait_for_workers(1)."
        )
    other = {worker: found for worker, found in theirs.items() if found != mine}
    if other:
        worker, found = next(iter(other.items()))
        raise RuntimeError(
            f"Worker {worker} has {DISTRIBUTION} {found}; expected {mine}, as here. Install the "
            "same version everywhere."
        )
