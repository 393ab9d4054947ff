"""Seeds: one 64-bit number from whatever scikit-learn allows as random_state."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def seed_of(random_state: Any) -> int:
    """Return the seed of a single tree; None means 0, so that a fit can be repeated."""
    if random_state is None:
        return 0
    if isinstance(random_state, int | np.integer):
        check_random_state(random_state)  # refuses what cannot be a seed
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
