"""A cluster for one fit: an existing one, or workers on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import treerank
from treerank.cli._errors import BadInput

SECONDS_TO_CONNECT = 10


@contextmanager
def cluster_client(address: str, threads: int) -> Iterator[Any]:
    """Client of the cluster at an address; "local" starts a worker per thread, or per core."""
    try:
        import distributed  # noqa: PLC0415 (an extra)
    except ModuleNotFoundError:
        raise BadInput("--dask needs Dask; install treerank-ml[dask].") from None
    dask: Any = distributed  # without types
    if address == "local":
        n_workers = threads if threads > 1 else os.cpu_count() or 1
        with (
            dask.LocalCluster(
                n_workers=n_workers, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            dask.Client(cluster) as client,
        ):
            yield client
        return
    try:
        client = dask.Client(address, timeout=SECONDS_TO_CONNECT)
    except (OSError, ValueError) as error:
        raise BadInput(
            f"--dask {address}: no scheduler answers there ({error}); expected 'local' or an "
            "address such as tcp://10.0.0.1:8786."
        ) from None
    with client:
        yield client


def on_cluster(estimator: Any, client: Any, checkpoint: Path | None) -> Any:
    """Return the same estimator for the cluster, which also shows progress."""
    from treerank import dask  # noqa: PLC0415 (an extra)

    on_clusters: dict[Any, Any] = {
        treerank.TreeRank: dask.DaskTreeRank,
        treerank.RankingForest: dask.DaskRankingForest,
        treerank.BoostedTreeRank: dask.DaskBoostedTreeRank,
    }
    make = on_clusters[type(estimator)]
    parameters = estimator.get_params(deep=False) | {"verbose": 1}
    return make(**parameters, client=client, checkpoint=checkpoint)
