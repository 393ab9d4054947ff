"""
What if a tree is left to grow?
===============================

A ranking tree has two sizes: the number of strata, and the size of the LeafRank tree in each split.
Fig. 12 of Clémençon, Depecker and Vayatis (2011) compares four settings on 500 rows from a pair of
Gaussians: (i) at most 3 leaves for both, (ii) at most 15, (iii) no limit, (iv) both pruned by
cross-validation. This example repeats that table for ten samples, and draws the pictures of Fig.
13.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score

from treerank import LeafRank, TreeRank
from treerank.datasets import make_truncated_gaussians

# A node is split if it has at least 20 rows, and a leaf has at least 7, as in CART.
LIMITS = {"max_depth": None, "min_samples_leaf": 7, "min_samples_split": 20}


def fit_four(sample):
    plain = {"max_depth": None, "min_samples_leaf": 1, "pruning": None, "shrinkage": None}
    pruned = TreeRank(
        LeafRank(**LIMITS, pruning="cv"), max_depth=None, min_samples_leaf=1, shrinkage=None, cv=10
    )
    trees = {
        "(i) 3, 3": (TreeRank(LeafRank(**LIMITS, max_leaf_nodes=3), **plain), 3),
        "(ii) 15, 15": (TreeRank(LeafRank(**LIMITS, max_leaf_nodes=15), **plain), 15),
        "(iii) no limit": (TreeRank(LeafRank(**LIMITS), **plain), 10**6),
        "(iv) pruned": (pruned, 10**6),
    }
    for tree, _ in trees.values():
        tree.fit(sample.X, sample.y)
    return trees


def score(tree, most_strata, X):
    """Scores by the largest nested subtree with no more strata than that."""
    cells = tree.tree_
    lambdas, collapsed_at = cells.sequence
    sizes = [1 + np.sum(collapsed_at > k) for k in range(len(lambdas))]
    split = collapsed_at > next(k for k, size in enumerate(sizes) if size <= most_strata)
    cell_of = np.arange(cells.n_cells)
    for cell, parent in enumerate(cells.cells["parent"][1:], start=1):
        if not split[cell_of[parent]]:
            cell_of[cell] = cell_of[parent]
    return -cell_of[cells.leaves[tree.apply(X)]]


# %%
# The AUC on the training rows increases with the number of leaves. On new rows the small tree is
# too coarse, the large ones have learned noise, and the pruned one is best. The AUCs in the paper
# are 0.67, 0.67, 0.66 and 0.71, and the best possible AUC is 0.74.

new = make_truncated_gaussians(10_000, random_state=1000)
aucs = {}
for seed in range(10):
    train = make_truncated_gaussians(500, random_state=seed)
    for name, (tree, most) in fit_four(train).items():
        pair = [roc_auc_score(rows.y, score(tree, most, rows.X)) for rows in (train, new)]
        aucs.setdefault(name, []).append(pair)
print("setting          training   new rows")
for name, pairs in aucs.items():
    learning, test = np.mean(pairs, axis=0)
    print(f"{name:15s}     {learning:.3f}      {test:.3f}")
print(f"the truth                      {new.truth.auc:.3f}")

# %%
# The strata for the last sample; the white lines are level lines of the true rate.

axis = (np.arange(250) + 0.5) / 250
grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
rate = new.truth.posterior(grid).reshape(250, 250)
fig, axes = plt.subplots(1, 4, figsize=(14, 3.9), sharey=True, layout="constrained")
for ax, (name, (tree, most)) in zip(axes, fit_four(train).items(), strict=True):
    strata = np.unique(score(tree, most, grid), return_inverse=True)[1]
    ax.pcolormesh(axis, axis, strata.reshape(250, 250), cmap="viridis")
    ax.contour(axis, axis, rate, levels=[0.2, 0.35, 0.5, 0.65, 0.8], colors="white")
    ax.set(title=f"{name}: {strata.max() + 1} strata", aspect="equal", xlabel="$x_0$")
axes[0].set_ylabel("$x_1$")
plt.show()
