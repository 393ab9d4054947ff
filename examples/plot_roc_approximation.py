"""
How fast do strata approach the best curve?
===========================================

If the true distribution were known, a ranking tree could be built without data: between two points
of the best ROC curve, add the point where the tangent is parallel to the chord, and repeat.
TreeRank does the same with a sample. So the error of this scheme is that of a tree of the same
depth without any sampling error [1]_. Where the curvature is bounded, it decreases by a factor of 4
with each level.

.. [1] S. Clémençon, N. Vayatis, "Tree-structured ranking rules and approximation of the optimal ROC
   curve", 2008.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import truncexpon

from treerank.approximation import approximate_roc
from treerank.datasets import make_truncated_gaussians

gaussians = make_truncated_gaussians(random_state=0).truth

# %%
# The best curve of two Gaussian classes, and its approximations by 2, 4 and 8 pieces. At each knot
# a stratum ends; it corresponds to a level of the true rate of positives.

fig, ax = plt.subplots(figsize=(5.5, 5.5), layout="constrained")
ax.plot(*gaussians.roc[:2], color="black", linewidth=3, alpha=0.25, label="best curve")
for depth, colour in [(1, "tab:orange"), (2, "tab:green"), (3, "tab:blue")]:
    rough = approximate_roc(gaussians, depth)
    label = f"{2**depth} strata, {rough.l1_distance:.4f} below"
    ax.plot(rough.fpr, rough.tpr, "o-", color=colour, linewidth=1, markersize=4, label=label)
ax.plot([0, 1], [0, 1], color="0.8", linewidth=1)
ax.set(xlabel="false positive rate", ylabel="true positive rate", aspect="equal")
ax.legend(loc="lower right")
plt.show()

# %%
# The errors down to depth 8, on a logarithmic scale. The grey line decreases by a factor of 4 per
# level, and so does the area between the curves for both models. The largest gap does so only for
# the exponential model, whose curve has a bounded curvature. The curvature of the Gaussian curve is
# unbounded at its ends, and there the gap decreases by a factor of (9/4)^1.5 = 3.4.


def exponential(fpr):
    """Best curve of an exponential density against the uniform one, on [0, 1]."""
    return truncexpon.cdf(3 * np.asarray(fpr), b=3)


depths = np.arange(9)
fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for ax, (name, curve) in zip(
    axes, {"exponential": exponential, "two Gaussians": gaussians}.items(), strict=True
):
    found = [approximate_roc(curve, depth) for depth in depths]
    gap = np.array([a.sup_distance for a in found])
    area = np.array([a.l1_distance for a in found])
    ax.semilogy(depths, gap[0] * 4.0**-depths, color="0.8", linewidth=4, label="÷ 4 a level")
    ax.semilogy(depths, gap, "o-", color="tab:red", label="largest gap")
    ax.semilogy(depths, area, "s-", color="tab:blue", label="area between the curves")
    ax.set(title=name, xlabel="depth")
    print(f"{name}: from depth 7 to 8 the gap falls by {gap[7] / gap[8]:.2f}, "
          f"the area by {area[7] / area[8]:.2f}")  # fmt: skip
axes[0].set_ylabel("distance to the best curve")
axes[0].legend()
plt.show()
