"""Small data and models that the tests of the report share."""

import numpy as np
import pandas as pd

NASTY = "</script><script>alert(1)</script>"


def loans(n=600, seed=0):
    """Return numbers, categories and missing values; a column and a level have hostile names."""
    rng = np.random.default_rng(seed)
    x = pd.DataFrame(
        {
            "income": rng.lognormal(3, 0.5, n).round(1),
            NASTY: rng.integers(0, 5, n).astype(float),
            "purpose": rng.choice(["car", "<b>boat</b>", "house & home"], n),
            "noise": rng.normal(size=n),
        }
    )
    risk = 0.05 * (x.income - 20) + 0.7 * x[NASTY] + 1.5 * (x.purpose == "car") - 3
    y = pd.Series((rng.random(n) < 1 / (1 + np.exp(-risk))).astype(int), name="default")
    x.loc[rng.random(n) < 0.1, "income"] = np.nan
    return x, y


def grades(n=450, seed=0, n_classes=3):
    """Return rows of ordered classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return rng.normal(size=(n, 3)) + y[:, np.newaxis] * [1.0, 0.4, 0.0], y
