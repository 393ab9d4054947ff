"""What the tests of this folder share."""

import pytest


@pytest.fixture(autouse=True)
def _grown_on_the_device(own_labels):
    """Trees that are grown to soft labels are grown by the core."""
