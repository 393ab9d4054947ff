"""
What does the distance to the decision boundary add?
====================================================

A tree gives the same score to all cases in a leaf. Geometric ranking distinguishes them without
changing the tree: a positive case far from the decision boundary is ranked before one that is close
to it.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from treerank import GeometricRanker
from treerank.plots import RocDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = (y == 0).astype(int)  # malignant first
features = ["mean concave points", "worst area"]
X_train, X_test, y_train, y_test = train_test_split(
    X[features], y, test_size=0.5, stratify=y, random_state=0
)
tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X_train, y_train)
rankers = {
    "leaves alone": GeometricRanker(tree, ranking=None).fit(X_train),
    "local": GeometricRanker(tree, ranking="local").fit(X_train),
    "global": GeometricRanker(tree, ranking="global").fit(X_train),
}
for name, ranker in rankers.items():
    print(f"{name:13} AUC on new rows {ranker.score(X_test, y_test):.3f}")

# %%
# The ranking in the plane: blue where the tree predicts benign and red where it predicts malignant,
# from pale to dark by rank on each side. The leaves alone give steps. With global ranking, the
# score increases with the distance from the boundary, which is drawn in black; local ranking keeps
# the order of the leaves and ranks by distance inside each. The crosses are new cases that the tree
# gets wrong: most lie near the boundary, where the colours of the global ranking are pale.


def rank_by_side(score):
    """Ranks from 0 to 1 on the positive side, from 0 to -1 on the other."""
    ranks = np.empty(score.shape)
    for inside, sign in ((decided == 1, 1), (decided == 0, -1)):
        ranks[inside] = sign * rankdata(sign * score[inside]) / inside.sum()
    return ranks


concave, area = np.meshgrid(np.linspace(0, 0.15, 200), np.linspace(200, 2000, 200))
grid = pd.DataFrame({features[0]: concave.ravel(), features[1]: area.ravel()})
decided = tree.predict(grid).reshape(concave.shape)
wrong = X_test[tree.predict(X_test) != y_test]

fig, axes = plt.subplots(1, 3, figsize=(11, 3.8), sharey=True, layout="constrained")
for ax, (name, ranker) in zip(axes, rankers.items(), strict=True):
    score = ranker.score_samples(grid).reshape(concave.shape)
    ax.pcolormesh(concave, area, rank_by_side(score), cmap="RdBu_r", vmin=-1, vmax=1)
    ax.contour(concave, area, decided, levels=[0.5], colors="black", linewidths=1.5)
    ax.plot(*wrong.to_numpy().T, "kx", markersize=5)
    ax.set(title=name, xlabel=features[0], xlim=(0, 0.15), ylim=(200, 2000))
axes[0].set_ylabel(features[1])
plt.show()

# %%
# The effect on the ROC curve.

fig, ax = plt.subplots(figsize=(5, 5), layout="constrained")
for name, ranker in rankers.items():
    RocDisplay.from_predictions(y_test, ranker.score_samples(X_test), name=name, ax=ax)
plt.show()

# %%
# What would have to change in a single case for the tree to decide differently.

cases = X_test.head(4)
said = rankers["global"].boundary_point(cases).in_words()
for case, words in zip(cases.index, said, strict=True):
    print(f"case {case}: {words}")
