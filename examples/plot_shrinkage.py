"""
What does shrinkage do?
=======================

If nine of the twelve rows in a stratum are positive, its rate is 75 percent, but twelve rows are
few. Shrinkage moves the score of a stratum towards those of the larger cells above it: the fewer
rows a cell has, the less the difference between it and its parts counts.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from treerank import TreeRank

X, y = make_classification(
    n_samples=6000,
    n_features=10,
    n_informative=4,
    n_clusters_per_class=3,
    class_sep=0.7,
    flip_y=0.2,
    random_state=0,
)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=1500, random_state=0)

# %%
# The same tree, not pruned, with more and more shrinkage. The strata remain the same; only their
# scores change, and with them their order.

shrinkages = np.geomspace(1, 3000, 15)
trees = [TreeRank(pruning=None, shrinkage=s).fit(X_train, y_train) for s in shrinkages]
auc = [tree.score(X_test, y_test) for tree in trees]
plain = TreeRank(pruning=None, shrinkage=0.0).fit(X_train, y_train)
chosen = TreeRank(pruning=None, shrinkage="cv").fit(X_train, y_train)
print(f"{len(plain.partition_)} strata")
print(f"no shrinkage:       AUC on new rows {plain.score(X_test, y_test):.3f}")
print(f'shrinkage="cv":     AUC on new rows {chosen.score(X_test, y_test):.3f}')
print(f"strength it chose:  {chosen.shrinkage_:.0f} rows")

# %%
# Left: the AUC on new rows. The amount chosen on held-out training rows is close to the best one.
# Right: the score of every stratum without and with shrinkage; the size of a dot is that of the
# stratum, and the dotted line is the share of positives in the whole table.

stratum, one_row, rows = np.unique(plain.apply(X_train), return_index=True, return_counts=True)
before = plain.predict_proba(X_train)[one_row, 1]
after = chosen.predict_proba(X_train)[one_row, 1]

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
left.axhline(plain.score(X_test, y_test), color="0.6", label="no shrinkage")
left.semilogx(shrinkages, auc, ".-", label="fixed strength")
left.plot(chosen.shrinkage_, chosen.score(X_test, y_test), "r*", markersize=12, label='"cv"')
left.set(xlabel="strength (rows)", ylabel="AUC on new rows")
left.legend()
right.plot([0, 1], [0, 1], color="0.8", linewidth=1)
right.axhline(y_train.mean(), color="0.8", linewidth=1, linestyle=":")
right.scatter(before, after, s=rows, alpha=0.5)
right.set(xlabel="share of positives in the stratum", ylabel="probability after shrinkage")
plt.show()
