"""
From a score to a decision: which grade, how many points, and how certain?
==========================================================================

A bank cannot act on a score alone. It needs a few grades with different default rates, and points
on a scale that its staff know. It also needs to know whether the figures, and the grade of a
customer, would have been the same with another sample.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from treerank import TreeRank
from treerank.plots import CalibrationDisplay, GradesDisplay, InstabilityDisplay
from treerank.scoring import Grades, Points, Scorecard, validate

rng = np.random.default_rng(0)
n = 6000
loans = pd.DataFrame(
    {
        "income": rng.lognormal(3.4, 0.45, n).round(1),
        "amount": rng.lognormal(2.0, 0.7, n).round(1),
        "late_payments": rng.poisson(0.5, n),
    }
)
risk = -3 + 1.2 * loans.late_payments.clip(upper=3) + 2 * (loans.amount > 0.35 * loans.income)
default = (rng.random(n) < 1 / (1 + np.exp(-risk))).astype(int)
train, new = slice(0, 3000), slice(3000, None)

# %%
# Strata of the tree are merged into grades that differ at the 95% level on held-out rows; the best
# grade has the lowest risk. The odds of repayment double with every 20 points.

card = Scorecard(
    TreeRank(),
    grades=Grades(6, names=["A", "B", "C", "D", "E", "F"], reverse=True),
    points=Points(pdo=20, base_score=600, base_odds=50, reverse=True),
).fit(loans[train], default[train])
table = card.to_frame()
print(table[["grade", "rows", "event_rate", "points_from", "points_to"]].round(3).to_string())

# %%
# On new rows the grades keep their order, and the probabilities are right.

fig, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
scores = card.score_samples(loans[new])
GradesDisplay.from_grades(card.grades_, scores, default[new], ax=axes[0])
CalibrationDisplay.from_estimator(card, loans[new], default[new], name="calibrated", ax=axes[1])
plt.show()

# %%
# Repeating the whole procedure on bootstrap samples shows how optimistic its own figures are, and
# what another sample would have predicted for each customer. Near a cut-off of 20%, decisions
# often change from sample to sample.

found = validate(TreeRank(), loans[train], default[train], n_boot=40, n_jobs=2)
print(found)
fig, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
InstabilityDisplay.from_validation(found, ax=axes[0])
InstabilityDisplay.from_validation(found, kind="classification", cutoff=0.2, ax=axes[1])
plt.show()
