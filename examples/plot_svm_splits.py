"""
When is a classifier the better splitter?
=========================================

Two Gaussian classes in twenty dimensions: each feature contains a little information, and the best
score is a smooth function of all of them. A split by single tests has to choose a few features,
whereas a support vector machine uses all of them at once. This is the easiest of the three
simulated sets in Clémençon, Depecker and Vayatis (2013), where trees with SVM splits were ahead,
too.
"""

import matplotlib.pyplot as plt
from sklearn.svm import SVC

from treerank import RankingForest, TreeRank
from treerank.datasets import make_gaussians_20d
from treerank.plots import RocDisplay

train = make_gaussians_20d(1000, "easy", random_state=0)
new = make_gaussians_20d(10_000, "easy", random_state=1)

# %%
# Three ways to rank: the default tree, a tree whose splits are Gaussian SVMs, and a forest. The
# dotted curve is the best possible. A small ``C`` holds the SVM back: one that fits its rows almost
# perfectly leaves nothing to split.

models = {
    "tests of LeafRank": TreeRank(),
    "SVM splits": TreeRank(splitter=SVC(kernel="rbf", C=0.1), max_depth=3, cv=3),
    "forest": RankingForest(n_estimators=100, random_state=0),
}
fig, ax = plt.subplots(figsize=(6, 6), layout="constrained")
for name, model in models.items():
    model.fit(train.X, train.y)
    optimal = train.truth.roc[:2] if name == "forest" else None
    RocDisplay.from_estimator(model, new.X, new.y, name=name, optimal=optimal, ax=ax)
plt.show()

# %%
# A few strata are enough if their boundaries are curved surfaces rather than boxes. But they can no
# longer be read: the rule of a stratum is then "better side of the SVM". A forest ranks even better
# on such data.

for name, model in models.items():
    size = f"{len(model.partition_)} strata" if hasattr(model, "partition_") else "100 trees"
    print(f"{name:18s} AUC {model.score(new.X, new.y):.3f}  {size}")
print(f"{'the truth':18s} AUC {train.truth.auc:.3f}")
print("rule of the best stratum:", models["SVM splits"].partition_.rules()[0])
