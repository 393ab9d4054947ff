"""Hypothesis profiles, and a check that the tests run against the build they are meant for."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Dask clusters that tests start do not profile their workers and rarely monitor the machine: a fit
# takes a fifth less time.
os.environ.update(
    DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED="False",
    DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL="1s",
    DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL="10s",
)

settings.register_profile(
    "default", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.register_profile("quick", parent=settings.get_profile("default"), max_examples=15)
settings.register_profile("long", parent=settings.get_profile("default"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture
def own_labels(monkeypatch):
    """Grow default trees on few rows as on many: to the labels themselves, where the rows are."""
    from treerank._growth import soft_labels

    monkeypatch.setattr(soft_labels, "SOFT_ROWS", 0)


@pytest.fixture(scope="session")
def postgres_server():
    """One server for all tests of a process, because it takes seconds to create."""
    postgres = pytest.importorskip("postgres", exc_type=ImportError)  # needs Unix users

    reason = postgres.why_not()
    if reason is not None:
        pytest.skip(reason)
    with postgres.running_server() as server:
        yield server


def pytest_report_header():
    import treerank

    wanted = os.environ.get("TREERANK_CORE")
    found = Path(treerank._core.__file__).parent
    if wanted and found != Path(wanted):
        raise RuntimeError(f"testing {found}, not {wanted}")
    return f"treerank core: {found}, {treerank._core.instruction_set()}"
