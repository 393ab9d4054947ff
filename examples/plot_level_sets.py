"""
What do the strata look like in the plane?
==========================================

With two features the strata can be drawn. They should resemble the level sets of the true rate of
positives, which is unknown for real data. Here the data are simulated, so it is known.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score

from treerank import LeafRank, TreeRank
from treerank.plots import LevelSetDisplay


def true_rate(x):
    """A hill with its top at (0.35, 0.6) and a second, lower one."""
    first = np.exp(-(((x - [0.35, 0.6]) / [0.18, 0.22]) ** 2).sum(axis=-1))
    second = np.exp(-(((x - [0.8, 0.25]) / [0.12, 0.12]) ** 2).sum(axis=-1))
    return 0.05 + 0.85 * first + 0.5 * second


rng = np.random.default_rng(0)
X = rng.random((6000, 2))
y = (rng.random(6000) < true_rate(X)).astype(int)
X_new = rng.random((20_000, 2))
y_new = (rng.random(20_000) < true_rate(X_new)).astype(int)

model = TreeRank(LeafRank(max_depth=2)).fit(X, y)
print(f"strata:                {len(model.partition_)}")
print(f"AUC of the tree:       {model.score(X_new, y_new):.3f}")
print(f"AUC of the true rate:  {roc_auc_score(y_new, true_rate(X_new)):.3f}")

# %%
# Left: the true rate. Right: the estimate of the tree. The lines on both are level lines of the
# true rate. A stratum is a union of boxes, so a single stratum can cover parts of both hills.


def draw_level_sets(ax, grid, rate, title):
    ax.pcolormesh(axis, axis, rate, vmin=0, vmax=0.9, cmap="viridis")
    ax.contour(axis, axis, true_rate(grid), levels=[0.1, 0.3, 0.5, 0.7], colors="white")
    ax.set(title=title, aspect="equal", xlabel="$x_0$")


axis = np.linspace(0, 1, 300)
grid = np.stack(np.meshgrid(axis, axis), axis=-1)
estimate = model.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(300, 300)
fig, axes = plt.subplots(1, 2, figsize=(9, 4.5), sharey=True, layout="constrained")
draw_level_sets(axes[0], grid, true_rate(grid), "true rate of positives")
draw_level_sets(axes[1], grid, estimate, f"tree with {len(model.partition_)} strata")
axes[0].set_ylabel("$x_1$")
plt.show()

# %%
# With a small tree the strata can be told apart by eye.

small = TreeRank(LeafRank(max_depth=2), max_depth=2).fit(X, y)
LevelSetDisplay.from_estimator(small, X[:500], y=y[:500])
plt.show()
