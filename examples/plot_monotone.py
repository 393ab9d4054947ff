"""
Can the score be forced to increase with a feature?
===================================================

A lender may have to promise that one more late payment never makes a loan look safer. A tree that
follows the noise in a small table does not keep that promise. ``monotonic_cst`` guarantees it, for
any two rows that differ only in that feature.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from treerank import TreeRank

rng = np.random.default_rng(0)
n = 800
table = pd.DataFrame({"late_payments": rng.integers(0, 13, n), "debt": rng.random(n).round(2)})
risk = 1 / (1 + np.exp(2 - 0.12 * table.late_payments - 1.5 * table.debt))
failed = (rng.random(n) < risk).astype(int)

# %%
# The same tree without and with the constraint. Neither is pruned, so that the noise is visible.

free = TreeRank(pruning=None).fit(table, failed)
promise = TreeRank(pruning=None, monotonic_cst={"late_payments": 1}).fit(table, failed)

# %%
# The score of one person as a function of the number of late payments, for several amounts of debt.

late = np.arange(13)
fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for ax, model, title in [
    (axes[0], free, "free"),
    (axes[1], promise, 'monotonic_cst={"late_payments": 1}'),
]:
    for debt, color in zip(
        [0.1, 0.4, 0.7, 0.95], plt.cm.viridis([0.1, 0.4, 0.7, 0.9]), strict=True
    ):
        person = pd.DataFrame({"late_payments": late, "debt": debt})
        ax.step(late, model.predict_proba(person)[:, 1], where="mid", color=color, label=f"{debt}")
    ax.set(title=title, xlabel="late payments")
axes[0].set_ylabel("share of loans that fail")
fig.legend(*axes[1].get_legend_handles_labels(), title="debt", loc="outside right upper")
plt.show()

# %%
# The constraint holds for every amount of debt, not only for the four that are drawn.


def largest_fall(model):
    """Largest drop of the score when only the late payments increase."""
    grid = pd.DataFrame(
        {"late_payments": np.tile(late, 101), "debt": np.repeat(np.linspace(0, 1, 101), 13)}
    )
    scores = model.score_samples(grid).reshape(101, 13)
    return max(0.0, -np.diff(scores, axis=1).min())


print(f"free:        falls by up to {largest_fall(free):.3f}")
print(f"constrained: falls by up to {largest_fall(promise):.3f}")
