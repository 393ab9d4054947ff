"""
What is a ranking worth to those who act on it?
===============================================

The AUC is one number. Those who use a ranking ask other things: how many events lie in the top
tenth, from which score on the classes part, whether a probability of 30 % means 30 %, and whether
acting on the model beats acting on everyone. One picture each, for a tree and for a forest, on rows
that neither has seen.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from treerank import RankingForest, TreeRank
from treerank.plots import (
    CalibrationDisplay,
    DecisionCurveDisplay,
    GainsDisplay,
    KsDisplay,
    RocDisplay,
)

rng = np.random.default_rng(0)
n = 3000
table = pd.DataFrame(
    {
        "age": rng.integers(30, 85, n),
        "pressure": rng.normal(130, 18, n).round(),
        "smokes": rng.choice(["never", "once", "still"], n, p=[0.5, 0.3, 0.2]),
    }
)
risk = 0.06 * (table.age - 65) + 0.03 * (table.pressure - 140) + (table.smokes == "still") - 1
falls_ill = (rng.random(n) < 1 / (1 + np.exp(-risk))).astype(int)
half = n // 2
tree = TreeRank().fit(table[:half], falls_ill[:half])
forest = RankingForest(n_estimators=100).fit(table[:half], falls_ill[:half])
new_rows = table[half:], falls_ill[half:]

# %%
# Which share of all who fall ill is found when one works down the list; and how many times more
# than in a list without order.

fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for model in (tree, forest):
    GainsDisplay.from_estimator(model, *new_rows, ax=axes[0])
    GainsDisplay.from_estimator(model, *new_rows, kind="lift", ax=axes[1])
plt.show()

# %%
# The shaded band holds the whole ROC curve with 95 % confidence, not only each of its points.

first = RocDisplay.from_estimator(tree, *new_rows, band=True)
RocDisplay.from_estimator(forest, *new_rows, band=True, ax=first.ax_)
plt.show()

# %%
# Where the scores of the two classes lie furthest apart (KS); whether the probabilities hold; and
# what acting on them is worth, net of false alarms, over the probability from which one would act.

fig, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
KsDisplay.from_estimator(tree, *new_rows, ax=axes[0])
for model in (tree, forest):
    CalibrationDisplay.from_estimator(model, *new_rows, ax=axes[1])
    DecisionCurveDisplay.from_estimator(model, *new_rows, ax=axes[2])
plt.show()

# %%
# The same pictures, with a cut-off to drag and the tree to prune, are in the one HTML file that
# :func:`treerank.report` writes.
