"""
What about categories and missing values?
=========================================

Text, boolean and category columns of a data frame are treated as categories. Missing values need no
imputation: each split learns to which side they go.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from treerank import TreeRank

# %%
# A simulated table of loans. Loans for a business or a holiday fail more often than others, and so
# do large loans on a small income. Borrowers who do not state their income fail most often.

rng = np.random.default_rng(1)
n = 3000
credit = pd.DataFrame(
    {
        "income": rng.lognormal(3.4, 0.4, n).round(1),
        "amount": rng.lognormal(2.0, 0.6, n).round(1),
        "purpose": rng.choice(["car", "furniture", "business", "holiday"], n),
        "owns_home": rng.random(n) < 0.5,
    }
)
risk = (
    0.05
    + 0.25 * (credit.amount > 0.3 * credit.income)
    + 0.15 * credit.purpose.isin(["business", "holiday"])
    + 0.10 * ~credit.owns_home
)
silent = rng.random(n) < 0.15
credit.loc[silent, "income"] = np.nan
failed = (rng.random(n) < risk + 0.25 * silent).astype(int)
credit.head()

# %%
# The table needs no preparation.

model = TreeRank(max_depth=3).fit(credit, failed)
pd.set_option("display.max_colwidth", None)
model.partition_.to_frame()[["rows", "event_rate", "rule"]].round(3)

# %%
# A purpose that was not in the training table counts as missing. If a split has seen no missing
# purpose in training, a missing one goes to the side with most of the rows.

new = pd.DataFrame(
    {
        "income": [25.0, np.nan, 25.0, 25.0],
        "amount": [12.0, 12.0, 12.0, 12.0],
        "purpose": ["holiday", "holiday", "spaceship", None],
        "owns_home": [False, False, False, False],
    }
)
new.assign(stratum=model.apply(new), probability=model.predict_proba(new)[:, 1].round(3))

# %%
# How often loans of each kind failed, and what the model predicts on average.

credit["kind"] = credit.purpose + np.where(silent, ", income unknown", "")
by_kind = pd.DataFrame(
    {
        "failed": failed,
        "model": model.predict_proba(credit.drop(columns="kind"))[:, 1],
        "kind": credit.kind,
    }
)
rates = by_kind.groupby("kind").mean().sort_values("failed")
ax = rates.plot.barh(figsize=(7, 4), color=["0.6", "tab:blue"])
ax.set(xlabel="share of loans that failed", ylabel="")
ax.figure.set_layout_engine("constrained")
plt.show()
