"""
What do the level sets of a forest look like?
=============================================

One tree cuts the plane into boxes. A forest averages many trees, so its score is smooth although
that of a tree is not. Its shrinkage, chosen on out-of-bag rows, keeps it from following single
rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from treerank import RankingForest, TreeRank


def true_rate(x):
    """A ring around the middle of the square."""
    radius = np.hypot(x[..., 0] - 0.5, x[..., 1] - 0.5)
    return 0.08 + 0.8 * np.exp(-(((radius - 0.3) / 0.08) ** 2))


rng = np.random.default_rng(0)
X = rng.random((2000, 2))
y = (rng.random(2000) < true_rate(X)).astype(int)
X_new = rng.random((4000, 2))
y_new = (rng.random(4000) < true_rate(X_new)).astype(int)

models = {
    "one tree": TreeRank(),
    "forest, no shrinkage": RankingForest(shrinkage=None),
    "forest": RankingForest(oob_score=True),
    "forest split by SVMs": RankingForest(SVC(), n_estimators=6, max_depth=3, max_samples=400),
}
for name, model in models.items():
    model.fit(X, y)
    print(f"{name:21} AUC on new rows {model.score(X_new, y_new):.3f}")
print(f"chosen shrinkage: {models['forest'].shrinkage_:g} rows")
print(f"AUC on out-of-bag rows: {models['forest'].oob_auc_:.3f}")

# %%
# The white lines are level sets of the true rate of positives.

axis = np.linspace(0, 1, 100)
grid = np.stack(np.meshgrid(axis, axis), axis=-1)
fig, axes = plt.subplots(2, 2, figsize=(8, 8), sharex=True, sharey=True, layout="constrained")
for ax, (name, model) in zip(axes.flat, models.items(), strict=True):
    rate = model.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(100, 100)
    ax.pcolormesh(axis, axis, rate, vmin=0, vmax=0.9, cmap="viridis")
    ax.contour(axis, axis, true_rate(grid), levels=[0.3, 0.6], colors="white", linewidths=1)
    ax.set(title=name, aspect="equal")
plt.show()
