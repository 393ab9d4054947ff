"""Samples of simulated models, and what a part of their study gives."""

from collections.abc import Callable
from typing import Any

NEW_ROWS = 10_000


def draws(make: Callable[..., Any], n: int, seed: int, **how: Any) -> tuple[Any, Any]:
    """A training sample and new rows of the same model."""
    train = make(n, random_state=seed, **how)
    return train, make(NEW_ROWS, random_state=1000 + seed, **how)
