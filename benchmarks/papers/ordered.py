"""Tables 2, 3 and 5 of "The TreeRank Tournament", measured by `benchmarks.ordinal`."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks import ordinal
from benchmarks.papers.models import Make, chosen
from benchmarks.papers.studies import Measures, Study
from treerank.baselines import RankBoost, RankRLS, RankSVM
from treerank.datasets import make_ordinal_gaussians, make_ordinal_uniform

# What the paper prints for its TreeRank Tournament stands beside these.
TOURNAMENT = "TRT"
# Samples and replications of five folds: the paper has 50 and 5. Fewer of the rivals, whose
# parameters are chosen anew each time.
SAMPLES, REPLICATIONS = (20,), (5,)
FEW_SAMPLES, FEW_REPLICATIONS = (4,), (1,)


def rivals() -> dict[str, Make]:
    """Return the paper's rivals under its names, with parameters chosen inside the training rows.

    RankRLS (RLS) chooses its penalty by leave-one-out on its own. A few hundred points span the
    Gaussians of a sample too large for the exact kernel.
    """
    steps = {"n_estimators": [30, 100, 300]}
    shrinkages = {"C": [0.01, 0.1, 1.0]}
    widths = {"gamma": ["scale", 2.0]}
    gaussian: dict[str, Any] = {"kernel": "rbf", "n_components": 300, "random_state": 0}
    best = partial(chosen, n_folds=3, scoring=None)
    return {
        "RBpw": lambda: best(RankBoost(max_bins=128), steps),
        "SVMl": lambda: best(RankSVM(), shrinkages),
        "SVMg": lambda: best(RankSVM(**gaussian), shrinkages | widths),
        "RLSl": RankRLS,
        "RLSg": lambda: best(RankRLS(**gaussian), widths),
    }


def on_samples(draw: Callable[..., Any], n_rows: int, make: Make, n_samples: int) -> Measures:
    """Tables 2 and 3: VUS on new rows."""
    return {"vus": ordinal.sample_scores(draw, n_rows, make, n_samples)}


def on_task(task: str, make: Make, replications: int) -> Measures:
    """Table 5: five stratified folds, again and again; on the largest set once."""
    replications = min(replications, ordinal.FEW_REPLICATIONS.get(task, replications))
    score = ordinal.by_score(make)
    parts = [ordinal.fold_scores(task, score, number) for number in range(replications)]
    return {"vus": np.ravel(parts).tolist()}


def simulated(quick: bool) -> list[Study]:
    """Tables 2 and 3: two simulated models, each with the variants of ours that suit it."""
    parts = [
        ("three Gaussians", make_ordinal_gaussians, 3_000, ordinal.GAUSSIAN_MODELS),
        ("nine cells", make_ordinal_uniform, 10_000, ordinal.UNIFORM_MODELS),
    ]
    few = (2,) if quick else FEW_SAMPLES
    return [
        Study(
            "ordered",
            {name: partial(on_samples, draw, 500 if quick else n_rows)},
            ours | rivals(),
            few if quick else SAMPLES,
            dict.fromkeys(rivals(), few),
        )
        for name, draw, n_rows, ours in parts
    ]


def real(quick: bool) -> Study:
    """Table 5: nine tasks."""
    models = {name: make for name, make in ordinal.OUR_MODELS.items() if name not in ordinal.SLOW}
    tasks = ("SWD 3-5", "ESL 3-7") if quick else tuple(ordinal.TASKS)
    sets = {task: partial(on_task, task) for task in tasks}
    repeats = FEW_REPLICATIONS if quick else REPLICATIONS
    return Study(
        "ordered",
        sets,
        models | rivals(),
        repeats,
        dict.fromkeys(rivals(), FEW_REPLICATIONS),
        # The paper's programs could not do these either: 15,211 rows.
        skipped={("MQ2008", "SVMg"), ("MQ2008", "RLSg")},
    )
