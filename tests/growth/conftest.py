"""Tables that the tests of splitters share."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def ring():
    """Positives in a ring: no line parts them."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 2))
    radius = np.hypot(*x.T)
    y = (rng.random(500) < np.where((radius > 0.7) & (radius < 1.5), 0.85, 0.15)).astype(int)
    return x, y


@pytest.fixture(scope="module")
def slope():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 3))
    y = (x[:, 0] - x[:, 1] + rng.normal(size=400) > 0.5).astype(int)
    return x, y
