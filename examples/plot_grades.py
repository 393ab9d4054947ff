"""
Grades: where is each class in the ranking?
===========================================

Three ordered classes come from three overlapping Gaussians, whose best ROC surface is known. A
forest ranks new rows. The first picture shows where the rows of each class are in the ranking; the
second shows the ROC surface and the best possible one.
"""

# %%
from treerank import RankingForest
from treerank.datasets import make_ordinal_gaussians
from treerank.plots import ClassRankDisplay, RocSurfaceDisplay

train = make_ordinal_gaussians(3000, random_state=0)
test = make_ordinal_gaussians(3000, random_state=1)
forest = RankingForest(n_estimators=100).fit(train.X, train.y)
vus = forest.score(test.X, test.y)
print(f"VUS on new rows {vus:.3f}; the best there is {train.truth.vus:.3f}; a random order 0.167")

# %%
# A perfect ranking would show three bands one after another. The middle class overlaps both others,
# which is what keeps the best VUS far below 1.
display = ClassRankDisplay.from_estimator(forest, test.X, test.y)
_ = display.ax_.set_title(f"three classes, VUS {vus:.3f}")

# %%
# Each point of the surface belongs to a pair of cut-offs, which divide the ranking into three
# parts. Its coordinates are the shares of the three classes that are in the right part.
_ = RocSurfaceDisplay.from_estimator(forest, test.X, test.y, optimal=train.truth.roc_surface)
