"""
Why does a row have its score?
==============================

A forest of ranking trees cannot be read like a rule. :func:`~treerank.inspection.attributions`
divides each score exactly among the features, here for a simulated table, where we know what
matters.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from treerank import RankingForest
from treerank.inspection import attributions, reasons
from treerank.plots import AttributionDependenceDisplay, BeeswarmDisplay, WaterfallDisplay

rng = np.random.default_rng(0)
n = 2000
X = pd.DataFrame(
    {
        "utilisation": rng.beta(1.5, 2.5, n).round(2),
        "years": rng.integers(0, 30, n),
        "inquiries": rng.poisson(1, n),
        "noise": rng.normal(size=n).round(2),
    }
)
# Inquiries matter only for those who use a large part of their credit.
risk = 4 * X.utilisation - 0.08 * X.years + 0.9 * X.inquiries * (X.utilisation > 0.4)
y = (risk + rng.logistic(size=n) > 2).astype(int)
model = RankingForest(n_estimators=50, n_jobs=2).fit(X[:1000], y[:1000])

# %%
# One row: from the mean score of a baseline to its own score. Bars to the right increase the risk.

found = attributions(model, X[1000:1300], baseline=X[:64], interactions=True)
worst = int(found.scores.argmax())
WaterfallDisplay.from_attributions(found, worst)
plt.show()

# %%
# The reasons in words, compared with applicants whose risk is low:

for reason in reasons(
    model, X[1000:1300].iloc[[worst]], baseline=X[:1000], reference="approved", direction="up"
)[0]:
    print(reason)

# %%
# All rows, one dot for each; red means a large value of the feature.

BeeswarmDisplay.from_attributions(found)
plt.show()

# %%
# One feature, coloured by the one that it interacts with most: inquiries increase the risk most for
# those who use a large part of their credit.

display = AttributionDependenceDisplay.from_attributions(found, "inquiries")
print("strongest interaction:", found.feature_names[display.color_by])
plt.show()
