"""Boosting on a GPU, beside XGBoost on the same GPU where it is installed."""

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import joblib
import numpy as np

from benchmarks.common import Figure
from treerank import BoostedTreeRank
from treerank._binning.binning import code_table
from treerank._growth.boosting import BoostingRows
from treerank._growth.boosting_fit import boost
from treerank._input.validation import validate_training_data
from treerank._plans.boosting import plan_boosting, size_of
from treerank.metrics import roc_auc_score

ROUNDS, LEAF_DEPTH, RATE, BINS = 100, 5, 0.1, 255
RIVAL = {
    "device": "cuda", "tree_method": "hist", "objective": "binary:logistic", "eta": RATE,
    "max_bin": BINS, "max_depth": LEAF_DEPTH,
}  # fmt: skip


def our_boosting(device: str, n_rounds: int = ROUNDS) -> BoostedTreeRank:
    """Ordinary trees of 32 leaves on all features, as XGBoost grows them."""
    return BoostedTreeRank(
        n_rounds, learning_rate=RATE, max_depth=1, leafrank_depth=LEAF_DEPTH, max_features=None,
        max_bins=BINS, n_jobs=-1, device=device, random_state=0,
    )  # fmt: skip


def seconds_of(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of a call, and what it gives."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def our_rounds(x: Any, y: Any) -> float:
    """Seconds of the rounds alone: codes are there, and go to the device once."""
    model = our_boosting("cuda")
    checked = validate_training_data(model, x, y, None, "from_dtype")
    coded = code_table(checked.table, checked.weights, BINS, joblib.cpu_count())
    rows = BoostingRows(coded.codes, checked.labels.astype(np.intp), None, 1.0, 1.0, 2)
    plan = plan_boosting(model, size_of(checked), coded.binning, False)
    return seconds_of(lambda: boost(rows, None, coded.binning, plan, None))[0]


def rival_matrix(x: Any, y: Any) -> Any:
    """XGBoost's table, made on the GPU where CuPy is there to bring the numbers."""
    import xgboost  # noqa: PLC0415

    if find_spec("cupy"):
        import cupy  # noqa: PLC0415

        x = cupy.ascontiguousarray(cupy.asarray(x))
    return xgboost.QuantileDMatrix(x, y, max_bin=BINS)


def rival_figures(x: Any, y: Any, new: tuple[Any, Any]) -> tuple[float, float, float]:
    """Seconds of XGBoost's fit, of its rounds alone, and its AUC on new rows."""
    import xgboost  # noqa: PLC0415

    best = (np.inf, np.inf)
    for _ in range(2):  # the first one warms up
        making, matrix = seconds_of(lambda: rival_matrix(x, y))
        training, booster = seconds_of(lambda m=matrix: xgboost.train(RIVAL, m, ROUNDS))
        best = min(best, (making + training, training))
    auc = roc_auc_score(new[1], booster.predict(xgboost.DMatrix(new[0])))
    return round(best[0], 3), round(best[1], 3), float(auc)


def boosting_figures(data: Any, new: Any) -> list[Figure]:
    """Fit and rounds, ours and XGBoost's; `new` are rows that neither has seen."""
    x, y = data
    rival = rival_figures(x, y, new) if find_spec("xgboost") else (None, None, None)
    whole, rounds, model = np.inf, np.inf, None
    for _ in range(2):
        seconds, model = seconds_of(lambda: our_boosting("cuda").fit(x, y))
        whole, rounds = min(whole, seconds), min(rounds, our_rounds(x, y))
    size = f"{ROUNDS} rounds of {2**LEAF_DEPTH} leaves, {len(y):,} rows"
    auc = roc_auc_score(new[1], model.score_samples(new[0]))
    figures = [
        Figure(f"BoostedTreeRank.fit, {size}", whole, "s", rival[0],
               note=f"AUC {auc:.4f} on new rows; best of two"),
        Figure("of which the rounds", rounds, "s", rival[1],
               note="with the table's transfer; checking and coding left out"),
    ]  # fmt: skip
    if rival[0] is not None and rival[1] is not None:
        import xgboost  # noqa: PLC0415

        where = "made on the GPU" if find_spec("cupy") else "made of the NumPy array"
        figures += [
            Figure(f"XGBoost {xgboost.__version__}, device='cuda', {size}", rival[0], "s",
                   note=f"AUC {rival[2]:.4f} on new rows; its matrix included, {where}"),
            Figure("of which its rounds", rival[1], "s"),
        ]  # fmt: skip
    return figures
