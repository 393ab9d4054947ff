"""
Which cases come first?
=======================

The breast cancer table of scikit-learn has thirty measurements of 569 tumours. We want a list
of the tumours with the malignant ones on top, and a reason for every place in the list.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from treerank import TreeRank
from treerank.plots import RocDisplay, TreeDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
malignant = (y == 0).astype(int)
X_train, X_test, y_train, y_test = train_test_split(X, malignant, random_state=0)

# %%
# With ``max_depth=2`` a tree has at most four strata, few enough to remember. It is compared with
# the default tree.

short = TreeRank(max_depth=2).fit(X_train, y_train)
full = TreeRank().fit(X_train, y_train)
for name, model in [("short tree", short), ("default tree", full)]:
    auc = model.score(X_test, y_test)
    print(f"{name:12s}  {len(model.partition_)} strata, AUC on new rows {auc:.3f}")

# %%
# The strata, best first. ``event_rate`` is the share of malignant tumours among the training
# rows in a stratum, ``cumulative_tpr`` the share of all malignant ones found so far.

pd.set_option("display.max_colwidth", None)
columns = ["rows", "event_rate", "cumulative_tpr", "rule"]
short.partition_.to_frame()[columns].round(3)

# %%
# The ROC curve of a tree consists of straight lines, one for each stratum. On the training rows it
# follows from the counts of the tree; on new rows it shows how good the order is.

fig, ax = plt.subplots(figsize=(6, 6), layout="constrained")
RocDisplay.from_estimator(short, X_test, y_test, name="short tree", training=True, ax=ax)
RocDisplay.from_estimator(full, X_test, y_test, name="default tree", ax=ax)
plt.show()

# %%
# The short tree itself: rows that satisfy a rule go to the left, the better side.

TreeDisplay.from_estimator(short)
plt.show()

# %%
# The same tree as a list to work through: how many tumours are in each stratum, and how many of
# them are malignant.

counts = short.partition_.counts
place = range(len(counts))
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.barh(place, counts[:, 1], color="tab:red", label="malignant")
ax.barh(place, counts[:, 0], left=counts[:, 1], color="tab:green", label="benign")
ax.invert_yaxis()
ax.set(xlabel="training rows", ylabel="stratum", yticks=place)
ax.legend()
plt.show()
