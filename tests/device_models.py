"""Models that a device can grow, and a table for them."""

import numpy as np

from treerank import LeafRank, RankingForest, TreeRank


def table(n_classes=2, n=260):
    rng = np.random.default_rng(n_classes)
    x = rng.normal(size=(n, 4)).round(1)
    signal = x[:, 0] + x[:, 1] * x[:, 2] + rng.normal(size=n)
    x[rng.random(x.shape) < 0.05] = np.nan
    y = np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))
    return x, y, rng.uniform(0.5, 2, n).round(2)


MODELS = {
    "forest": RankingForest(n_estimators=5, max_bins=64, n_jobs=2),
    "deep forest": RankingForest(
        LeafRank(max_depth=None, min_samples_leaf=3, max_features=2), n_estimators=4, max_depth=1,
        random_cut_share=0.5, max_bins=64,
    ),
    "ranks": RankingForest(n_estimators=3, aggregation="mean_rank", max_bins=64),
    "tree": TreeRank(LeafRank(max_depth=2), max_bins=64),
    "tree, best first": TreeRank(LeafRank(max_leaf_nodes=4), max_bins=64),
}  # fmt: skip
