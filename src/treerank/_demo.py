"""Demo on embedded data: train, evaluate on held-out rows, print and save the results.

Run as ``python -m treerank._demo [folder]``.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from treerank import LeafRank, TreeRank, report
from treerank.metrics import auc_interval, wilson_interval


def main(folder: str = "demo") -> None:
    """Rank scikit-learn's breast cancer cases, malignant ones first."""
    cancer = load_breast_cancer(as_frame=True)
    y = (cancer.target == 0).map({True: "malignant", False: "benign"})
    X_train, X_test, y_train, y_test = train_test_split(
        cancer.data, y, test_size=0.4, stratify=y, random_state=0
    )
    model = TreeRank(LeafRank()).fit(X_train, y_train)  # one test per split, for short rules

    interval = auc_interval(y_test, model.score_samples(X_test))
    print(f"{len(y_train)} cases to learn from, {len(y_test)} held out; malignant ones first.\n")
    print(
        f"AUC on the held-out cases: {interval.auc:.3f} "
        f"(95% interval {interval.lower:.3f} to {interval.upper:.3f})\n"
    )
    _print_strata(model, X_test, y_test)
    _print_rules(model)
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    _draw(model, X_test, y_test, out)
    _write_scores(model, X_test, y_test, out)
    if find_spec("jinja2") is not None:  # an optional dependency
        report(model, X_test, y_test, train=(X_train, y_train), out=out / "report.html")
    print(f"\nWritten: {', '.join(str(path) for path in sorted(out.iterdir()))}")


def _print_strata(model: TreeRank, X_test: Any, y_test: Any) -> None:
    """Print the strata with their share of malignant training and held-out cases."""
    partition = model.partition_
    strata = model.apply(X_test)
    malignant = np.asarray(y_test == "malignant")
    print("stratum   score  cases  malignant    held out  malignant (95% interval)")
    for k in range(len(partition)):
        here = strata == k
        share = partition.posterior()[k, -1]
        line = f"{k:7d} {partition.scores[k]:7.3f} {partition.counts[k].sum():6.0f} {share:10.1%}"
        line += f" {here.sum():11d}"
        if here.any():
            low, high = wilson_interval(malignant[here].sum(), here.sum())
            line += f" {malignant[here].mean():10.1%} ({low:.0%} to {high:.0%})"
        print(line)


def _print_rules(model: TreeRank) -> None:
    print("\nThe strata in words:")
    for k, rule in enumerate(model.partition_.rules()):
        print(f"  {k}: {rule}")


def _draw(model: TreeRank, X_test: Any, y_test: Any, out: Path) -> None:
    import matplotlib  # noqa: PLC0415 - an optional dependency

    matplotlib.use("Agg")
    from treerank.plots import RocDisplay, TreeDisplay  # noqa: PLC0415

    roc = RocDisplay.from_estimator(model, X_test, y_test, name="tree", training=True)
    roc.figure_.savefig(out / "roc.png", dpi=150, bbox_inches="tight")
    tree = TreeDisplay.from_estimator(model)
    tree.figure_.savefig(out / "tree.png", dpi=150, bbox_inches="tight")


def _write_scores(model: TreeRank, X_test: Any, y_test: Any, out: Path) -> None:
    scored = X_test.assign(
        stratum=model.apply(X_test),
        score=model.score_samples(X_test),
        probability=model.predict_proba(X_test)[:, 1],
        diagnosis=y_test,
    )
    best_first = scored.sort_values("score", ascending=False, kind="stable")
    best_first.to_csv(out / "scored.csv", index_label="case")


if __name__ == "__main__":
    main(*sys.argv[1:2])
