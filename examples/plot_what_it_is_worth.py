"""
What is a ranking worth to those who act on it?
===============================================

The AUC is a single number. Those who use a ranking have other questions: how many events are in the
top tenth, which score separates the classes best, whether a probability of 30% means 30%, and
whether acting on the model is better than acting on everyone. There is a picture for each question,
for a tree and a forest, on rows that neither has seen.
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
# The share of all patients who fall ill that is found by working down the list; and how many times
# more that is than in a list in random order.

fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for model in (tree, forest):
    GainsDisplay.from_estimator(model, *new_rows, ax=axes[0])
    GainsDisplay.from_estimator(model, *new_rows, kind="lift", ax=axes[1])
plt.show()

# %%
# The shaded band contains the whole ROC curve with 95% confidence, not only each of its points.

first = RocDisplay.from_estimator(tree, *new_rows, band=True)
RocDisplay.from_estimator(forest, *new_rows, band=True, ax=first.ax_)
plt.show()

# %%
# Where the scores of the two classes are furthest apart (KS); whether the probabilities are right;
# and the net benefit of acting on them: events found minus false alarms, weighted as the threshold
# implies.

fig, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
KsDisplay.from_estimator(tree, *new_rows, ax=axes[0])
for model in (tree, forest):
    CalibrationDisplay.from_estimator(model, *new_rows, ax=axes[1])
    DecisionCurveDisplay.from_estimator(model, *new_rows, ax=axes[2])
plt.show()

# %%
# The same pictures, with a cut-off to drag and the tree to prune, are in the one HTML file that
# :func:`treerank.report` writes.
