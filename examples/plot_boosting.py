"""
How many trees does boosting need?
==================================

Each tree of :class:`~treerank.BoostedTreeRank` corrects those before it, until only noise is left
to learn. Held-out rows show when that happens.
"""

import matplotlib.pyplot as plt
import numpy as np

from treerank import BoostedTreeRank
from treerank.datasets import make_gaussians_20d

train = make_gaussians_20d(3000, "easy", random_state=0)
new = make_gaussians_20d(10_000, "easy", random_state=1)

# %%
# With early stopping, the AUC on held-out rows is recorded after each tree, and the number of trees
# with the highest AUC is used. A large learning rate needs fewer trees but ends at a lower AUC.

fig, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for rate in (0.4, 0.1, 0.05):
    model = BoostedTreeRank(
        600, learning_rate=rate, early_stopping=True, validation_fraction=0.3, n_iter_no_change=150
    ).fit(train.X, train.y)
    held_out = model.validation_scores_
    trees = np.arange(1, len(held_out) + 1)
    (line,) = ax.plot(trees, held_out, label=f"learning rate {rate}")
    ax.plot(model.n_estimators_, held_out.max(), "o", color=line.get_color())
    print(
        f"learning rate {rate}: {model.n_estimators_} trees, AUC {held_out.max():.3f} on held-out "
        f"rows, {model.score(new.X, new.y):.3f} on new ones"
    )
ax.axhline(train.truth.auc, color="0.4", ls=":", label="the best possible")
ax.set(xlabel="trees", ylabel="AUC on held-out rows", ylim=(0.6, None))
ax.legend()
plt.show()

# %%
# The best of many AUCs is slightly optimistic, so the AUC on new rows is the one to expect. Here
# all twenty features matter a little, which suits a sum of small trees.
