"""Paper 003 once more: one ranking tree beside bagging and RF1 to RF6 on its Gaussian pairs."""

from functools import partial
from statistics import mean
from typing import Any

import numpy as np

from benchmarks.common import Figure, fingerprint, markdown_table, remember
from treerank import LeafRank, RankingForest, TreeRank
from treerank.datasets import make_gaussians_20d
from treerank.metrics import instability, local_auc_score

PAIRS = ["easy", "medium", "hard"]
ONE_TREE = "one tree"
VARIANTS = [ONE_TREE, "bagging", "rf1", "rf2", "rf3", "rf4", "rf5", "rf6"]
N_ROWS = 1_000
REPEATS, QUICK_REPEATS = 30, 3
BOOTSTRAPS, QUICK_BOOTSTRAPS = 20, 4
# Tables 2 (AUC) and 4 (instability) of the paper, variants in the order above.
PAPER_AUC = {
    "easy": [0.626, 0.722, 0.747, 0.718, 0.718, 0.693, 0.684, 0.622],
    "medium": [0.625, 0.714, 0.737, 0.701, 0.698, 0.670, 0.662, 0.592],
    "hard": [0.539, 0.566, 0.569, 0.557, 0.551, 0.540, 0.535, 0.519],
}
PAPER_INSTABILITY = {
    "easy": [137.5, 15.3, 6.5, 4.5, 3.5, 3.1, 3.4, 3.0],
    "medium": [141.7, 16.3, 7.2, 4.8, 3.5, 3.3, 3.3, 3.2],
    "hard": [149.5, 16.3, 7.9, 5.7, 3.6, 3.2, 3.3, 3.1],
}
Results = dict[str, dict[str, dict[str, float]]]  # pair -> variant -> measures


def make(variant: str, seed: int) -> Any:
    """Ranking trees of depth 8 split by LeafRank trees of depth 6, unpruned, as in the paper."""
    if variant == ONE_TREE:
        splitter = LeafRank(max_depth=6)
        return TreeRank(splitter, max_depth=8, min_samples_leaf=1, pruning=None, shrinkage=None)
    return RankingForest.preset(variant, random_state=seed)


def evaluate(pair: str, variant: str, repeats: int, bootstraps: int) -> dict[str, float]:
    """Mean AUC over fresh training sets, and instability over bootstrap samples of one."""
    test = make_gaussians_20d(N_ROWS, pair, random_state=10_000)
    aucs, tops = [], []
    for seed in range(repeats):
        train = make_gaussians_20d(N_ROWS, pair, random_state=seed)
        model = make(variant, seed).fit(train.X, train.y)
        aucs.append(model.score(test.X, test.y))
        tops.append(local_auc_score(test.y, model.score_samples(test.X), rate=0.2))
    train = make_gaussians_20d(N_ROWS, pair, random_state=0)
    scores = []
    for seed in range(bootstraps):
        rows = np.random.default_rng(seed).integers(0, N_ROWS, size=N_ROWS)
        model = make(variant, seed).fit(train.X[rows], train.y[rows])
        scores.append(model.score_samples(test.X))
    return {
        "auc": float(np.mean(aucs)),
        "spread": float(np.std(aucs)),
        "local_auc": float(np.mean(tops)),
        "instability": float(instability(scores)),
    }


def measure(quick: bool) -> Results:
    """Evaluate all variants on all pairs."""
    counts = (QUICK_REPEATS, QUICK_BOOTSTRAPS) if quick else (REPEATS, BOOTSTRAPS)
    results: Results = {}
    for pair in PAIRS:
        results[pair] = {}
        for variant in VARIANTS:
            key = f"paper003-{pair}-{variant.replace(' ', '-')}-{counts[0]}-{fingerprint()}"
            results[pair][variant] = remember(key, partial(evaluate, pair, variant, *counts))
        print(pair, {v: round(m["auc"], 3) for v, m in results[pair].items()}, flush=True)
    return results


def margins(results: Results, variant: str) -> tuple[float, float]:
    """Mean lead over the single tree in AUC, ours and the paper's."""
    place = VARIANTS.index(variant)
    ours = mean(results[p][variant]["auc"] - results[p][ONE_TREE]["auc"] for p in PAIRS)
    return ours, mean(PAPER_AUC[p][place] - PAPER_AUC[p][0] for p in PAIRS)


def pairs_in_order(results: Results) -> tuple[int, int]:
    """Pairs of variants, of those that the paper tells apart, that have its order; all of them.

    Variants whose instability differs by less than 10 % in the paper are not told apart.
    """
    agree = total = 0
    for pair in PAIRS:
        ours = [results[pair][v]["instability"] for v in VARIANTS]
        paper = PAPER_INSTABILITY[pair]
        for a in range(len(VARIANTS)):
            for b in range(len(VARIANTS)):
                if paper[a] > 1.1 * paper[b]:
                    total += 1
                    agree += ours[a] > ours[b]
    return agree, total


def judge(results: Results) -> list[Figure]:
    """Compare with the paper."""
    figures = []
    for variant in VARIANTS[1:]:
        ours, paper = margins(results, variant)
        figures.append(
            Figure(f"{variant}: mean lead in AUC over one tree, three Gaussian pairs", ours,
                   target=round(paper, 4), bound="at least", note="target: the paper's lead")
        )  # fmt: skip
    agree, total = pairs_in_order(results)
    figures.append(
        Figure("pairs of variants in the paper's order of instability", agree, target=total,
               bound="at least", note="pairs that the paper tells apart by more than 10 %")
    )  # fmt: skip
    return figures


def table(results: Results) -> str:
    """AUC, local AUC and instability of every variant, the paper's in brackets."""
    header = ["variant"]
    for pair in PAIRS:
        header += [f"AUC, {pair}", f"local AUC 20 %, {pair}", f"instability, {pair}"]
    rows = []
    for place, variant in enumerate(VARIANTS):
        cells = [variant]
        for pair in PAIRS:
            found = results[pair][variant]
            cells += [
                f"{found['auc']:.3f} ({PAPER_AUC[pair][place]:.3f})",
                f"{found['local_auc']:.3f}",
                f"{found['instability']:.4f} ({PAPER_INSTABILITY[pair][place]:g})",
            ]
        rows.append(cells)
    return markdown_table(header, rows, "l" + "r" * (len(header) - 1))
