"""
Can boxes follow a curved boundary?
===================================

Two Gaussian classes, truncated to the unit square. The level sets of the true rate of positives
have curved, slanted boundaries, while the strata of a tree have corners. This is the second example
of Clémençon, Depecker and Vayatis (2011), section 6.2; the tougher pair corresponds to their Fig.
11.
"""

import matplotlib.pyplot as plt
import numpy as np

from treerank import LeafRank, TreeRank
from treerank.datasets import make_truncated_gaussians
from treerank.plots import RocDisplay

axis = (np.arange(250) + 0.5) / 250
grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)


def draw_maps(row, train, model):
    for label, colour in [(0, "tab:red"), (1, "tab:blue")]:
        points = train.X[train.y == label][:250]
        row[0].plot(*points.T, "o", color=colour, markersize=2.5, label=f"class {label}")
    row[0].set(title="500 of the training rows", ylabel="$x_1$")
    row[0].legend(loc="upper right", framealpha=1)
    rate = train.truth.posterior(grid).reshape(250, 250)
    tree_rate = model.predict_proba(grid)[:, 1].reshape(250, 250)
    for ax, values, title in [(row[1], rate, "true rate"), (row[2], tree_rate, "strata")]:
        ax.pcolormesh(axis, axis, values, cmap="viridis", vmin=0, vmax=1)
        ax.contour(axis, axis, rate, levels=[0.2, 0.35, 0.5, 0.65, 0.8], colors="white")
        ax.set_title(title)
    for ax in row:
        ax.set(aspect="equal", xlabel="$x_0$", xlim=(0, 1), ylim=(0, 1))


# %%
# Rows, true rate and strata; the white lines are level lines of the true rate. Each split is a
# LeafRank tree of depth 4 that is pruned, so that it consists of several boxes where the boundary
# needs them, and of a single test where that is enough.

models = {}
fig, axes = plt.subplots(2, 3, figsize=(11, 7.5), layout="constrained")
for row, variant in zip(axes, ["pair", "tough"], strict=True):
    train = make_truncated_gaussians(2000, variant=variant, random_state=0)
    models[variant] = TreeRank(LeafRank(max_depth=4, pruning="cv")).fit(train.X, train.y)
    draw_maps(row, train, models[variant])
plt.show()

# %%
# The ROC curves on new rows; the best possible ones are dotted. Approximating the boundary by boxes
# costs little AUC for the first pair, and more for the second, whose boundary runs along the
# diagonal.

fig, axes = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained")
for ax, (variant, model) in zip(axes, models.items(), strict=True):
    new = make_truncated_gaussians(20_000, variant=variant, random_state=1)
    RocDisplay.from_estimator(model, new.X, new.y, optimal=new.truth.roc[:2], ax=ax)
    ax.set_title(variant)
    print(f"{variant:6s} {len(model.partition_):2d} strata, AUC {model.score(new.X, new.y):.4f}, "
          f"best possible {new.truth.auc:.4f}")  # fmt: skip
plt.show()
