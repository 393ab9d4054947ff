"""
When is a classifier the better splitter?
=========================================

Twenty features, of which each says a little: two Gaussian classes whose best score is a smooth
function of all of them. A split by single tests has to choose a few features, a support vector
machine uses all at once. This is the easy one of the three artificial sets in Clémençon, Depecker
and Vayatis (2013), where trees with SVM splits came out ahead too.
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
# Few strata do it, if each is cut by a surface rather than by a box. What is lost is the reading: a
# stratum is then "the better side of the SVM". A forest ranks better still on such data.

for name, model in models.items():
    size = f"{len(model.partition_)} strata" if hasattr(model, "partition_") else "100 trees"
    print(f"{name:18s} AUC {model.score(new.X, new.y):.3f}  {size}")
print(f"{'the truth':18s} AUC {train.truth.auc:.3f}")
print("rule of the best stratum:", models["SVM splits"].partition_.rules()[0])
