"""
How many trees does boosting need?
==================================

Each tree of :class:`~treerank.BoostedTreeRank` corrects those before it, until there is only noise
left to learn. Rows held out show where that is.
"""

import matplotlib.pyplot as plt
import numpy as np

from treerank import BoostedTreeRank
from treerank.datasets import make_gaussians_20d

train = make_gaussians_20d(3000, "easy", random_state=0)
new = make_gaussians_20d(10_000, "easy", random_state=1)

# %%
# With early stopping the AUC on the rows held out is kept after each tree; the number of trees that
# has the highest is used. Large steps get there sooner, and lower.

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
        f"learning rate {rate}: {model.n_estimators_} trees, AUC {held_out.max():.3f} on rows held "
        f"out, {model.score(new.X, new.y):.3f} on new ones"
    )
ax.axhline(train.truth.auc, color="0.4", ls=":", label="the best possible")
ax.set(xlabel="trees", ylabel="AUC on rows held out", ylim=(0.6, None))
ax.legend()
plt.show()

# %%
# The best of many AUCs is slightly optimistic: the AUC on new rows is what the model will do. Here
# all twenty features matter a little, which suits a sum of small trees.
