"""
What does a forest gain over one tree?
======================================

Two Gaussian classes in twenty dimensions: every feature contains a little information, none much.
A single tree can test only a few features of a row. A forest has many trees, each grown on a sample
of the rows and of the features, and together they test all of them.
"""

import matplotlib.pyplot as plt
import numpy as np

from treerank import LeafRank, RankingForest, TreeRank
from treerank.datasets import make_gaussians_20d
from treerank.metrics import instability

train = make_gaussians_20d(1000, "easy", random_state=0)
test = make_gaussians_20d(4000, "easy", random_state=1)

models = {
    "one tree": TreeRank().fit(train.X, train.y),
    "bagging": RankingForest.preset("bagging").fit(train.X, train.y),
    "RF4": RankingForest.preset("rf4").fit(train.X, train.y),
    "default forest": RankingForest().fit(train.X, train.y),
}
for name, model in models.items():
    print(f"{name:15} AUC {model.score(test.X, test.y):.3f}")
print(f"{'best possible':15} AUC {test.truth.auc:.3f}")

# %%
# More trees help up to a point, and never hurt. With ``warm_start=True`` a fit adds trees to those
# that exist.

sizes = [1, 2, 5, 10, 20, 50, 100, 200]
grown = {"exact cuts": 0.0, "half of the trees with random cuts": 0.5}
fig, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for label, share in grown.items():
    forest = RankingForest(warm_start=True, random_cut_share=share, shrinkage=10.0)
    auc = [
        forest.set_params(n_estimators=n).fit(train.X, train.y).score(test.X, test.y) for n in sizes
    ]
    ax.semilogx(sizes, auc, ".-", label=label)
ax.axhline(test.truth.auc, color="0.6", linestyle="--", label="best possible")
ax.axhline(models["one tree"].score(test.X, test.y), color="0.6", linestyle=":", label="one tree")
ax.set(xlabel="trees", ylabel="AUC on new rows")
ax.legend(loc="lower right")
plt.show()

# %%
# A forest also changes less when the training rows change. Instability is the mean distance between
# the rankings of new rows by models that were trained on bootstrap samples.

makers = {
    "one tree": lambda: TreeRank(LeafRank(max_depth=6), max_depth=8, pruning=None),
    "bagging": lambda: RankingForest.preset("bagging", n_estimators=20),
    "RF4": lambda: RankingForest.preset("rf4", n_estimators=20),
}
rng = np.random.default_rng(0)
samples = [rng.integers(0, 1000, size=1000) for _ in range(6)]
unstable = {}
for name, make in makers.items():
    scores = [make().fit(train.X[s], train.y[s]).score_samples(test.X) for s in samples]
    unstable[name] = instability(scores)
fig, ax = plt.subplots(figsize=(5, 2.2), layout="constrained")
ax.barh(list(unstable), list(unstable.values()), color="C0")
ax.invert_yaxis()
ax.set(xlabel="instability (mean Spearman distance)")
plt.show()
