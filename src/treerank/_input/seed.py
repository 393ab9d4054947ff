"""Converts the values that scikit-learn allows for random_state to an integer seed."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from treerank._input.parameters import invalid_parameter
from treerank._input.types import RandomStateLike


def seed_of(random_state: RandomStateLike) -> int:
    """Return the seed of a fit; None means 0, so that results are reproducible."""
    if random_state is None:
        return 0
    try:
        generator = check_random_state(random_state)
    except ValueError:
        expected = "None, an integer from 0 to 2**32 - 1, or a numpy.random.RandomState"
        raise invalid_parameter("random_state", random_state, expected) from None
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(generator.randint(2**31 - 1))
