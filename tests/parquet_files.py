"""Loans in Parquet files, and models of the same rows in memory."""

from itertools import pairwise

import numpy as np
import pandas as pd

N = 600


TREE = {"random_state": 0, "cv": 3}


def loans(n=N, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "income": rng.normal(size=n),
            "age": rng.integers(18, 80, n),
            "rate": rng.normal(size=n).astype(np.float32),
            "town": rng.choice(["Rome", "Oslo", "", None], n),
            "purpose": pd.Categorical(rng.choice(["car", "home", "boat"], n)),
            "owner": rng.random(n) < 0.5,
            "agent": [f"agent {i}" for i in rng.integers(0, 300, n)],
            "unknown": [None] * n,
        }
    )
    frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    risk = frame["income"].fillna(0.5) + (frame["town"] == "Oslo") + rng.normal(size=n)
    frame["repaid"] = (risk < 0.4).astype(np.int8)
    frame["grade"] = pd.cut(risk, [-9, -0.5, 0.8, 9], labels=["good", "fair", "poor"])
    frame["weight"] = rng.random(n).round(3)
    frame["times"] = rng.integers(0, 4, n)
    return frame


def write(frame, folder, cuts=(), row_group_size=10_000):
    edges = [0, *cuts, len(frame)]
    for k, (i, j) in enumerate(pairwise(edges)):
        frame[i:j].to_parquet(
            folder / f"{k:02}.parquet", row_group_size=row_group_size, index=False
        )
    return folder


def fit_in_memory(model, folder, target, weight=None, columns=None):
    frame = pd.read_parquet(folder)
    columns = columns or [name for name in frame if name not in (target, weight)]
    return model.fit(frame[columns], frame[target], None if weight is None else frame[weight])


FEATURES = ["income", "age", "rate", "town", "purpose", "owner", "agent", "unknown"]
