"""
How large should the tree be?
=============================

A tree without limits memorises the training rows. Pruning merges strata again, starting with those
that add least to the AUC for their number; held-out rows decide where to stop. If the labels are
noise, only the root should be left: a single stratum, and no order at all.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification

from treerank import TreeRank

X, y = make_classification(
    n_samples=2000,
    n_features=10,
    n_informative=4,
    n_clusters_per_class=3,
    class_sep=0.7,
    flip_y=0.2,
    random_state=0,
)
noise = np.random.default_rng(0).permutation(y)

# %%
# ``pruning_path_`` lists the nested subtrees, from the whole tree to the root, with their AUC on
# the training rows and on held-out rows. ``shrinkage=None`` keeps the order of the tree, to show
# the effect of pruning alone.

trees = {
    "labels that follow the features": TreeRank(shrinkage=None).fit(X, y),
    "the same labels, shuffled": TreeRank(shrinkage=None).fit(X, noise),
}
for name, tree in trees.items():
    path = tree.pruning_path_
    print(f"{name}: {path.n_leaves[0]} strata grown, {path.n_leaves[path.chosen]} kept")


# %%
# On the training rows, more strata always look better. On held-out rows, the curve of the real
# labels is flat after the first dozen strata, and that of the shuffled labels stays near 1/2.


def draw_path(ax, path):
    ax.plot(path.n_leaves, path.train_auc, color="tab:gray", label="training rows")
    ax.errorbar(
        path.n_leaves,
        path.heldout_auc,
        path.heldout_std_error,
        fmt=".-",
        color="tab:blue",
        elinewidth=1,
        label="held-out rows",
    )
    ax.axvline(path.n_leaves[path.chosen], color="tab:red", linestyle=":", label="chosen")
    ax.axhline(0.5, color="0.8", linewidth=1)
    ax.set(xlabel="strata", xscale="log", ylim=(0.42, 1))


fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for ax, (name, tree) in zip(axes, trees.items(), strict=True):
    draw_path(ax, tree.pruning_path_)
    ax.set_title(name)
axes[0].set_ylabel("AUC")
axes[0].legend(loc="lower right")
plt.show()

# %%
# Where a flat curve has its maximum is a matter of chance. The one-standard-error rule takes the
# smallest tree that is not clearly worse.

small = TreeRank(shrinkage=None, one_standard_error=True).fit(X, y)
path = small.pruning_path_
best = np.argmax(path.heldout_auc)
for name, k in [("best", best), ("one standard error", path.chosen)]:
    print(f"{name:18s}  {path.n_leaves[k]:3d} strata, held-out AUC {path.heldout_auc[k]:.3f}")
