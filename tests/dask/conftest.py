"""Clusters that the tests of this folder share."""

import pytest

distributed = pytest.importorskip("distributed")

from clusters import forked_workers  # noqa: E402


@pytest.fixture(autouse=True)
def _grown_on_the_cluster(own_labels):
    """Soft labels are made in this process, and so are the trees that are grown to them."""


# A cluster takes less time to start than to keep: even idle it takes a few hundredths of a core.
@pytest.fixture(scope="module")
def threads():
    """A cluster of two workers in this process: quick, nothing to kill."""
    with distributed.Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as client:
        yield client


@pytest.fixture(scope="module")
def cluster_of_processes():
    with (
        forked_workers(),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield cluster, client


@pytest.fixture
def processes(cluster_of_processes):
    """A cluster of two worker processes or more, which may be killed."""
    cluster, client = cluster_of_processes
    n_lost = 2 - len(client.scheduler_info()["workers"])
    if n_lost > 0:  # to an earlier test
        cluster.scale(len(cluster.worker_spec) + n_lost)
    client.wait_for_workers(2)
    return cluster, client
